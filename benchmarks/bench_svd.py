"""Singular value decomposition."""

from _asv import Single, Stack, Tall

import linalgad as la


class SvdStack(Stack):
    """svd of a stack."""

    op = "svd"

    def time_svd(self, n, dtype):
        """Time one call."""
        la.svd(*self.args, full_matrices=False)


class SvdvalsStack(Stack):
    """svdvals of a stack."""

    op = "svdvals"

    def time_svdvals(self, n, dtype):
        """Time one call."""
        la.svdvals(*self.args)


class SvdSingle(Single):
    """svd of one small matrix."""

    op = "svd"

    def time_svd(self, dtype):
        """Time one call."""
        la.svd(*self.args, full_matrices=False)


class SvdTall(Tall):
    """svd of tall matrices."""

    op = "svd"

    def time_svd(self, shape, dtype):
        """Time one call."""
        la.svd(*self.args, full_matrices=False)
