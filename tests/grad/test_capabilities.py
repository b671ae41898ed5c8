"""capabilities() says what the functions do: every row is tried."""
import numpy as np
import pytest

import linalgad as la
from linalgad import grad

SQUARE = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.5]])
RIGHT = np.array([[1.0, 2.0], [0.5, -1.0], [2.0, 0.3]])
#: Arguments where they are not one square matrix, and the keyword variants with outputs of their own.
ARGUMENTS = {
    "cholesky_solve": (SQUARE, RIGHT), "solve": (SQUARE, RIGHT), "solve_ex": (SQUARE, RIGHT),
    "solve_triangular": (SQUARE, RIGHT), "lu_solve": (tuple(la.lu_factor(SQUARE)), RIGHT),
}
CALLS = [*((name, {}) for name in dict.fromkeys(row.function for row in grad.capabilities())),
         ("lu", {"permute_l": True}), ("lu", {"p_indices": True}), ("qr", {"mode": "r"}), ("qr", {"pivoting": True}),
         ("qr", {"mode": "r", "pivoting": True}), ("svd", {"compute_uv": False}), ("eig", {"left": True})]


def leaves(x):
    return tuple(x) if isinstance(x, tuple) else (x,)


def same_structure(x, items):
    return items if isinstance(x, tuple) else items[0]


@pytest.mark.parametrize("name, kw", CALLS, ids=str)
def test_every_row(name, kw):
    args = ARGUMENTS.get(name, (SQUARE,))
    tangents = tuple(tuple(y if y.dtype.kind == "f" else None for y in x) if isinstance(x, tuple) else x for x in args)
    outputs, slopes = grad.jvp(name, args, tangents, **kw)
    _, pullback = grad.vjp(name, *args, gauge="project", **kw)
    rows = grad.capabilities(name, **kw)
    assert len(rows) == len(leaves(outputs))
    for i, (row, y, dy) in enumerate(zip(rows, leaves(outputs), leaves(slopes), strict=True)):
        assert row.jvp == (dy is not None)
        cts = same_structure(outputs, tuple(np.ones_like(y) if k == i else None for k in range(len(rows))))
        if row.vjp:
            assert all(np.all(np.isfinite(g)) for x in pullback(cts) for g in leaves(x) if g is not None)
        else:
            with pytest.raises(grad.NotDifferentiableError, match=row.output):
                pullback(cts)
        if row.second_order:
            seconds = grad.hvp(name, args, tangents, cts, gauge="project", **kw)
            assert all(np.all(np.isfinite(g)) for x in seconds for g in leaves(x) if g is not None)
        assert row.caveat or row.vjp
