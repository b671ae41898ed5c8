"""A pullback over the slices of a batch: blocks that stay in the cache, shared out among lanes."""
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace

import numpy as np

from .._lib._lanes import get_lanes
from ._dual import level_of
from ._policy import Info

#: Bytes of one argument in a block: its temporaries then stay in the second-level cache and off the page allocator.
BLOCK_BYTES = 1 << 18

#: Order up to which NumPy's BLAS multiplies on one thread (OpenBLAS: m n k <= 2^18). Above it the BLAS threads the
#: products, and threads of ours would only compete with its own.
SERIAL_PRODUCT = 64


def in_blocks(rule, call, cotangents, needs):
    """``rule(call, cotangents, needs)``, block by block where that pays.

    All arrays of the call must be plain and share the batch dimensions of the first argument, and what was kept
    beside the outputs must be None or a tuple of such arrays. NumPy releases the interpreter in its loops, so
    the blocks of small matrices run in threads, as many as the forward has lanes.
    """
    arrays = [x for x in (*call.args, *call.outputs, *cotangents, *(call.aux or ())) if x is not None]
    batch = call.args[0].shape[:-2]
    slices = math.prod(batch)
    if slices < 2 or level_of(*arrays) or any(x.shape[:len(batch)] != batch for x in arrays):
        return rule(call, cotangents, needs)
    block = max(1, BLOCK_BYTES * slices // max(1, call.args[0].nbytes))
    if slices <= block:
        return rule(call, cotangents, needs)
    small = max(call.args[0].shape[-2:]) <= SERIAL_PRODUCT
    lanes = (call.kw.get("lanes") or get_lanes()) if small else 1
    flat = _Flat(call, cotangents, len(batch), slices)
    starts = range(0, slices, block)

    def work(start):
        part, cts = flat.block(slice(start, start + block))
        return rule(part, cts, needs)

    if lanes > 1:
        with ThreadPoolExecutor(min(lanes, len(starts))) as pool:
            found = list(pool.map(work, starts))
    else:
        found = [work(start) for start in starts]
    grads = tuple(None if parts[0] is None else np.concatenate(parts).reshape(batch + parts[0].shape[1:])
                  for parts in zip(*(f[0] for f in found), strict=True))
    return grads, _joined([f[1] for f in found], batch)


class _Flat:
    """A call and its cotangents with one batch dimension."""

    def __init__(self, call, cotangents, ndim, slices):
        self._call, self._cotangents, self._ndim, self._slices = call, cotangents, ndim, slices

    def _cut(self, xs, part):
        return tuple(None if x is None else x.reshape((self._slices, *x.shape[self._ndim:]))[part] for x in xs)

    def block(self, part):
        call = self._call
        aux = None if call.aux is None else self._cut(call.aux, part)
        args, outputs = self._cut(call.args, part), self._cut(call.outputs, part)
        return replace(call, args=args, outputs=outputs, aux=aux), self._cut(self._cotangents, part)


def _joined(infos, batch):
    if infos[0] is None:
        return None
    columns = {f.name: [getattr(i, f.name) for i in infos] for f in fields(Info)}
    return Info(**{k: None if v[0] is None else np.concatenate(v).reshape(batch) for k, v in columns.items()})
