"""The vocabulary of the rules as steps of the kernels: what a function does, written down and not done."""
import numpy as np

from .._kernels._program import STEPS
from .._lib import _tols
from ._dual import Symbol

#: Number of each step.
KINDS = {name: k for k, name in enumerate(STEPS)}

_DIAGONALS = ("kept", "halved", "ones")
_REFLECTIONS = ("herm", "skew", "twist", "untwist", "mirror")
#: Products x y, x^H y and x y^H, and their triangles.
_PRODUCTS = {"matmul": {}, "inner": {"conj_x": True}, "outer": {"conj_y": True},
             "tril_inner": {"conj_x": True, "triangle": -1}, "tril_outer": {"conj_y": True, "triangle": -1},
             "triu_outer": {"conj_y": True, "triangle": 1}}


class NotRecordableError(Exception):
    """A function that is being recorded does what no step stands for."""


class Buffer:
    """Memory of m x n numbers: an array of the call, or a temporary matrix."""

    def __init__(self, m, n, array=None):
        self.m, self.n, self.array = m, n, array


class _RealRow:
    """Real numbers beside complex matrices, (..., 1, N): an argument that only some steps read."""

    def __init__(self, buffer):
        self.buffer, self.shape, self.ndim = buffer, (1, buffer.m, buffer.n), 3

    def symbol(self):
        return Symbol(None, self.buffer, 0, 0, self.buffer.m, self.buffer.n, False)


class Recorder:
    """The steps that a function takes."""

    def __init__(self, dtype):
        self.dtype, self.steps, self.arrays = dtype, [], 0
        self.complex = dtype.kind == "c"

    def argument(self, x):
        """What stands for an argument, an array like `x`."""
        buffer = Buffer(*x.shape[-2:], self.arrays)
        self.arrays += 1
        return self.whole(buffer) if x.dtype == self.dtype else _RealRow(buffer)

    def whole(self, buffer):
        return Symbol(self, buffer, 0, 0, buffer.m, buffer.n, False)

    def new(self, m, n, by_columns=False):
        if by_columns:
            return _transpose(self.whole(Buffer(n, m)))
        return self.whole(Buffer(m, n))

    def step(self, kind, out, *operands, flags=(), constants=(0.0, 0.0)):
        if out.size:
            self.steps.append((KINDS[kind], (out, *operands), tuple(map(int, flags)), constants))
        return out

    def __call__(self, name, args, static):
        """The result of a function of the vocabulary."""
        if name in _PRODUCTS:
            return self.product(*args, **_PRODUCTS[name], **static)
        if name in _REFLECTIONS:
            return self.step("reflect", self.new(*args[0].shape[-2:]), *args, flags=(_REFLECTIONS.index(name),))
        method = getattr(self, "do_" + name, None)
        if method is None or any(isinstance(x, np.ndarray) and x.ndim for x in args):
            raise NotRecordableError(name)
        return method(*args, **static)

    # Products. A factor may be a view; the result is a new matrix.

    def product(self, x, y, conj_x=False, conj_y=False, triangle=0, k=0, upper=False):
        if not (isinstance(x, Symbol) and isinstance(y, Symbol)):
            raise NotRecordableError("matmul")
        x, y = _transpose(x) if conj_x else x, _transpose(y) if conj_y else y
        if x.shape[-1] != y.shape[-2]:
            raise NotRecordableError("matmul")
        out = self.new(x.shape[-2], y.shape[-1])
        if not x.size:
            return self.step("clear", out)
        return self.step("matmul", out, x, y,
                         flags=(conj_x and self.complex, conj_y and self.complex, triangle, k, upper))

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

    def by_rows(self, x):
        """x, or a copy of it where its rows may not be contiguous."""
        if x.transposed or x.buffer.array is not None:
            return self.step("copy", self.new(*x.shape[-2:]), x, flags=(0,))
        return x

    def by_power(self, kind, x, scale):
        if isinstance(scale, _RealRow):
            scale = scale.symbol()
        if not (isinstance(x, Symbol) and isinstance(scale, Symbol)) or scale.shape[-2:] != (1, 1):
            raise NotRecordableError(kind)
        if x.transposed:
            return _transpose(self.by_power(kind, _transpose(x), scale))
        return self.step(kind, self.new(*x.shape[-2:]), self.by_rows(x), scale)

    def do_multiply(self, x, y):
        if isinstance(x, (int, float)):
            x, y = y, x
        return self.scaled(x, y) if isinstance(y, (int, float)) else self.by_power("times", x, y)

    def do_divide(self, x, y):
        return self.by_power("divide", x, y)

    # With rows of real numbers.

    def by_row(self, kind, x, *rows, constants=(0.0, 0.0)):
        rows = [_row(row) for row in rows]
        if any(row.shape[-2:] != (1, x.shape[-1]) for row in rows):
            raise NotRecordableError(kind)
        x = self.by_rows(x)
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
