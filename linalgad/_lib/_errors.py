"""The error of a numerical failure; it names every failing slice of a batch."""
import numpy as np

NONFINITE = 1 << 30     # the kernels' code for a slice with NaN or infinite entries


class LinAlgError(np.linalg.LinAlgError):
    """A matrix of the stack could not be processed.

    Attributes
    ----------
    indices : tuple of tuple of int
        Batch index of every failing slice, in C order; ``((),)`` for a single matrix.
    """

    __module__ = "linalgad"

    def __init__(self, message="", indices=()):
        super().__init__(message)
        self.indices = indices

    def __reduce__(self):
        return type(self), (self.args[0] if self.args else "", self.indices)


def check_codes(fn, codes, batch, errors, reason):
    """Raise for the failing slices unless `errors` is 'nan'.

    Parameters
    ----------
    fn : str
        The function that was called.
    codes : ndarray of int32 or None
        A code per slice in C order, 0 for success; None if no slice failed.
    batch : tuple of int
        Batch shape.
    errors : {'raise', 'nan'}
    reason : str
        What a positive code means, completing "the matrix ...".
    """
    if codes is None or errors == "nan":
        return
    failed = np.flatnonzero(codes)
    indices = tuple(tuple(int(k) for k in np.unravel_index(f, batch)) for f in failed)
    causes = [reason] if (codes[failed] != NONFINITE).any() else []
    if (codes == NONFINITE).any():
        causes.append("has NaN or infinite entries")
    cause = " or ".join(causes)
    if not batch:
        raise LinAlgError(f"{fn}: the matrix {cause}", indices)
    shown = ", ".join(str(k[0] if len(k) == 1 else k) for k in indices[:5])
    more = ", ..." if len(indices) > 5 else ""
    raise LinAlgError(f"{fn}: {len(indices)} of {codes.size} matrices failed, at index {shown}{more}: "
                      f"the matrix {cause}", indices)
