"""General eigenvalue problem."""

from _asv import Single, Stack

import linalgad as la


class EigStack(Stack):
    """eig of a stack."""

    op = "eig"

    def time_eig(self, n, dtype):
        """Time one call."""
        la.eig(*self.args)


class EigvalsStack(Stack):
    """eigvals of a stack."""

    op = "eigvals"

    def time_eigvals(self, n, dtype):
        """Time one call."""
        la.eigvals(*self.args)


class EigSingle(Single):
    """eig of one small matrix."""

    op = "eig"

    def time_eig(self, dtype):
        """Time one call."""
        la.eig(*self.args)
