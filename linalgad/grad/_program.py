"""Functions of stacks that are recorded once and then run slice after slice in compiled lanes.

A function decorated with `program` is written in the vocabulary. Called with plain stacks it runs on symbols once for
each set of core shapes and keywords; the steps that the vocabulary took are kept and run by `_kernels/_program`, a
slice at a time, with intermediate results in the workspace of a lane. Called with duals, small matrices or anything
the steps do not cover it runs as it is written, with the same result.
"""
import functools
import math

import numpy as np

from .._kernels import _program as kernel
from .._kernels._lanes import is_ready
from .._lib import _tols
from .._lib._lanes import get_lanes
from ._dual import Symbol, level_of

#: Order from which one matrix at a time is faster than one operation at a time, where many matrices share a register.
SMALLEST = 24
#: Order from which fewer matrices than lanes are left to threaded BLAS.
WIDEST = 256

_KINDS = {name: k for k, name in enumerate(kernel.STEPS)}
_DIAGONALS = ("kept", "halved", "ones")
_REFLECTIONS = ("hermitian", "skew", "twist", "untwist", "mirror")
#: Steps that may write over the operand they read.
_IN_PLACE = frozenset(_KINDS[name] for name in ("combine", "divide", "times", "lift", "diagonal", "columns",
                                                   "pairs", "sums"))
_ALIGNED = 16           # numbers to which temporary matrices are rounded up


class NotRecordableError(Exception):
    """A function that is being recorded does what no step stands for."""


def serves(x):
    """Whether a program takes slices like those of the array `x`."""
    if level_of(x) or x.ndim < 2 or not is_ready(x):
        return False
    order, slices = min(x.shape[-2:]), math.prod(x.shape[:-2])
    return order >= SMALLEST and (order < WIDEST or slices >= get_lanes())


def program(fun):
    """Run `fun` as a program where one serves; its first array decides."""
    known = {}

    @functools.wraps(fun)
    def call(*args, **static):
        arrays = [x for x in args if hasattr(x, "dtype")]
        if any(type(x) is not np.ndarray for x in arrays) or not serves(arrays[0]):
            return fun(*args, **static)
        batch, dtype = arrays[0].shape[:-2], arrays[0].dtype
        if any(_batch(x) != batch or not _takes(x, dtype) for x in arrays):
            return fun(*args, **static)
        key = (dtype, tuple((x.dtype, x.shape[len(batch):]) if hasattr(x, "dtype") else x for x in args),
               tuple(sorted(static.items())))
        if key not in known:
            if len(known) > 256:
                known.clear()
            known[key] = _recorded(fun, args, static, len(batch), dtype)
        made = known[key]
        result = None if made is None else made(arrays, batch)
        return fun(*args, **static) if result is None else result

    return call


def _batch(x):
    return x.shape[:-1] if x.dtype == np.intp else x.shape[:-2]


def _takes(x, dtype):
    """Whether an array may be an argument: in the dtype of the program, rows of its real type, or positions."""
    if x.dtype == np.intp:
        return True
    return is_ready(x) and (x.dtype == dtype or x.shape[-2] == 1 and x.dtype == dtype.type(0).real.dtype)


def _recorded(fun, args, static, axes, dtype):
    """The program of a function for arguments like these; None if the steps do not cover it."""
    recorder = _Recorder(dtype)
    try:
        result = fun(*(recorder.argument(x, axes) if hasattr(x, "dtype") else x for x in args), **static)
        return _Program(recorder, result)
    except NotRecordableError:
        return None


# ------------------------------------------------------------------ recording

class _Buffer:
    """Memory of m x n numbers: an array of the call, or a temporary matrix."""

    def __init__(self, m, n, array=None):
        self.m, self.n, self.array = m, n, array


class _Rows:
    """Row positions, an argument that no function of the vocabulary computes with."""

    def __init__(self, buffer):
        self.buffer, self.shape, self.ndim = buffer, (1, buffer.m), 2

    def symbol(self):
        return Symbol(None, self.buffer, 0, 0, self.buffer.m, 1, False)


class _RealRow(_Rows):
    """Real numbers beside complex matrices, (..., 1, N)."""

    def __init__(self, buffer):
        self.buffer, self.shape, self.ndim = buffer, (1, buffer.m, buffer.n), 3

    def symbol(self):
        return Symbol(None, self.buffer, 0, 0, self.buffer.m, self.buffer.n, False)


class _Recorder:
    """The steps that a function takes."""

    def __init__(self, dtype):
        self.dtype, self.steps, self.arrays = dtype, [], 0
        self.complex = dtype.kind == "c"

    def argument(self, x, axes):
        core = x.shape[axes:]
        buffer = _Buffer(core[0], core[1] if len(core) > 1 else 1, self.arrays)
        self.arrays += 1
        if len(core) == 1:
            return _Rows(buffer)
        return self.whole(buffer) if x.dtype == self.dtype else _RealRow(buffer)

    def whole(self, buffer):
        return Symbol(self, buffer, 0, 0, buffer.m, buffer.n, False)

    def new(self, m, n, by_columns=False):
        if by_columns:
            return _transpose(self.whole(_Buffer(n, m)))
        return self.whole(_Buffer(m, n))

    def step(self, kind, out, *operands, flags=(), constants=(0.0, 0.0)):
        if out.size:
            self.steps.append((_KINDS[kind], (out, *operands), tuple(map(int, flags)), constants))
        return out

    def __call__(self, name, args, static):
        """The result of a function of the vocabulary."""
        method = getattr(self, "do_" + name, None)
        if method is None or any(isinstance(x, np.ndarray) and x.ndim for x in args):
            raise NotRecordableError(name)
        return method(*args, **static)

    # Products. A factor may be a view; the result is a new matrix.

    def product(self, x, y, conj_x=False, conj_y=False, triangle=0, k=0, upper=False):
        if not (isinstance(x, Symbol) and isinstance(y, Symbol)) or x.shape[-1] != y.shape[-2]:
            raise NotRecordableError("matmul")
        out = self.new(x.shape[-2], y.shape[-1])
        if not x.size:
            return self.step("clear", out)
        return self.step("matmul", out, x, y,
                         flags=(conj_x and self.complex, conj_y and self.complex, triangle, k, upper))

    def do_matmul(self, x, y):
        return self.product(x, y)

    def do_inner(self, x, y, upper=False):
        return self.product(_transpose(x), y, conj_x=True, upper=upper)

    def do_outer(self, x, y, upper=False):
        return self.product(x, _transpose(y), conj_y=True, upper=upper)

    def do_tril_inner(self, x, y, k=0, upper=False):
        return self.product(_transpose(x), y, conj_x=True, triangle=-1, k=k, upper=upper)

    def do_tril_outer(self, x, y, k=0, upper=False):
        return self.product(x, _transpose(y), conj_y=True, triangle=-1, k=k, upper=upper)

    def do_triu_outer(self, x, y, k=0, upper=False):
        return self.product(x, _transpose(y), conj_y=True, triangle=1, k=k, upper=upper)

    def do_solve_triangular(self, a, b, lower, trans=0, unit_diagonal=False):
        if not b.size:
            return b
        out = self.new(*b.shape[-2:], by_columns=b.transposed)
        return self.step("solve", out, a, b, flags=(lower, unit_diagonal, trans, b.transposed))

    # Views, which cost nothing.

    def do_T(self, x):
        return _transpose(x)

    def do_getitem(self, x, index):
        index = index if isinstance(index, tuple) else (index,)
        if index[0] is not Ellipsis or len(index) > 3 or not all(type(s) is slice for s in index[1:]):
            raise NotRecordableError("getitem")
        spans = [slice(None)] * (3 - len(index)) + list(index[1:])
        (i, m, one), (j, n, two) = (s.indices(size) for s, size in zip(spans, x.shape[-2:], strict=True))
        if one != 1 or two != 1:
            raise NotRecordableError("getitem")
        m, n = max(m - i, 0), max(n - j, 0)
        if x.transposed:
            i, j, m, n = j, i, n, m
        return Symbol(self, x.buffer, x.i + i, x.j + j, m, n, x.transposed)

    # Passes.

    def do_conj(self, x):
        if not self.complex:
            return x
        out = self.new(*x.shape[-2:], by_columns=x.transposed)
        if x.transposed:
            self.step("copy", _transpose(out), _transpose(x), flags=(1,))
            return out
        return self.step("copy", out, x, flags=(1,))

    def triangle(self, kind, x, k, diagonal="kept"):
        return self.step(kind, self.new(*x.shape[-2:]), x, flags=(_DIAGONALS.index(diagonal), k))

    def do_tril(self, x, k=0):
        if x.transposed:
            return _transpose(self.triangle("upper", _transpose(x), -k))
        return self.triangle("lower", x, k)

    def do_triu(self, x, k=0):
        if x.transposed:
            return _transpose(self.triangle("lower", _transpose(x), -k))
        return self.triangle("upper", x, k)

    def do_half_lower(self, x):
        return self.triangle("lower", x, 0, "halved")

    def do_unit_lower(self, x):
        return self.triangle("lower", x, 0, "ones")

    def reflection(self, x, kind):
        return self.step("reflect", self.new(*x.shape[-2:]), x, flags=(_REFLECTIONS.index(kind),))

    def do_herm(self, x):
        return self.reflection(x, "hermitian")

    def do_skew(self, x):
        return self.reflection(x, "skew")

    def do_twist(self, x):
        return self.reflection(x, "twist")

    def do_untwist(self, x):
        return self.reflection(x, "untwist")

    def do_mirror(self, x):
        return self.reflection(x, "mirror")

    def do_take_rows(self, x, rows):
        return self.step("rows", self.new(rows.shape[-1], x.shape[-1]), x, rows.symbol(), flags=(0,))

    def do_put_rows(self, x, rows):
        return self.step("rows", self.new(rows.shape[-1], x.shape[-1]), x, rows.symbol(), flags=(1,))

    def do_zeros_like(self, x, shape=None):
        return self.step("clear", self.new(*(x.shape if shape is None else shape)[-2:]))

    def do_embed(self, x, shape, index):
        out = self.step("clear", self.new(*shape[-2:]))
        self.step("copy", self.do_getitem(out, index), x)
        return out

    def do_concatenate(self, *xs, axis):
        if axis not in (-1, -2):
            raise NotRecordableError("concatenate")
        size = sum(x.shape[axis] for x in xs)
        out = self.new(*((size, xs[0].shape[-1]) if axis == -2 else (xs[0].shape[-2], size)))
        at = 0
        for x in xs:
            part = slice(at, at + x.shape[axis])
            self.step("copy", self.do_getitem(out, (..., part, slice(None)) if axis == -2 else (..., part)), x)
            at = part.stop
        return out

    # Sums, and products with a number or with the power of two of a slice.

    def combination(self, fx, x, fy, y):
        if not (isinstance(x, Symbol) and isinstance(y, Symbol)) or x.shape != y.shape:
            raise NotRecordableError("add")
        if x.transposed and y.transposed:
            return _transpose(self.combination(fx, _transpose(x), fy, _transpose(y)))
        return self.step("combine", self.new(*x.shape[-2:]), x, y, constants=(fx, fy))

    def do_add(self, x, y):
        return self.combination(1.0, x, 1.0, y)

    def do_subtract(self, x, y):
        return self.combination(1.0, x, -1.0, y)

    def scaled(self, x, factor):
        if x.transposed:
            return _transpose(self.scaled(_transpose(x), factor))
        return self.step("combine", self.new(*x.shape[-2:]), x, constants=(float(factor), 0.0))

    def do_negative(self, x):
        return self.scaled(x, -1)

    def by_power(self, kind, x, scale):
        if isinstance(scale, _RealRow):
            scale = scale.symbol()
        if not (isinstance(x, Symbol) and isinstance(scale, Symbol)) or scale.shape[-2:] != (1, 1) or x.size == 1:
            raise NotRecordableError(kind)
        if x.transposed:
            return _transpose(self.by_power(kind, _transpose(x), scale))
        return self.step(kind, self.new(*x.shape[-2:]), x, scale)

    def do_multiply(self, x, y):
        if isinstance(x, (int, float)):
            x, y = y, x
        return self.scaled(x, y) if isinstance(y, (int, float)) else self.by_power("times", x, y)

    def do_divide(self, x, y):
        return self.by_power("divide", x, y)

    # With rows of real numbers.

    def by_row(self, kind, x, *rows, constants=(0.0, 0.0)):
        rows = [_row(row) for row in rows]
        if x.transposed or any(row.shape[-2:] != (1, x.shape[-1]) for row in rows):
            raise NotRecordableError(kind)
        return self.step(kind, self.new(*x.shape[-2:]), x, *rows, constants=constants)

    def do_add_to_diagonal(self, x, row):
        return self.by_row("diagonal", x, row)

    def do_scale_columns(self, x, row):
        return self.by_row("columns", x, row)

    def do_pair_quotient(self, num, values, noise=None, *, eps=None):
        if eps:
            raise NotRecordableError("pair_quotient")
        least, factor = (0.0, 0.0) if eps is not None else (_tols.gap_resolution(self.dtype),
                                                            _tols.numerator_noise(self.dtype))
        rows = (values,) if eps is not None or noise is None else (values, noise)
        return self.by_row("pairs", num, *rows, constants=(least, factor))

    def do_sum_quotient(self, num, values, tol):
        return self.by_row("sums", num, values, constants=(tol, 0.0))

    def do_binary_scale(self, *xs):
        if len(xs) > 2 or not all(x.size for x in xs):
            raise NotRecordableError("binary_scale")
        return self.step("power", self.new(1, 1), *xs, flags=(_tols.moderate_exponent(self.dtype) // 8,))

    def do_lifted(self, x):
        return self.step("lift", self.new(*x.shape[-2:]), x, constants=(_tols.eps(self.dtype), 0.0))


def _row(x):
    """A row, which a step reads as real numbers: an argument."""
    if isinstance(x, _RealRow):
        return x.symbol()
    if isinstance(x, Symbol) and not x.recorder.complex and x.buffer.array is not None:
        return x
    raise NotRecordableError("row")


def _transpose(x):
    return Symbol(x.recorder, x.buffer, x.i, x.j, x.m, x.n, not x.transposed)


# ------------------------------------------------------------------ the program

class _Program:
    """Recorded steps in the form that the kernel takes."""

    def __init__(self, recorder, result):
        self._dtype, self._inputs = recorder.dtype, recorder.arrays
        self._cores = []
        self._result = self._returned(recorder, result)
        steps = recorder.steps
        home = self._shared_memory(steps)
        self._place(steps, home)
        self._scratch = max((_scratch(kind, operands) for kind, operands, *_ in steps), default=0)
        self._work = sum(_work(kind, operands) for kind, operands, *_ in steps) * (4 if recorder.complex else 1)

    def __call__(self, arrays, batch):
        """What the function returns for these arrays; None if a matrix is singular."""
        outputs = [np.empty((*batch, *core), self._dtype) for core in self._cores]
        done = kernel.run((*arrays, *outputs), len(batch), self._steps, self._values, self._constants,
                          self._temporary, self._items, self._scratch, self._work, None)
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
                if whole and old.array is None and max(last[i] for i in _residents(home, x.buffer, old)) == k:
                    if out.array is not None:
                        old.array = out.array
                    home[id(out)] = old
                    break
        return home

    def _place(self, steps, home):
        """Number the buffers, place the temporary ones, and write the tables."""
        def lies(x):
            return home.get(id(x.buffer), x.buffer)
        last = {}
        for k, (_, operands, *_) in enumerate(steps):
            last |= {id(lies(x)): k for x in operands}
        arrays, number, places, free, self._items = self._inputs + len(self._cores), {}, [], [], 0
        values, index, rows, constants = [], {}, [], []
        for k, (kind, operands, flags, pair) in enumerate(steps):
            at = []
            for x in operands:
                b = lies(x)
                if b.array is None and id(b) not in number:
                    size = -(-b.m * b.n // _ALIGNED) * _ALIGNED
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
        place, self._items = self._items, self._items + size
        return place


def _residents(home, buffer, old):
    """Identities of the buffers that share the memory of `old`."""
    return [id(buffer), id(old)] + [i for i, b in home.items() if b is old]


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


def _scratch(kind, operands):
    """Numbers in the workspace of a step."""
    if kind in (_KINDS["matmul"], _KINDS["solve"]):
        return sum(x.size for x in operands[1:])
    return 6 * operands[0].shape[-1]        # up to three rows in double precision


def _work(kind, operands):
    """Nanoseconds that a step takes about."""
    out, *inputs = operands
    if kind in (_KINDS["matmul"], _KINDS["solve"]):
        return 0.06 * out.size * inputs[0].shape[-1]
    return 0.3 * out.size
