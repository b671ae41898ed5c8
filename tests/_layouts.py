"""The same numbers in other memory: every function must give the same bits for each of these."""
import numpy as np


def fortran(a):
    """Columns of each matrix contiguous, batch axes in C order."""
    return np.ascontiguousarray(np.swapaxes(a, -1, -2)).swapaxes(-1, -2) if a.ndim > 1 else a.copy()


def fortran_all(a):
    """Fortran order over all axes: the batch axis runs fastest."""
    return np.asfortranarray(a)


def strided(a):
    """Every second entry, along every axis, of a larger array full of NaN."""
    big = np.full(tuple(2 * d + 1 for d in a.shape), _junk(a.dtype), a.dtype)
    view = big[tuple(slice(1, 2 * d + 1, 2) for d in a.shape)]
    view[...] = a
    return view


def submatrix(a):
    """The leading block of matrices with more columns: rows contiguous, leading dimension larger."""
    big = np.full((*a.shape[:-1], a.shape[-1] + 3), _junk(a.dtype), a.dtype)
    view = big[..., : a.shape[-1]]
    view[...] = a
    return view


def reversed_rows(a):
    """A negative stride along the rows, as in a[::-1]."""
    return np.ascontiguousarray(np.flip(a, -2))[..., ::-1, :] if a.ndim > 1 else a[::-1].copy()[::-1]


def reversed_all(a):
    """Negative strides along all axes."""
    return np.flip(np.ascontiguousarray(np.flip(a)))


def batch_transposed(a):
    """The first two batch axes exchanged in memory."""
    return np.ascontiguousarray(np.swapaxes(a, 0, 1)).swapaxes(0, 1) if a.ndim > 3 else a.copy()


def batch_last(a):
    """Batch axes behind the core in memory: no matrix is contiguous."""
    if a.ndim < 3:
        return a.copy()
    axes = (a.ndim - 2, a.ndim - 1, *range(a.ndim - 2))
    return np.ascontiguousarray(a.transpose(axes)).transpose(np.argsort(axes))


def read_only(a):
    """Not writeable."""
    b = a.copy()
    b.setflags(write=False)
    return b


def byte_swapped(a):
    """The other byte order."""
    return a.astype(a.dtype.newbyteorder())


def unaligned(a):
    """Data one byte off its natural alignment."""
    raw = np.zeros(a.nbytes + 1, np.uint8)[1:]
    b = raw.view(a.dtype).reshape(a.shape) if a.nbytes else a.copy()
    b[...] = a
    return b


LAYOUTS = {f.__name__: f for f in (
    fortran, fortran_all, strided, submatrix, reversed_rows, reversed_all, batch_transposed, batch_last, read_only,
    byte_swapped, unaligned)}

# Layouts that an `out` array may have: writeable, aligned, native.
OUT_LAYOUTS = {f.__name__: f for f in (
    fortran, fortran_all, strided, submatrix, reversed_rows, reversed_all, batch_transposed, batch_last)}


def _junk(dtype):
    return np.nan if dtype.kind in "fc" else np.iinfo(dtype).max if dtype.kind in "iu" else 1
