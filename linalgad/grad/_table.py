"""The table of derivatives: one record per function, and how to find it.

A new function costs one rule file that ends in ``register(Record(...))`` and one line in `_RULES`.
"""
import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ._policy import NotDifferentiableError, Options

#: The rule modules, in the order of the documentation.
_RULES = ("_svd", "_eigh", "_eig", "_qr", "_lu", "_cholesky", "_solve", "_triangular", "_inv", "_det")


@dataclass
class Call:
    """One evaluation of a function, as its rules see it.

    `args` and `outputs` are flat tuples of (possibly dual) arrays; `aux` is what the forward kept that is
    plain whatever the level (factors, pivots, a whole spectrum of which a subset was returned); `kw` are the
    function's own keywords; `opt` the options of the derivative.
    """

    args: tuple
    outputs: tuple
    aux: Any
    kw: dict
    opt: Options = field(default_factory=Options)


@dataclass(frozen=True)
class Capability:
    """What can be differentiated of one output, with the caveat in words."""

    output: str
    jvp: bool = True
    vjp: bool = True
    second_order: bool = True
    caveat: str = ""


@dataclass(frozen=True)
class Record:
    """A function and its derivative rules.

    Attributes
    ----------
    name : str
        The function's name in `linalgad`; its rules are `name_jvp` and `name_vjp`.
    forward : callable
        ``forward(args, kw) -> (outputs, aux)`` on plain arrays: one factorisation, everything the rules need.
        `outputs` is a tuple in the order the function returns them.
    jvp : callable
        ``jvp(call, tangents) -> tuple of output tangents``; an entry is None where there is none.
        `tangents` has one entry an argument leaf, None for zero.
    vjp : callable
        ``vjp(call, cotangents, needs) -> (tuple of argument cotangents, Info or None)``. `cotangents` has one
        entry an output leaf, None for zero; `needs` says for which arguments work must be done. Cotangents
        may keep broadcast batch dimensions and a complex part: the caller sums and casts.
    pack : callable
        ``pack(outputs, kw)`` makes what the function returns from a flat tuple (also of tangents).
    remember : callable
        ``remember(args, outputs, kw) -> aux`` for the rules by name, where the forward's results are given.
        None when aux cannot be had without factoring again: those rules run the forward for it.
    variant : callable
        ``variant(kw, count) -> Record``: the record that serves these keywords and so many arguments (svd
        without vectors is svdvals, eigh of two matrices is a pencil).
    project : callable
        ``project(call, cotangents) -> cotangents`` without their gauge-dependent part.
    align : callable or None
        ``align(call, tangents) -> (outputs, aux)``: the same results in the basis of repeated values that
        diagonalises the perturbation, for second derivatives of a loss that is given as a function.
    match : callable or None
        ``match(outputs, like) -> (..., N) integers`` that put the last axis of all outputs into the order of
        `like`, for functions whose order is not continuous (eig).
    follow : callable or None
        ``follow(outputs, like) -> tuple`` with (axis, R) for each output whose last columns (rows for axis -2) are a
        basis that nothing decides: the rotation R that brings them nearest to those of `like`. None for the others.
    capabilities : tuple of Capability
        One per output leaf, in order. An output without jvp and vjp is a constant (pivots, ranks,
        permutations): its tangent is None and a cotangent for it is an error with the caveat as reason.
    inexact : tuple of int
        The argument leaves that are differentiable arrays.
    sliced : bool
        Whether the vjp works slice by slice on arrays that share their batch dimensions, those kept beside the
        outputs included: it is then run in blocks (`_slices`).
    programmed : bool
        Whether a program (`_program`) does the work of the vjp, which then needs no blocks where programs serve.
    compiled : dict
        'jvp' and 'vjp': the compiled twins, with the same contracts; empty until one exists.
    """

    name: str
    forward: Callable
    jvp: Callable
    vjp: Callable
    capabilities: tuple
    pack: Callable = lambda outputs, kw: outputs[0]
    remember: Callable | None = lambda args, outputs, kw: None
    variant: Callable | None = None
    project: Callable = lambda call, cotangents: cotangents
    align: Callable | None = None
    match: Callable | None = None
    follow: Callable | None = None
    inexact: tuple = (0,)
    sliced: bool = False
    programmed: bool = False
    compiled: dict = field(default_factory=dict)


_TABLE: dict[str, Record] = {}


def register(record):
    """Enter a record into the table."""
    _TABLE[record.name] = record
    return record


def load():
    """The whole table, name -> record."""
    for module in _RULES:
        importlib.import_module("." + module, __package__)
    return _TABLE


def lookup(fun, kw, count=1):
    """The record that serves ``fun(..., **kw)`` with `count` arguments; `fun` is a function of linalgad or its name."""
    table = load()
    name = fun if isinstance(fun, str) else getattr(fun, "__name__", repr(fun))
    foreign = not isinstance(fun, str) and getattr(fun, "__module__", "").split(".")[0] != __package__.split(".")[0]
    if name not in table or foreign:
        raise NotDifferentiableError(f"{name} has no derivative rule; capabilities() lists the functions that have")
    record = table[name]
    arrays = [k for k, v in kw.items() if hasattr(v, "shape")]
    if arrays:
        raise NotDifferentiableError(f"{name}: give {arrays[0]} as an argument, not as a keyword, to differentiate")
    return record.variant(kw, count) if record.variant else record
