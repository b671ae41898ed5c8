"""Inverse."""

from _asv import Single, Stack

import linalgad as la


class InvStack(Stack):
    """inv of a stack."""

    op = "inv"

    def time_inv(self, n, dtype):
        """Time one call."""
        la.inv(*self.args)


class InvSingle(Single):
    """inv of one small matrix."""

    op = "inv"

    def time_inv(self, dtype):
        """Time one call."""
        la.inv(*self.args)
