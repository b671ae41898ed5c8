"""General linear systems."""

from _asv import Single, Stack

import linalgad as la


class SolveStack(Stack):
    """solve of a stack."""

    op = "solve"

    def time_solve(self, n, dtype):
        """Time one call."""
        la.solve(*self.args)


class SolveSingle(Single):
    """solve of one small matrix."""

    op = "solve"

    def time_solve(self, dtype):
        """Time one call."""
        la.solve(*self.args)
