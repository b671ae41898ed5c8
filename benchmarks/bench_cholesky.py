"""Cholesky factor and solves with it."""

from _asv import Single, Stack

import linalgad as la


class CholeskyStack(Stack):
    """cholesky of a stack."""

    op = "cholesky"

    def time_cholesky(self, n, dtype):
        """Time one call."""
        la.cholesky(*self.args)


class CholeskySolveStack(Stack):
    """cholesky_solve of a stack."""

    op = "cholesky_solve"

    def time_cholesky_solve(self, n, dtype):
        """Time one call."""
        la.cholesky_solve(*self.args)


class CholeskyInverseStack(Stack):
    """cholesky_inverse of a stack."""

    op = "cholesky_inverse"

    def time_cholesky_inverse(self, n, dtype):
        """Time one call."""
        la.cholesky_inverse(*self.args)


class CholeskySingle(Single):
    """cholesky of one small matrix."""

    op = "cholesky"

    def time_cholesky(self, dtype):
        """Time one call."""
        la.cholesky(*self.args)
