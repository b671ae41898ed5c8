"""The universal checks: what every function of stacks of matrices must do.

A test file lists specs and gets the checks:

    class TestSvd(Universal):
        specs = [Spec("svd", outputs=lambda m, n: [...], residuals=..., nonfinite="fails"), ...]

`Spec` (in _spec.py) documents the fields. Each check runs over the specs, the shapes, empty shapes or
spectra they list, and the dtypes; checks that a spec has no use for (a failing matrix, say) are not
collected. What is special about a function is written beside the class, as ordinary tests.
"""
import numpy as np
import pytest
from _matrices import wide
from _measure import as_tuple, assert_ratios, assert_same_bits, distance, part
from _spec import described
from _tols import rounding

from linalgad import LinAlgError

INTEGERS = ("bool", "int8", "uint8", "int16", "uint32", "int64", "uint64")


def needs(test):
    """Collect a check only for the specs for which `test(spec)` is true."""
    def mark(fn):
        fn.needs = test
        return fn
    return mark


raises_on_failure = needs(lambda s: s.fails and not s.info)


def with_failures(spec, rng, batch, dtype, shape, where, core):
    """Arguments whose slices `where` of the first one are `core`, and the good ones."""
    args = spec.args(rng, batch, dtype, shape)
    bad = args[0].copy()
    for index in where:
        bad[index] = core
    return args, (bad, *args[1:])


class Universal:
    """Checks for all `specs` of a subclass."""

    specs = ()

    # ------------------------------------------------------------ results
    @needs(lambda s: s.residuals)
    def test_residuals(self, spec, shape, kind, dtype, rng):
        args = spec.args(rng, (3,), dtype, shape, kind)
        assert_ratios(spec.residuals(args, as_tuple(spec(*args))))

    @needs(lambda s: s.reference)
    def test_agrees_with_reference(self, spec, shape, dtype, rng):
        args = spec.args(rng, (2, 2), dtype, shape)
        outs = as_tuple(spec(*args))
        expected = as_tuple(spec.reference(*(a.astype(wide(a.dtype)) if a.dtype.kind in "fc" else a for a in args)))
        n = max(shape)
        assert max(distance(o, e) for o, e in zip(outs, expected, strict=True)
                   if e is not None) <= rounding(dtype, n, spec.kappa)

    @pytest.mark.parametrize("batch", [(), (0,), (1, 3), (2, 0), (1, 2, 1, 1, 2)], ids=str)
    def test_batch_shape(self, spec, batch, either_dtype, rng):
        outs = spec(*spec.args(rng, batch, either_dtype, spec.typical))
        assert described(outs) == spec.expected(batch, either_dtype, spec.typical)

    @pytest.mark.parametrize("batch", [(), (3,), (0, 2)], ids=str)
    def test_empty_core(self, spec, core, batch, either_dtype, rng):
        args = spec.args(rng, batch, either_dtype, core)
        outs = as_tuple(spec(*args))
        assert described(outs) == spec.expected(batch, either_dtype, core)
        if spec.reference and 0 not in batch:
            expected = as_tuple(spec.reference(*args))
            assert all(e is None or np.array_equal(o, e) for o, e in zip(outs, expected, strict=True))

    # ------------------------------------------------------------ consistency, bit for bit
    def test_batched_equals_loop(self, spec, shape, dtype, rng):
        args = spec.args(rng, (2, 3), dtype, shape)
        outs = spec(*args)
        assert described(outs) == spec.expected((2, 3), dtype, shape)
        for index in np.ndindex(2, 3):
            assert_same_bits(spec(*(a[index] for a in args)), part(outs, index), index)

    def test_layout(self, spec, layout, either_dtype, rng):
        args = spec.args(rng, (2, 3), either_dtype, spec.typical)
        plain = spec(*args)
        moved = tuple(layout(a) for a in args)
        assert_same_bits(spec(*moved), plain)
        assert_same_bits(tuple(a.astype(a.dtype.newbyteorder("=")) for a in moved), args, "input changed")

    def test_zero_stride_batch(self, spec, either_dtype, rng):
        args = spec.args(rng, (2, 1), either_dtype, spec.typical)
        repeated = tuple(np.broadcast_to(a, (2, 4, *a.shape[2:])) for a in args)
        outs, one = spec(*repeated), spec(*args)
        assert_same_bits(outs, tuple(np.repeat(x, 4, 1) for x in as_tuple(one)))
        assert all(x.flags.writeable and 0 not in x.strides for x in as_tuple(outs) if x.size)

    @needs(lambda s: s.many)
    def test_batches_broadcast(self, spec, dtype, rng):
        full = spec.args(rng, (2, 3), dtype, spec.typical)
        # The first argument varies over the first batch axis only, the others over the second only.
        args = (full[0][:, :1], *(a[:1] if k % 2 else a[0] for k, a in enumerate(full[1:], 1)))
        whole = tuple(np.broadcast_to(a, (2, 3, *f.shape[2:])) for a, f in zip(args, full, strict=True))
        assert_same_bits(spec(*args), spec(*whole))

    @pytest.mark.parametrize("lanes", [2, 3])
    def test_any_number_of_lanes(self, spec, lanes, dtype, rng, eager_lanes):
        args = spec.args(rng, (3, 7), dtype, spec.typical)
        assert_same_bits(spec(*args, lanes=lanes), spec(*args, lanes=1))

    # ------------------------------------------------------------ failures
    @raises_on_failure
    def test_failure_names_the_slices(self, spec, dtype, rng):
        where = ((0, 1), (1, 2))
        n = spec.typical
        _, bad = with_failures(spec, rng, (2, 3), dtype, n, where, spec.fails(dtype, n[0]))
        with pytest.raises(LinAlgError, match=rf"^{spec.fn}: 2 of 6 matrices .*\(0, 1\), \(1, 2\)") as e:
            spec(*bad)
        assert e.value.indices == where

    @raises_on_failure
    def test_message_lists_five_slices(self, spec, dtype, rng):
        where = tuple((k,) for k in range(1, 8))
        n = spec.typical
        _, bad = with_failures(spec, rng, (9,), dtype, n, where, spec.fails(dtype, n[0]))
        with pytest.raises(LinAlgError, match=rf"^{spec.fn}: 7 of 9 matrices .* 1, 2, 3, 4, 5, \.\.\.") as e:
            spec(*bad)
        assert e.value.indices == where

    @raises_on_failure
    def test_failure_of_one_matrix(self, spec, dtype, rng):
        n = spec.typical
        args = spec.args(rng, (), dtype, n)
        with pytest.raises(LinAlgError, match=f"^{spec.fn}: the matrix ") as e:
            spec(spec.fails(dtype, n[0]), *args[1:])
        assert e.value.indices == ((),)
        assert isinstance(e.value, np.linalg.LinAlgError)

    @needs(lambda s: s.fails or s.nonfinite == "fails")
    def test_errors_nan_fills_only_the_slice(self, spec, dtype, rng):
        n = spec.typical
        core = spec.fails(dtype, n[0]) if spec.fails else np.full(n, np.nan, dtype)
        good, bad = with_failures(spec, rng, (5,), dtype, n, ((1,), (3,)), core)
        outs = spec(*bad) if spec.info else spec(*bad, errors="nan")
        rest = [0, 2, 4]
        assert_same_bits(part(outs, rest), part(spec(*good), rest))
        filled = [x for x in part(outs, [1, 3]) if x.dtype.kind in "fc"]
        assert filled
        assert all(np.isnan(x).all() for x in filled)
        assert not spec.info or (outs[-1] != 0).tolist() == [False, True, False, True, False]

    @needs(lambda s: s.nonfinite == "fails")
    @pytest.mark.parametrize(("value", "place"), [(np.nan, (0, 0)), (np.nan, (-1, 0)), (np.inf, (-1, -1)),
                                                  (-np.inf, (0, 0))], ids=str)
    def test_nonfinite_is_a_failure(self, spec, value, place, dtype, rng):
        args = spec.args(rng, (4,), dtype, spec.typical)
        args[0][(2, *place)] = value
        with pytest.raises(LinAlgError, match="NaN or infinite") as e:
            spec(*args)
        assert e.value.indices == ((2,),)

    @needs(lambda s: s.nonfinite == "propagates")
    @pytest.mark.parametrize("lanes", [1, 3])
    def test_nan_propagates(self, spec, lanes, dtype, rng, eager_lanes):
        args = spec.args(rng, (4,), dtype, spec.typical)
        good = spec(*args)
        args[0][2, -1, -1] = np.nan
        outs = spec(*args, lanes=lanes)
        rest = [0, 1, 3]
        assert_same_bits(part(outs, rest), part(good, rest))
        assert any(np.isnan(x).any() for x in part(outs, 2))

    # ------------------------------------------------------------ out
    @needs(lambda s: s.has_out)
    def test_out(self, spec, out_layout, either_dtype, rng):
        args = spec.args(rng, (2, 3), either_dtype, spec.typical)
        out = spec.buffers((2, 3), either_dtype, spec.typical, out_layout)
        result = spec(*args, out=out)
        assert all(r is o for r, o in zip(as_tuple(result), as_tuple(out), strict=True))
        assert_same_bits(result, spec(*args))

    @needs(lambda s: s.inplace is not None)
    def test_out_is_the_input(self, spec, dtype, rng):
        args = spec.args(rng, (2, 3), dtype, spec.typical)
        expected = spec(*args)
        target = args[spec.inplace]
        assert as_tuple(expected)[0].shape == target.shape, "the spec's shapes allow no call in place"
        out = spec.buffers((2, 3), dtype, spec.typical)
        rest = as_tuple(out)[1:]
        assert_same_bits(spec(*args, out=(target, *rest) if rest else target), expected)

    @needs(lambda s: s.has_out)
    @pytest.mark.parametrize("fault", ["shape", "dtype", "read-only", "zero stride", "list"])
    def test_bad_out_is_refused(self, spec, fault, rng):
        args = spec.args(rng, (2,), "float64", spec.typical)
        out = list(as_tuple(spec.buffers((2,), "float64", spec.typical)))
        out[-1] = {"shape": lambda o: o[:1], "dtype": lambda o: np.ones(o.shape, "float16"),
                   "read-only": _frozen, "zero stride": lambda o: _repeated(o[:1], o.shape),
                   "list": lambda o: o.tolist()}[fault](out[-1])
        with pytest.raises((TypeError, ValueError), match=f"^{spec.fn}: out"):
            spec(*args, out=tuple(out) if len(out) > 1 else out[0])

    # ------------------------------------------------------------ arguments
    @pytest.mark.parametrize("given", INTEGERS)
    def test_integers_become_float64(self, spec, given, rng):
        args = spec.args(rng, (2,), "float64", spec.typical)
        given = tuple(_integers(a, given, spec.square and k == 0) if a.dtype.kind == "f" else a
                      for k, a in enumerate(args))
        same = tuple(g.astype("float64") if a.dtype.kind == "f" else g for a, g in zip(args, given, strict=True))
        assert_same_bits(spec(*given), spec(*same))

    def test_float16_becomes_float32(self, spec, rng):
        args = spec.args(rng, (2,), "float32", spec.typical)
        given = tuple(a.astype("float16") if a.dtype.kind == "f" else a for a in args)
        same = tuple(a.astype("float32") if a.dtype.kind == "f" else a for a in given)
        assert_same_bits(spec(*given), spec(*same))

    def test_nested_lists(self, spec, rng):
        args = spec.args(rng, (2,), "float64", spec.typical)
        given = tuple(a.tolist() if a.dtype.kind == "f" else a for a in args)
        assert_same_bits(spec(*given), spec(*args))

    @needs(lambda s: s.many)
    def test_mixed_dtypes_are_promoted(self, spec, rng):
        args = spec.args(rng, (2,), "complex64", spec.typical)
        first, *rest = spec.floats(args)
        mixed = [a.real.astype("float64") if k in rest else a for k, a in enumerate(args)]
        same = [a.astype("complex128") if k == first or k in rest else a for k, a in enumerate(mixed)]
        assert_same_bits(spec(*mixed), spec(*same))

    @pytest.mark.parametrize("bad", ["longdouble", "clongdouble", "object", "U4", "datetime64[s]"])
    def test_other_dtypes_are_refused(self, spec, bad, rng):
        args = spec.args(rng, (2,), "float64", spec.typical)
        position = spec.floats(args)[-1]
        args = tuple(np.zeros(a.shape, bad) if k == position else a for k, a in enumerate(args))
        with pytest.raises(TypeError, match=f"^{spec.fn}: argument '{spec.names[position]}' .*not supported"):
            spec(*args)

    @pytest.mark.parametrize("ndim", [0, 1])
    def test_fewer_than_two_axes_are_refused(self, spec, ndim, rng):
        args = spec.args(rng, (), "float64", spec.typical)
        with pytest.raises(LinAlgError, match=f"^{spec.fn}: argument '{spec.names[0]}' must have at least two dim"):
            spec(np.ones((3,) * ndim), *args[1:])

    @needs(lambda s: s.square)
    def test_rectangles_are_refused(self, spec, rng):
        args = spec.args(rng, (), "float64", spec.typical)
        with pytest.raises(LinAlgError, match=f"^{spec.fn}: argument '{spec.names[0]}' must be .*square"):
            spec(np.ones((2, 3, 4)), *args[1:])

    @pytest.mark.parametrize("lanes", [0, -1, 10 ** 9, True, 1.5, "2"], ids=repr)
    def test_bad_lanes_are_refused(self, spec, lanes, rng):
        args = spec.args(rng, (), "float64", spec.typical)
        with pytest.raises((TypeError, ValueError), match=f"^{spec.fn}: lanes must be"):
            spec(*args, lanes=lanes)

    @needs(lambda s: not s.info)
    @pytest.mark.parametrize("errors", ["ignore", None, 1], ids=repr)
    def test_bad_errors_is_refused(self, spec, errors, rng):
        args = spec.args(rng, (), "float64", spec.typical)
        with pytest.raises(ValueError, match=f"^{spec.fn}: errors must be 'raise' or 'nan'"):
            spec(*args, errors=errors)

    def test_masked_arrays_are_refused(self, spec, rng):
        args = spec.args(rng, (), "float64", spec.typical)
        with pytest.raises(TypeError, match=f"^{spec.fn}: argument '{spec.names[0]}' is a masked array"):
            spec(np.ma.masked_array(args[0]), *args[1:])


def _frozen(a):
    a.setflags(write=False)
    return a


def _repeated(a, shape):
    return np.lib.stride_tricks.as_strided(a, shape, (0, *a.strides[1:]))


def _integers(a, kind, regular):
    """Small integers in the shape of `a`; diagonally dominant where the matrix has to be regular."""
    x = np.rint(np.abs(a) * 7) % 3
    if regular:
        eye = np.eye(a.shape[-1])
        x = np.broadcast_to(eye, a.shape) if kind == "bool" else x + 3 * a.shape[-1] * eye
    return x.astype(kind)
