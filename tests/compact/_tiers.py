"""The tiers of this CPU, and how a test uses one for every order, whatever the crossover table says."""
from linalgad._kernels import _compact as _kernel
from linalgad._lib import _compact

TIERS = _kernel.tiers()
WITH_LAPACK = [*TIERS, "off"]
WIDTH = 16      # of the widest pack


def select(name):
    """Use the tier `name` for all orders."""
    _kernel.set_tier(name, [((1000.0,) * 4, 0.0, 0.0)] * len(_compact.ROWS))
