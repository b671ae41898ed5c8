"""A pullback over the slices of a batch: blocks that stay in the cache, shared out among lanes."""
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace

import numpy as np

from .._kernels import _pool
from .._lib._lanes import get_lanes, lanes
from ._dual import level_of
from ._policy import Info

#: Bytes of one argument in a block: its temporaries then stay in the second-level cache and off the page allocator.
BLOCK_BYTES = 3 << 17


def in_blocks(rule, call, cotangents, needs):
    """``rule(call, cotangents, needs)``, block by block where that pays.

    All arrays of the call must be plain and share the batch dimensions of the first argument; what was kept beside
    the outputs is made of such arrays (`_map`). NumPy and the kernels release the interpreter, so the blocks run in
    threads, as many as the forward has lanes, and with one lane each.
    """
    arrays = []
    _map(arrays.append, (call.args, call.outputs, cotangents, call.aux))
    batch = call.args[0].shape[:-2]
    slices = math.prod(batch)
    if slices < 2 or level_of(*arrays) or any(x.shape[:len(batch)] != batch for x in arrays):
        return rule(call, cotangents, needs)
    block = max(1, BLOCK_BYTES * slices // max(1, call.args[0].nbytes))
    if slices <= block:
        return rule(call, cotangents, needs)
    workers = get_lanes()
    work = _Work(rule, call, cotangents, needs, batch)
    parts = [slice(start, start + block) for start in range(0, slices, block)]
    if workers > 1:
        with ThreadPoolExecutor(min(workers, len(parts))) as pool:
            infos = list(pool.map(work, parts))
    else:
        infos = [work(part) for part in parts]
    return work.grads, _joined(infos, batch)


class _Work:
    """A call and its cotangents with one batch dimension, and the gradients of all its blocks."""

    def __init__(self, rule, call, cotangents, needs, batch):
        self._rule, self._needs, self._batch, self._lock = rule, needs, batch, threading.Lock()
        self._call = replace(call, args=self._flat(call.args), outputs=self._flat(call.outputs),
                             aux=self._flat(call.aux), kw={**call.kw, "lanes": 1})
        self._cotangents = self._flat(cotangents)
        self.grads = None

    def _flat(self, x):
        nb = len(self._batch)
        return _map(lambda y: y.reshape((math.prod(self._batch), *y.shape[nb:])), x)

    def __call__(self, part):
        call = replace(self._call, args=_cut(self._call.args, part), outputs=_cut(self._call.outputs, part),
                       aux=_cut(self._call.aux, part))
        with lanes(1):
            grads, info = self._rule(call, _cut(self._cotangents, part), self._needs)
        with self._lock:
            if self.grads is None:
                self.grads = tuple(None if g is None else _pool.empty((*self._batch, *g.shape[1:]), g.dtype)
                                   for g in grads)
        for whole, g in zip(self.grads, grads, strict=True):
            if g is not None:
                self._flat(whole)[part] = g
        return info


def _cut(x, part):
    return _map(lambda y: y[part], x)


def _map(fun, x):
    """The same structure with `fun` of its arrays: None, arrays, tuples, and what has a method ``mapped(fun)``."""
    if x is None:
        return None
    if isinstance(x, tuple):
        made = [_map(fun, y) for y in x]
        return type(x)(*made) if hasattr(x, "_fields") else tuple(made)
    return x.mapped(fun) if hasattr(x, "mapped") else fun(x)


def _joined(infos, batch):
    if infos[0] is None:
        return None
    columns = {f.name: [getattr(i, f.name) for i in infos] for f in fields(Info)}
    return Info(**{k: None if v[0] is None else np.concatenate(v).reshape(batch) for k, v in columns.items()})
