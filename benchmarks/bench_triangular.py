"""Triangular systems."""

from _asv import Single, Stack

import linalgad as la


class SolveTriangularStack(Stack):
    """solve_triangular of a stack."""

    op = "solve_triangular"

    def time_solve_triangular(self, n, dtype):
        """Time one call."""
        la.solve_triangular(*self.args, lower=True)


class SolveTriangularSingle(Single):
    """solve_triangular of one small matrix."""

    op = "solve_triangular"

    def time_solve_triangular(self, dtype):
        """Time one call."""
        la.solve_triangular(*self.args, lower=True)
