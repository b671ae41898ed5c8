"""Fixtures of the derivative tests."""
import importlib
import pkgutil

import pytest

import linalgad._kernels
from linalgad._kernels import _compact
from linalgad._lib import _compact as _policy
from linalgad._lib import _compact_tiers


@pytest.fixture
def kernel_calls(monkeypatch):
    """A function that tells how many factorisations the kernels have made since the test began."""
    counted = [0]
    solves = ("solve", "inverse", "inv", "from_factors")
    passes = ("_lanes", "_matmul", "_program", "_stacks")

    def counting(fun):
        def call(*args, **kw):
            counted[0] += 1
            return fun(*args, **kw)
        return call

    for info in pkgutil.iter_modules(linalgad._kernels.__path__):
        module = importlib.import_module(f"linalgad._kernels.{info.name}")
        for name, fun in vars(module).copy().items():
            if callable(fun) and not isinstance(fun, type) and not name.startswith("_") and info.name not in passes \
                    and not any(word in name for word in solves):
                monkeypatch.setattr(module, name, counting(fun))
    return lambda: counted[0]


@pytest.fixture
def compact_orders():
    """A function that sets up to which order the compact tier multiplies, for the length of a test."""
    def use(order):
        tables = _compact_tiers.CROSSOVERS.get(_compact.tier(), {})
        rows = [tables.get(row, ((0,) * 4, 0.0, 0.0)) for row in _compact_tiers.ROWS]
        rows[_compact_tiers.ROWS.index("matmul")] = ((order,) * 4, 0.0, 0.0)
        _compact.set_tier(_compact.tier(), rows)
    yield use
    _policy.use(_compact.tier())
