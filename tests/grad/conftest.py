"""Fixtures of the derivative tests."""
import importlib
import pkgutil

import pytest

import linalgad._kernels


@pytest.fixture
def kernel_calls(monkeypatch):
    """A function that tells how many factorisations the kernels have made since the test began."""
    counted = [0]
    solves = ("solve", "inverse", "inv")

    def counting(fun):
        def call(*args, **kw):
            counted[0] += 1
            return fun(*args, **kw)
        return call

    for info in pkgutil.iter_modules(linalgad._kernels.__path__):
        module = importlib.import_module(f"linalgad._kernels.{info.name}")
        for name, fun in vars(module).copy().items():
            if callable(fun) and not isinstance(fun, type) and not name.startswith("_") and info.name != "_lanes" \
                    and not any(word in name for word in solves):
                monkeypatch.setattr(module, name, counting(fun))
    return lambda: counted[0]
