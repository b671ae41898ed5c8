"""What is differentiable, as data and as a table."""
from typing import NamedTuple

from ._table import load, lookup

_DTYPES = ("float32", "float64", "complex64", "complex128")


class CapabilityRow(NamedTuple):
    """One output of one function.

    Attributes
    ----------
    function, output : str
    jvp, vjp, second_order : bool
        Forward, reverse, and forward-over-reverse.
    cpu, gpu : bool
        Where the rule runs.
    compiled : bool
        Whether a compiled twin of the rule exists.
    dtypes : tuple of str
    caveat : str
        What to know, or the reason why there is no derivative.
    """

    function: str
    output: str
    jvp: bool
    vjp: bool
    second_order: bool
    cpu: bool
    gpu: bool
    compiled: bool
    dtypes: tuple
    caveat: str


def capabilities(fun=None, *, count=1, **kw):
    """What can be differentiated.

    Parameters
    ----------
    fun : function or str, optional
        A function of linalgad; all functions of the table by default.
    count : int, optional
        The number of arguments, where it decides (eigh of a pencil).
    **kw
        Keywords of `fun` that choose its outputs (``mode=``, ``left=``, ``compute_uv=``).

    Returns
    -------
    list of CapabilityRow
        One per output.

    Examples
    --------
    >>> from linalgad import grad
    >>> [row.output for row in grad.capabilities("svd")]
    ['U', 'S', 'Vh']
    """
    records = [lookup(name, {}) for name in load()] if fun is None else [lookup(fun, kw, count)]
    return [CapabilityRow(r.name, c.output, c.jvp, c.vjp, c.second_order, cpu=True, gpu=False,
                          compiled=bool(r.compiled), dtypes=_DTYPES, caveat=c.caveat)
            for r in records for c in r.capabilities]
