"""Fixtures: tiers of the compact kernels that serve every order."""
import pytest
from compact._tiers import TIERS, select

from linalgad._lib import _compact


@pytest.fixture(params=TIERS)
def tier(request):
    """Each tier that this CPU has, in use."""
    before = _compact.use()
    select(request.param)
    yield request.param
    _compact.use(before)


@pytest.fixture
def each_tier():
    """A generator of the tiers named, each in use until the next is asked for."""
    before = _compact.use()

    def tiers(names):
        for name in names:
            select(name)
            yield name

    yield tiers
    _compact.use(before)


@pytest.fixture(params=TIERS)
def blocked_tier(request):
    """Each tier that this CPU has, its kernels for one matrix at a time serving every order."""
    before = _compact.use()
    select(request.param, packs=False, blocked=True)
    yield request.param
    _compact.use(before)
