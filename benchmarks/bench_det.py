"""Determinant and its logarithm."""

from _asv import Single, Stack

import linalgad as la


class DetStack(Stack):
    """det of a stack."""

    op = "det"

    def time_det(self, n, dtype):
        """Time one call."""
        la.det(*self.args)


class SlogdetStack(Stack):
    """slogdet of a stack."""

    op = "slogdet"

    def time_slogdet(self, n, dtype):
        """Time one call."""
        la.slogdet(*self.args)


class DetSingle(Single):
    """det of one small matrix."""

    op = "det"

    def time_det(self, dtype):
        """Time one call."""
        la.det(*self.args)
