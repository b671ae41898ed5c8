"""The tiers of this CPU, and how a test uses one for every order, whatever the crossover table says."""
from linalgad._kernels import _compact as _kernel
from linalgad._lib import _compact

TIERS = _kernel.tiers()
WITH_LAPACK = [*TIERS, "off"]
WIDTH = 16      # of the widest pack


def select(name, blocked=False):
    """Use the tier `name` for all orders: its kernels over the batch or, if `blocked`, those for one matrix."""
    rows = [row.startswith("blocked_") == blocked for row in _compact.ROWS]
    _kernel.set_tier(name, [((1000.0 * serves,) * 4, 0.0, 0.0) for serves in rows])
