"""The tiers of this CPU, the sizes tried, and how a test uses a tier for every order, whatever the table says."""
from linalgad._kernels import _compact as _kernel
from linalgad._lib import _compact

TIERS = _kernel.tiers()
WITH_LAPACK = [*TIERS, "off"]
WIDTH = 16      # of the widest pack
ORDERS = [*range(1, 34), 48]
BATCHES = [0, 1, 2, 3, 4, 5, 7, 8, 9, WIDTH - 1, WIDTH, WIDTH + 1, 2 * WIDTH + 3]


def select(name, packs=True, blocked=False):
    """Use the tier `name` for all orders: its kernels over the batch (`packs`), those for one matrix, or both."""
    serves = [blocked if row.startswith("blocked_") else packs for row in _compact.ROWS]
    _kernel.set_tier(name, [((1000.0 * s,) * 4, 0.0, 0.0) for s in serves])
