"""Which tier of the compact kernels runs: the fastest this CPU has, or the one that LINALGAD_SIMD names."""
import os

from .._kernels import _compact
from ._compact_tiers import CROSSOVERS, ROWS

VARIABLE = "LINALGAD_SIMD"


def use(name=None):
    """Use the tier `name`, 'off' for none; by default the fastest. Returns the name of the one used before."""
    before = _compact.tier()
    known = [*_compact.tiers(), "off"]
    if name is None:
        name = known[0]
    if name not in known:
        raise ValueError(f"{VARIABLE}={name}: this CPU and this build have {', '.join(known)}")
    table = CROSSOVERS.get(name, {})
    _compact.set_tier(name, [table.get(row, ((0, 0, 0, 0), 0.0, 0.0)) for row in ROWS])
    return before


def describe():
    """For show_config."""
    return {"simd": _compact.tier(), "available": ", ".join(_compact.tiers())}


use(os.environ.get(VARIABLE) or None)
