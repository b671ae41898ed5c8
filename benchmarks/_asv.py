"""What the asv benchmarks have in common; not a benchmark itself, having no ``time_`` method."""

import inputs
import sizes


class Stack:
    """Seeded arguments of ``op`` for a stack of n x n matrices, in ``self.args``."""

    op = ""
    params = (sizes.ASV_N, sizes.ASV_DTYPES)
    param_names = ("n", "dtype")

    def setup(self, n, dtype):
        """Make the arguments; asv does not time this."""
        self.args = inputs.make(self.op, sizes.shape_for(self.op, n), dtype)


class Single:
    """Seeded arguments of ``op`` for one small matrix: what is timed is the cost of a call."""

    op = ""
    params = sizes.ASV_DTYPES
    param_names = ("dtype",)

    def setup(self, dtype):
        """Make the arguments; asv does not time this."""
        self.args = inputs.make(self.op, (sizes.SINGLE_N, sizes.SINGLE_N), dtype)


class Tall:
    """Seeded arguments of ``op`` for stacks of matrices with many more rows than columns."""

    op = ""
    params = (sizes.TALL_SHAPES, sizes.ASV_DTYPES)
    param_names = ("shape", "dtype")

    def setup(self, shape, dtype):
        """Make the arguments; asv does not time this."""
        self.args = inputs.make(self.op, (sizes.TALL_BATCH, *shape), dtype)
