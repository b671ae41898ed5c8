"""LU factorisation with partial pivoting."""

from _asv import Single, Stack

import linalgad as la


class LuStack(Stack):
    """lu of a stack."""

    op = "lu"

    def time_lu(self, n, dtype):
        """Time one call."""
        la.lu_factor(*self.args)


class LuSingle(Single):
    """lu of one small matrix."""

    op = "lu"

    def time_lu(self, dtype):
        """Time one call."""
        la.lu_factor(*self.args)
