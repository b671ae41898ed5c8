"""Random shapes, strides and broadcasts over all functions: the bits of a view are those of its copy."""
import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from _measure import as_tuple, assert_same_bits

import linalgad as la

hypothesis.settings.register_profile("suite", max_examples=25, derandomize=True, deadline=None, database=None)
QUICK = hypothesis.settings.get_profile("suite")

# name -> (cores of the arguments as functions of m, n, k; keywords)
SQUARE, RECTANGLE, SYSTEM = (("nn",), {}), (("mn",), {}), (("nn", "nk"), {})
FUNCTIONS = {
    "svd": RECTANGLE, "svd-thin": (("mn",), {"full_matrices": False}), "svdvals": RECTANGLE,
    "eigh": SQUARE, "eigvalsh": (("nn",), {"lower": False}), "eigh-subset": (("nn",), {"subset_by_index": (0, 0)}),
    "eig": SQUARE, "eigvals": SQUARE, "eig-left": (("nn",), {"left": True}),
    "qr": RECTANGLE, "qr-complete": (("mn",), {"mode": "complete"}), "qr-pivoting": (("mn",), {"pivoting": True}),
    "qr-positive": (("mn",), {"positive": True}),
    "cholesky": SQUARE, "cholesky_ex": (("nn",), {"upper": True}), "cholesky_solve": SYSTEM, "cholesky_inverse": SQUARE,
    "lu": RECTANGLE, "lu-permuted": (("mn",), {"permute_l": True}), "lu_factor": SQUARE, "lu_factor_ex": SQUARE,
    "solve": SYSTEM, "solve-pos": (("nn", "nk"), {"assume_a": "pos"}), "solve-sym": (("nn", "nk"), {"assume_a": "sym"}),
    "solve-diag": (("nn", "nk"), {"assume_a": "diag"}), "solve_ex": SYSTEM,
    "solve_triangular": SYSTEM, "solve_triangular-lower": (("nn", "nk"), {"lower": True, "trans": 2}),
    "inv": SQUARE, "inv_ex": SQUARE, "det": SQUARE, "slogdet": SQUARE,
}
WITH_ONE_OUTPUT = ("svdvals", "cholesky", "inv", "solve", "solve_triangular")
CODES = ("_ex",)


@st.composite
def strided(draw, shape, dtype, repeat):
    """An array of that shape in memory of random axis order and steps; some batch axes may be repeated."""
    core = len(shape) - 2
    once = tuple(1 if k < core and repeat and draw(st.booleans()) else d for k, d in enumerate(shape))
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from((1, 1, 2, -1, -3))) for _ in shape]
    big = np.zeros([once[k] * abs(steps[k]) for k in order], dtype)
    view = big[tuple(slice(None, None, steps[k]) for k in order)].transpose(np.argsort(order))
    rng = np.random.default_rng(draw(st.integers(0, 2 ** 16)))
    view[...] = rng.standard_normal(once) if dtype.kind == "f" else rng.standard_normal((*once, 2)) @ [1, 1j]
    return np.broadcast_to(view, shape)


@st.composite
def arguments(draw, cores):
    """Arrays whose batches broadcast, one for each core."""
    dtype = np.dtype(draw(st.sampled_from("fdFD")))
    size = {c: draw(st.integers(0, 6)) for c in "mnk"}
    batch = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
    given_args = []
    for core in cores:
        own = batch[draw(st.integers(0, len(batch))):] if given_args else batch
        own = tuple(1 if given_args and draw(st.booleans()) else d for d in own)
        given_args.append(draw(strided((*own, *(size[c] for c in core)), dtype, True)))
    return given_args


def call(name, args, **kw):
    """The result, with NaN where a matrix is singular or not definite."""
    fn = name.split("-")[0]
    errors = {} if fn.endswith(CODES) else {"errors": "nan"}
    return getattr(la, fn)(*args, **FUNCTIONS[name][1], **errors, **kw)


def accepts(name, args):
    """A subset of no eigenvalues is no subset."""
    return name != "eigh-subset" or args[0].shape[-1] > 0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_views_and_copies_agree(name):
    """Any strides, zero and negative ones included, any broadcast; inputs stay as they are."""
    @QUICK
    @hypothesis.given(arguments(FUNCTIONS[name][0]))
    def check(args):
        hypothesis.assume(accepts(name, args))
        before = [a.copy() for a in args]
        result = as_tuple(call(name, args))
        assert_same_bits(result, call(name, [np.ascontiguousarray(a) for a in args]))
        assert_same_bits(tuple(args), tuple(before))
        batch = np.broadcast_shapes(*(a.shape[:-2] for a in args))
        assert all(np.shape(x)[:len(batch)] == batch for x in result)
    check()


@pytest.mark.parametrize("name", WITH_ONE_OUTPUT)
def test_destinations_of_any_strides(name):
    """`out` may be any writeable array of the right shape; what it shares memory with is copied first."""
    @QUICK
    @hypothesis.given(arguments(FUNCTIONS[name][0]), st.data())
    def check(args, data):
        expected = call(name, args)
        steps = [data.draw(st.sampled_from((1, 2, -1))) for _ in expected.shape]
        order = data.draw(st.permutations(range(expected.ndim)))
        big = np.zeros([expected.shape[k] * abs(steps[k]) for k in order], expected.dtype)
        out = big[tuple(slice(None, None, steps[k]) for k in order)].transpose(np.argsort(order))
        assert call(name, args, out=out) is out
        assert_same_bits(out, expected)
    check()


@pytest.mark.parametrize("shift", [-1, 1])
@pytest.mark.parametrize("name", ["cholesky", "inv", "cholesky_inverse"])
def test_overlapping_destination(name, shift):
    """The output of one slice lands on the input of the next: the input is copied first."""
    whole = np.random.default_rng(1).standard_normal((6, 4, 4))
    whole = whole @ np.swapaxes(whole, -1, -2) + np.eye(4)
    source, target = (whole[1:], whole[:-1]) if shift < 0 else (whole[:-1], whole[1:])
    expected = getattr(la, name)(source.copy())
    assert_same_bits(getattr(la, name)(source, out=target), expected)
