"""Fixtures: dtype, layout, rng, and the parametrisation of `Universal` over the specs of a test class."""
import zlib

import numpy as np
import pytest

pytest.register_assert_rewrite("_checks", "_measure")

from _layouts import LAYOUTS, OUT_LAYOUTS  # noqa: E402
from _spec import Spec  # noqa: E402

DTYPES = ("float32", "float64", "complex64", "complex128")
COLUMNS = {"shape": "shapes", "core": "empty", "kind": "kinds"}


def pytest_generate_tests(metafunc):
    """Parametrise the checks of a class over its specs and what each spec lists."""
    if "spec" not in metafunc.fixturenames:
        return
    needs = getattr(metafunc.function, "needs", lambda spec: True)
    names = ["spec", *(c for c in COLUMNS if c in metafunc.fixturenames)]
    rows = [(s,) for s in metafunc.cls.specs if needs(s)]
    for name in names[1:]:
        rows = [(*row, value) for row in rows for value in getattr(row[0], COLUMNS[name])]
    metafunc.parametrize(names, rows, ids=["-".join(_id(x) for x in row) for row in rows])


def pytest_collection_modifyitems(items):
    """Drop the checks that no spec of a class needs; pytest would report them as skipped."""
    items[:] = [i for i in items if not hasattr(i, "callspec") or _specified(i.callspec.params)]


def _specified(params):
    return "spec" not in params or isinstance(params["spec"], Spec)


def _id(x):
    return "x".join(map(str, x)) if isinstance(x, tuple) else str(x)


@pytest.fixture(params=DTYPES)
def dtype(request):
    """The four kernel dtypes."""
    return np.dtype(request.param)


@pytest.fixture(params=("float32", "complex128"))
def either_dtype(request):
    """A real and a complex, a single and a double type, for checks that depend on memory and not on arithmetic."""
    return np.dtype(request.param)


@pytest.fixture(params=LAYOUTS)
def layout(request):
    """A function that puts an array into another memory layout."""
    return LAYOUTS[request.param]


@pytest.fixture(params=OUT_LAYOUTS)
def out_layout(request):
    """A layout that a destination may have."""
    return OUT_LAYOUTS[request.param]


@pytest.fixture
def rng(request):
    """Random numbers that depend on nothing but the name of the test."""
    return np.random.default_rng(zlib.crc32(request.node.name.encode()))


@pytest.fixture
def eager_lanes():
    """Open as many lanes as asked for, however small the work."""
    from linalgad._kernels import _lanes
    from linalgad._lib._tiers import OPS, REGION_NS, WIDE_EFFICIENCY
    _lanes.set_tiers([(b, c, np.inf) for b, c, _ in OPS.values()], 1e-9, WIDE_EFFICIENCY)
    yield
    _lanes.set_tiers(list(OPS.values()), REGION_NS, WIDE_EFFICIENCY)
