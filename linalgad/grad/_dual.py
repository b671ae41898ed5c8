"""Dual arrays: forward-mode differentiation of the rule vocabulary.

A `Dual` is a pair (primal, tangent) of equal shapes with a level. A vocabulary function met with
duals works at the highest level among its arguments; arguments of a lower level are constants there.
Levels nest, so forward-over-forward and forward-over-reverse need nothing else.
"""
import functools

import numpy as np

from . import _stacks


class _Operators:
    """The operators, by functions of the vocabulary."""

    __slots__ = ()
    __array_ufunc__ = None          # NumPy arrays leave binary operators to this class

    def __len__(self):
        return self.shape[0]

    def __neg__(self):
        return negative(self)

    def __add__(self, other):
        return add(self, other)

    def __radd__(self, other):
        return add(other, self)

    def __sub__(self, other):
        return subtract(self, other)

    def __rsub__(self, other):
        return subtract(other, self)

    def __mul__(self, other):
        return multiply(self, other)

    def __rmul__(self, other):
        return multiply(other, self)

    def __truediv__(self, other):
        return divide(self, other)

    def __rtruediv__(self, other):
        return divide(other, self)

    def __matmul__(self, other):
        return matmul(self, other)

    def __rmatmul__(self, other):
        return matmul(other, self)

    def __getitem__(self, index):
        return getitem(self, index=index)


class Dual(_Operators):
    """An array and its tangent at one level of differentiation."""

    __slots__ = ("level", "primal", "tangent")

    def __init__(self, primal, tangent, level):
        self.primal, self.tangent, self.level = primal, tangent, level

    shape = property(lambda self: self.primal.shape)
    ndim = property(lambda self: self.primal.ndim)
    dtype = property(lambda self: self.primal.dtype)

    def __repr__(self):
        return f"Dual({self.primal!r}, {self.tangent!r}, level={self.level})"


class Symbol(_Operators):
    """A matrix of a function that is being recorded (`_program`): m x n of a buffer from (i, j) on, then transposed.

    Functions of the vocabulary hand themselves to its recorder.
    """

    __slots__ = ("buffer", "i", "j", "m", "n", "recorder", "transposed")
    ndim = 3

    def __init__(self, recorder, buffer, i, j, m, n, transposed):
        self.recorder, self.buffer, self.transposed = recorder, buffer, transposed
        self.i, self.j, self.m, self.n = i, j, m, n

    shape = property(lambda self: (1, self.n, self.m) if self.transposed else (1, self.m, self.n))
    size = property(lambda self: self.m * self.n)
    dtype = property(lambda self: self.recorder.dtype)


def recorder_of(*args):
    """The recorder of the symbols among the arguments; None without any."""
    for x in args:
        if type(x) is Symbol:
            return x.recorder
    return None


def recordable(fun):
    """A function that a recorder knows by its name and otherwise runs as it is."""
    @functools.wraps(fun)
    def call(*args, **static):
        recorder = recorder_of(*args)
        return fun(*args, **static) if recorder is None else recorder(fun.__name__, args, static)
    return call


def level_of(*args):
    """The highest level among the arguments; 0 when none is dual."""
    level = 0
    for x in args:
        if type(x) is Dual and x.level > level:
            level = x.level
    return level


def primal_of(x, level):
    """The value of `x` at `level`: its primal if it is dual there, else itself."""
    return x.primal if type(x) is Dual and x.level == level else x


def tangent_of(x, level):
    """The tangent of `x` at `level`, or None if it is a constant there."""
    return x.tangent if type(x) is Dual and x.level == level else None


def base(x):
    """The plain array under all levels: what decisions (masks, ranks, pivots) are taken from."""
    while type(x) is Dual:
        x = x.primal
    return x


def join(primal, tangent, level):
    """A dual array, or the primal itself where the tangent is None (zero)."""
    return primal if tangent is None else Dual(primal, tangent, level)


def primitive(fun):
    """Make a function of arrays a vocabulary function.

    `fun(*arrays, **static)` computes on plain arrays. `name.rule` registers its tangent,
    ``rule(out, primals, tangents, **static)``, written in the vocabulary; a tangent may be None (zero).
    """
    @functools.wraps(fun)
    def call(*args, **static):
        level = level_of(*args)
        if not level:
            recorder = recorder_of(*args)
            return fun(*args, **static) if recorder is None else recorder(call.__name__, args, static)
        primals = [primal_of(x, level) for x in args]
        out = call(*primals, **static)
        tangent = call.tangent(out, primals, [tangent_of(x, level) for x in args], **static)
        if tangent is not None and tangent.shape != out.shape:
            tangent = broadcast_to(tangent, shape=out.shape)
        return join(out, tangent, level)

    def rule(tangent):
        call.tangent = tangent
        return tangent

    call.rule = rule
    return call


def linear(fun):
    """A vocabulary function that is (real-)linear in its one array argument."""
    call = primitive(fun)

    @call.rule
    def tangent(out, primals, tangents, **static):
        return call(tangents[0], **static)

    return call


def plus(x, y):
    """x + y where None is zero."""
    return y if x is None else x if y is None else x + y


def times(x, y):
    """x * y where None is zero."""
    return None if x is None or y is None else x * y


add = primitive(np.add)
subtract = primitive(np.subtract)
multiply = primitive(np.multiply)
divide = primitive(np.true_divide)
negative = linear(np.negative)


@add.rule
def _add(out, primals, tangents):
    return plus(*tangents)


@subtract.rule
def _subtract(out, primals, tangents):
    dx, dy = tangents
    return dx if dy is None else -dy if dx is None else dx - dy


@multiply.rule
def _multiply(out, primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    return plus(times(dx, y), times(x, dy))


@divide.rule
def _divide(out, primals, tangents):
    y, (dx, dy) = primals[1], tangents
    top = dx if dy is None else -(out * dy) if dx is None else dx - out * dy
    return top / y


def _product(fun):
    """A vocabulary function that is linear in each of its two array arguments."""
    call = primitive(fun)

    @call.rule
    def tangent(out, primals, tangents, **static):
        (x, y), (dx, dy) = primals, tangents
        return plus(None if dx is None else call(dx, y, **static), None if dy is None else call(x, dy, **static))

    return call


@_product
def matmul(x, y):
    """The matrix product of stacks."""
    return _stacks.matmul(x, y)


# With `upper` the left factor, x or x^H, is upper triangular with zeros below, most of which are not multiplied.

@_product
def inner(x, y, *, upper=False):
    """x^H y, without a conjugated copy of x."""
    return _stacks.matmul(np.swapaxes(x, -1, -2), y, conj_x=True, upper=upper)


@_product
def outer(x, y, *, upper=False):
    """x y^H, without a conjugated copy of y."""
    return _stacks.matmul(x, np.swapaxes(y, -1, -2), conj_y=True, upper=upper)


@_product
def tril_inner(x, y, *, k=0, upper=False):
    """The lower triangle of x^H y."""
    return _stacks.matmul(np.swapaxes(x, -1, -2), y, conj_x=True, triangle=-1, k=k, upper=upper)


@_product
def tril_outer(x, y, *, k=0, upper=False):
    """The lower triangle of x y^H."""
    return _stacks.matmul(x, np.swapaxes(y, -1, -2), conj_y=True, triangle=-1, k=k, upper=upper)


@_product
def triu_outer(x, y, *, k=0, upper=False):
    """The upper triangle of x y^H."""
    return _stacks.matmul(x, np.swapaxes(y, -1, -2), conj_y=True, triangle=1, k=k, upper=upper)


@linear
def getitem(x, *, index):
    """x[index] for a static index."""
    return x[index]


@linear
def broadcast_to(x, *, shape):
    """x spread to `shape`."""
    return np.broadcast_to(x, shape)
