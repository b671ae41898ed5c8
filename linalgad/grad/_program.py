"""Functions of stacks that are recorded once and then run slice after slice in compiled lanes.

A function decorated with `program` is written in the vocabulary. Called with plain stacks it runs on symbols once for
each set of core shapes and keywords; the steps that the vocabulary took are kept and run by `_kernels/_program`, a
slice at a time, with intermediate results in the workspace of a lane. Called with duals, small matrices or anything
the steps do not cover it runs as it is written; the results differ by rounding.
"""
import functools

import numpy as np

from .._kernels import _pool
from .._kernels import _program as kernel
from .._kernels._lanes import is_ready
from ._dual import Symbol, level_of
from ._recorder import KINDS, NotRecordableError, Recorder

#: Order from which one matrix at a time is faster than one operation at a time, where many matrices share a register:
#: with AVX2 pullbacks of all rules gain from 12 to 16 on, in three dtypes.
SMALLEST = 16
#: Programs that a function keeps, one for each set of shapes and keywords.
_KEPT = 256
#: Nanoseconds of a multiplication and addition in a product, and of a number in a pass, about.
_PRODUCT_NS, _PASS_NS = 0.06, 0.3
#: Steps that may write over the operand they read.
_IN_PLACE = frozenset(KINDS[name] for name in ("combine", "divide", "times", "lift", "diagonal", "columns", "pairs",
                                               "sums"))
_LINE = 64              # bytes to which temporary matrices are rounded up
_UNKNOWN = object()


def serves(x):
    """Whether a program takes slices like those of the array `x`."""
    if level_of(x) or x.ndim < 2 or not is_ready(x):
        return False
    return min(x.shape[-2:]) >= SMALLEST


def program(fun):
    """Run `fun` as a program where one serves; its first array decides."""
    known = {}

    @functools.wraps(fun)
    def call(*args, **static):
        arrays = [x for x in args if hasattr(x, "dtype")]
        if any(type(x) is not np.ndarray for x in arrays) or not serves(arrays[0]):
            return fun(*args, **static)
        batch, dtype = arrays[0].shape[:-2], arrays[0].dtype
        if not all(_takes(x, batch, dtype) for x in arrays):
            return fun(*args, **static)
        key = (dtype, tuple((x.dtype, x.shape[-2:]) if hasattr(x, "dtype") else x for x in args),
               tuple(sorted(static.items())))
        made = known.get(key, _UNKNOWN)
        if made is _UNKNOWN:
            if len(known) >= _KEPT:
                known.clear()
            made = known[key] = _recorded(fun, args, static, dtype)
        result = None if made is None else made(arrays, batch)
        return fun(*args, **static) if result is None else result

    return call


def _takes(x, batch, dtype):
    """Whether an array may be an argument: over the batch, in the dtype of the program, or a row of its real type."""
    return (is_ready(x) and x.ndim == len(batch) + 2 and x.shape[:-2] == batch
            and (x.dtype == dtype or (x.shape[-2] == 1 and x.dtype == dtype.type(0).real.dtype)))


def _recorded(fun, args, static, dtype):
    """The program of a function for arguments like these; None if the steps do not cover it."""
    recorder = Recorder(dtype)
    try:
        result = fun(*(recorder.argument(x) if hasattr(x, "dtype") else x for x in args), **static)
        return _Program(recorder, result)
    except NotRecordableError:
        return None


# ------------------------------------------------------------------ the program

class _Program:
    """Recorded steps in the form that the kernel takes."""

    def __init__(self, recorder, result):
        self._dtype, self._inputs = recorder.dtype, recorder.arrays
        self._cores = []
        self._result = self._returned(recorder, result)
        if self._inputs + len(self._cores) > kernel.MOST:
            raise NotRecordableError("arrays")
        steps = recorder.steps
        home = self._shared_memory(steps)
        self._place(steps, home)
        self._scratch = max((_scratch(kind, operands, self._dtype) for kind, operands, *_ in steps), default=0)
        # a complex multiplication is four real ones
        self._work = sum(_work(kind, operands) for kind, operands, *_ in steps) * (4 if recorder.complex else 1)
        self._order = max((max(x.shape) for _, operands, *_ in steps for x in operands), default=0)

    def __call__(self, arrays, batch):
        """What the function returns for these arrays; None if a matrix is singular."""
        outputs = [_pool.empty((*batch, *core), self._dtype) for core in self._cores]
        done = kernel.run((*arrays, *outputs), len(batch), self._steps, self._values, self._constants,
                          self._temporary, self._bytes, self._scratch, self._order, self._work, None)
        return _filled(self._result, outputs) if done else None

    def _returned(self, recorder, x):
        """The structure of the results, with the number of an output for each; buffers become outputs."""
        if x is None:
            return None
        if isinstance(x, (tuple, list)):
            return tuple(self._returned(recorder, y) for y in x)
        if not isinstance(x, Symbol):
            raise NotRecordableError("result")
        buffer = x.buffer
        if buffer.array is not None or x.transposed or (x.i, x.j, x.m, x.n) != (0, 0, buffer.m, buffer.n):
            out = recorder.new(*x.shape[-2:])
            recorder.step("copy", out, x)
            buffer = out.buffer
        buffer.array = self._inputs + len(self._cores)
        self._cores.append((buffer.m, buffer.n))
        return len(self._cores) - 1

    def _shared_memory(self, steps):
        """The buffer in whose memory each buffer lies: a step may write over what no later step reads."""
        last = {id(x.buffer): k for k, (_, operands, *_) in enumerate(steps) for x in operands}
        home = {}
        for k, (kind, operands, *_) in enumerate(steps):
            out = operands[0].buffer
            for x in operands[1:] if kind in _IN_PLACE else ():
                old = home.get(id(x.buffer), x.buffer)
                whole = not x.transposed and (x.i, x.j, x.m, x.n) == (0, 0, out.m, out.n) == (0, 0, old.m, old.n)
                if whole and old.array is None and last[id(old)] == k:
                    old.array, last[id(old)], home[id(out)] = out.array, last[id(out)], old
                    break
        return home

    def _place(self, steps, home):
        """Number the buffers, place the temporary ones, and write the tables."""
        def lies(x):
            return home.get(id(x.buffer), x.buffer)
        last = {}
        for k, (_, operands, *_) in enumerate(steps):
            last |= {id(lies(x)): k for x in operands}
        arrays, number, places, free, self._bytes = self._inputs + len(self._cores), {}, [], [], 0
        values, index, rows, constants = [], {}, [], []
        for k, (kind, operands, flags, pair) in enumerate(steps):
            at = []
            for x in operands:
                b = lies(x)
                if b.array is None and id(b) not in number:
                    size = -(-b.m * b.n * self._dtype.itemsize // _LINE) * _LINE
                    place = self._taken(free, size)
                    number[id(b)] = (arrays + len(places), place, size)
                    places.append((b.n, place))
                value = (b.array if b.array is not None else number[id(b)][0], x.i, x.j, x.m, x.n, x.transposed)
                if value not in index:
                    index[value] = len(values)
                    values.append(value)
                at.append(index[value])
            for x in {id(lies(x)): lies(x) for x in operands}.values():
                if x.array is None and last[id(x)] == k:
                    _give_back(free, *number[id(x)][1:])
            rows.append((kind, *at, *[-1] * (4 - len(at)), *flags, *[0] * (5 - len(flags))))
            constants.append(pair)
        self._steps = np.array(rows, np.int64)
        self._values = np.array(values, np.int64)
        self._constants = np.array(constants, np.float64)
        self._temporary = np.array(places, np.int64).reshape(-1, 2)

    def _taken(self, free, size):
        """The place of a new matrix: the first gap that holds it, or the end."""
        for k, (place, room) in enumerate(free):
            if room >= size:
                free[k:k + 1] = [(place + size, room - size)] if room > size else []
                return place
        place, self._bytes = self._bytes, self._bytes + size
        return place


def _give_back(free, place, size):
    """Enter a gap, joined with its neighbours."""
    free.append((place, size))
    free.sort()
    joined = []
    for start, room in free:
        if joined and joined[-1][0] + joined[-1][1] == start:
            joined[-1] = (joined[-1][0], joined[-1][1] + room)
        else:
            joined.append((start, room))
    free[:] = joined


def _filled(x, outputs):
    if x is None:
        return None
    return tuple(_filled(y, outputs) for y in x) if isinstance(x, tuple) else outputs[x]


def _scratch(kind, operands, dtype):
    """Bytes in the workspace of a step."""
    if kind in (KINDS["matmul"], KINDS["solve"]):
        return sum(x.size for x in operands[1:]) * dtype.itemsize
    return 24 * operands[0].shape[-1]       # up to three rows in double precision


def _work(kind, operands):
    """Nanoseconds that a step takes about."""
    out, *inputs = operands
    if kind in (KINDS["matmul"], KINDS["solve"]):
        return _PRODUCT_NS * out.size * inputs[0].shape[-1]
    return _PASS_NS * out.size
