"""The sign and phase conventions of the forward results. The text lives here, once.

`svd`, `eigh` and `eig` leave the phase of each vector free. linalgad fixes it: the pivot entry of
each vector, which is the first entry whose modulus is the largest of the vector up to the relative
tolerance `gauge_tie`, is real and positive. For the SVD the vectors are the columns of U, and each
row of Vh turns with its column so that the product stays; the rows of a full Vh that have no column
in U follow the rule themselves. `qr` keeps the signs of LAPACK's reflectors unless `positive=True`.
"""
import functools

from ._tols import gauge_tie


@functools.cache
def tie(dtype):
    """`gauge_tie`, looked up once for each dtype."""
    return gauge_tie(dtype)
