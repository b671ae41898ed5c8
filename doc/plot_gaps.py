"""Draw figures/gaps.svg: the error of the SVD gradient against the gap, for four rules and two kinds of loss.

Run from the root of the repository: ``python doc/plot_gaps.py``. Needs matplotlib and mpmath.
"""
import sys
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("svg")
import matplotlib.pyplot as plt
import mpmath as mp

import linalgad as la
from linalgad import grad

DOC = Path(__file__).resolve().parent
sys.path.insert(0, str(DOC.parent / "tests"))
from grad import _make as make  # noqa: E402
from grad import _truth as truth  # noqa: E402

DRAWS, ORDER = 6, 5
LOSSES = {
    r"$\langle W,\, U V^H\rangle$": (np.ones_like, np.zeros_like, lambda t: mp.mpf(1), lambda t: mp.mpf(0)),
    r"$\langle W,\, U \exp(S) V^H\rangle$": (np.exp, np.exp, mp.exp, mp.exp),
}
RULES = {"bare 1/g": lambda dtype: 0.0, "Lorentzian, sqrt(u)": lambda dtype: np.finfo(dtype).eps ** 0.5,
         "Lorentzian, narrow": lambda dtype: 1e-12 if dtype == "float64" else 1e-6,
         "numerator test (default)": lambda dtype: None}
GAPS = {"float64": 10.0 ** np.arange(-14, 0), "float32": 10.0 ** np.arange(-6, 0)}


def errors(dtype, gap, functions):
    """The worst relative error of each rule over the draws."""
    f, df, mf, mdf = functions
    worst = dict.fromkeys(RULES, 0.0)
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        a = make.with_singular_values(rng, (2, 2 * (1 - gap), 1.3, 0.8, 0.4), ORDER, ORDER, dtype)
        w = make.normal(rng, (ORDER, ORDER), dtype)
        want = truth.singular_gradient(a, w, mf, mdf)
        for name, eps in RULES.items():
            (u, s, vh), pullback = grad.vjp(la.svd, a, full_matrices=False, derivative_eps=eps(dtype), gauge="project")
            gs = np.diagonal(u.T @ w @ vh.T) * df(s)
            (g,) = pullback((w @ vh.T * f(s), gs, f(s)[:, None] * (u.T @ w)))
            worst[name] = max(worst[name], make.relative(g, want))
    return worst


def main():
    """Two losses by two dtypes."""
    plt.rcParams.update({"svg.hashsalt": "linalgad", "svg.fonttype": "none", "font.size": 9})
    figure, axes = plt.subplots(2, 2, figsize=(8.4, 6), sharey="row", layout="constrained")
    for row, (dtype, gaps) in zip(axes, GAPS.items(), strict=True):
        for axis, (title, functions) in zip(row, LOSSES.items(), strict=True):
            found = [errors(dtype, gap, functions) for gap in gaps]
            for name, style in zip(RULES, ("C3o--", "C1s-", "C4^-", "C0o-"), strict=True):
                axis.loglog(gaps, [max(e[name], 1e-17) for e in found], style, label=name, markersize=4, linewidth=1.2)
            axis.set(title=f"{title}, {dtype}", xlabel="relative gap of the top pair")
            axis.grid(alpha=0.3)
        row[0].set_ylabel("relative error of the gradient")
    axes[0, 0].legend(fontsize=8)
    figure.savefig(DOC / "figures" / "gaps.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
