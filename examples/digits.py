"""1797 hand-written digits as one stack of matrices: truncated SVD of each image with the gradient of its error, and
eigh of pixel covariances.

Usage: python examples/digits.py [--out digits.png]

The data come with scikit-learn; nothing is downloaded. Everything that is printed is checked first: truncation errors
against the tail of the singular values, gradients against finite differences in every pixel of every digit, variances
against the trace of the covariance, results against NumPy's.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

import linalgad as la
from linalgad import grad

SHOWN = (2, 3, 5, 8)
SHOWN_RANKS = (1, 2, 3, 8)
GRADIENT_RANK = 3
DIFFERENCE_STEP = 1e-4
REPEATS = 7


def truncation_errors(images):
    """Singular values, and the norm of what is left of each image when its first r terms are subtracted.

    The sums of r terms are built up one by one for the whole stack. By Eckart and Young the squared error is the
    sum of the squared singular values left out; that is asserted, relative to the squared norm of the image.
    """
    u, s, vh = la.svd(images, full_matrices=False)
    rest = images.copy()
    errors = [np.linalg.norm(rest, axis=(-2, -1))]
    for r in range(s.shape[-1]):
        rest -= s[:, r, None, None] * u[:, :, r, None] * vh[:, r, None, :]
        errors.append(np.linalg.norm(rest, axis=(-2, -1)))
    errors = np.stack(errors, axis=-1)
    squares = np.concatenate([s**2, np.zeros((len(s), 1))], axis=-1)
    tail = np.cumsum(squares[:, ::-1], axis=-1)[:, ::-1]
    energy = tail[:, :1]
    np.testing.assert_allclose(errors**2 + energy, tail + energy)
    np.testing.assert_allclose(s + s[:, :1], np.linalg.svd(images, compute_uv=False) + s[:, :1])
    return s, errors


def truncate(images, rank):
    """Best approximation of each image by a matrix of the given rank."""
    u, s, vh = la.svd(images, full_matrices=False)
    return u[..., :rank] * s[..., None, :rank] @ vh[..., :rank, :]


def gradient_of_error(images, rank):
    """Gradient, with respect to every pixel, of half the squared truncation error.

    The function goes through the singular vectors, the pullback of the SVD has to find that the gradient is what the
    truncation leaves of the image. It is compared with that and, in every pixel of every image, with central
    differences, both relative to the brightest pixel.
    """
    (u, s, vh), pullback = grad.vjp(la.svd, images, full_matrices=False)
    left, values, right = u[..., :rank], s[..., None, :rank], vh[..., :rank, :]
    rest = images - left * values @ right
    # cotangents of half the sum of squares of `rest`, by the product rule
    ct_u, ct_s, ct_vh = np.zeros_like(u), np.zeros_like(s), np.zeros_like(vh)
    ct_u[..., :rank] = -(rest @ right.mT) * values
    ct_s[..., :rank] = -np.sum(left * (rest @ right.mT), axis=-2)
    ct_vh[..., :rank, :] = -values.mT * (left.mT @ rest)
    gradient = rest + pullback((ct_u, ct_s, ct_vh))[0]
    brightest = images.max()
    np.testing.assert_allclose(gradient + brightest, rest + brightest)
    np.testing.assert_allclose(gradient + brightest, differences_of_error(images, rank) + brightest)
    return gradient


def differences_of_error(images, rank):
    """Central differences of half the squared truncation error: one stack for each pixel and sign."""
    def error(stack):
        return np.sum(la.svdvals(stack)[..., rank:] ** 2, axis=-1) / 2

    out = np.empty_like(images)
    for pixel in np.ndindex(images.shape[1:]):
        step = np.zeros(images.shape[1:])
        step[pixel] = DIFFERENCE_STEP
        out[:, *pixel] = (error(images + step) - error(images - step)) / (2 * DIFFERENCE_STEP)
    return out


def covariances(images, labels):
    """Covariance of the 64 pixels in each of the ten classes, as a 10 x 64 x 64 stack."""
    pixels = images.reshape(len(images), -1)
    return np.stack([np.cov(pixels[labels == digit], rowvar=False) for digit in range(10)])


def principal_components(cov):
    """Share of the variance in the first k components, and the components as images, largest first."""
    w, v = la.eigh(cov)
    np.testing.assert_allclose(w.sum(axis=-1), np.trace(cov, axis1=-2, axis2=-1))
    scale = w[:, -1:]
    np.testing.assert_allclose(w + scale, np.linalg.eigvalsh(cov) + scale)
    w, v = w[:, ::-1], v[..., ::-1]
    return np.cumsum(w, axis=-1) / w.sum(axis=-1, keepdims=True), v.mT.reshape(10, 64, 8, 8)


def microseconds(*calls):
    """Shortest time of each call, the calls taking turns."""
    best = [np.inf] * len(calls)
    for _ in range(REPEATS):
        for i, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[i] = min(best[i], 1e6 * (time.perf_counter() - start))
    return best


def compare_times(images, cov):
    """Name -> microseconds for one matrix, (linalgad, numpy), measured in turns."""
    jobs = {
        "svd, 1797 x 8 x 8": (
            len(images),
            lambda: la.svd(images, full_matrices=False),
            lambda: np.linalg.svd(images, full_matrices=False),
        ),
        "eigh, 10 x 64 x 64": (len(cov), lambda: la.eigh(cov), lambda: np.linalg.eigh(cov)),
    }
    return {name: [t / count for t in microseconds(*calls)] for name, (count, *calls) in jobs.items()}


def draw(images, errors, gradient, share, components, times, path):
    """Panels: truncated digits and gradients of the error, errors by rank, variance by component, times."""
    fig = Figure(figsize=(11, 7.5), layout="constrained")
    pictures, plots = fig.subfigures(2, 1, height_ratios=(1.15, 1))
    left, right = pictures.subfigures(1, 2)
    left.suptitle("images truncated to rank r, and the gradient of the error", fontsize=10)
    axes = left.subplots(len(SHOWN), len(SHOWN_RANKS) + 1)
    for column, rank in enumerate(SHOWN_RANKS):
        for row, image in enumerate(truncate(images[list(SHOWN)], rank)):
            axes[row, column].imshow(image, cmap="gray_r", vmin=0, vmax=16)
        axes[0, column].set_title(f"r = {rank}", fontsize=8)
    for ax, image in zip(axes[:, -1], gradient[list(SHOWN)], strict=True):
        ax.imshow(image, cmap="coolwarm", vmin=-np.abs(image).max(), vmax=np.abs(image).max())
    axes[0, -1].set_title(f"gradient, r = {GRADIENT_RANK}", fontsize=8)
    right.suptitle("first four principal components, by class", fontsize=10)
    grid = right.subplots(4, 10)
    for row in range(4):
        for digit in range(10):
            image = components[digit, row]
            grid[row, digit].imshow(image, cmap="coolwarm", vmin=-np.abs(image).max(), vmax=np.abs(image).max())
    for ax in (*axes.flat, *grid.flat):
        ax.set(xticks=[], yticks=[])
    by_rank, by_component, by_time = plots.subplots(1, 3)
    relative = errors / errors[:, :1]
    ranks = np.arange(relative.shape[-1])
    low, middle, high = np.quantile(relative, (0.05, 0.5, 0.95), axis=0)
    by_rank.fill_between(ranks, low, high, alpha=0.25, label="5 % to 95 % of the images")
    by_rank.plot(ranks, middle, "o-", label="median")
    by_rank.set(xlabel="rank r", ylabel="relative error |A - A_r| / |A|")
    by_rank.legend(fontsize=8)
    for digit, curve in enumerate(share):
        by_component.plot(np.arange(1, 65), curve, lw=1, color=colormaps["tab10"](digit), label=str(digit))
    by_component.set(xlabel="principal components", ylabel="share of the variance", xlim=(1, 40))
    by_component.legend(fontsize=7, ncols=2)
    places = np.arange(len(times))
    for offset, label, color in ((-0.2, "linalgad", "C0"), (0.2, "numpy", "0.6")):
        values = [pair[label == "numpy"] for pair in times.values()]
        bars = by_time.bar(places + offset, values, 0.4, label=label, color=color)
        by_time.bar_label(bars, fmt="{:,.0f}", fontsize=8)
    by_time.set(xticks=places, xticklabels=times, yscale="log", ylabel="microseconds per matrix")
    by_time.margins(y=0.2)
    by_time.legend(fontsize=8)
    fig.savefig(path, dpi=150)


def main(arguments=None):
    """Run the whole example."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("digits.png"), help="figure to write, PNG or SVG")
    options = parser.parse_args(arguments)
    digits = load_digits()
    images = digits.images
    _, errors = truncation_errors(images)
    relative = errors / errors[:, :1]
    print(f"{len(images)} digits of {images.shape[1]} x {images.shape[2]} pixels, one SVD each")
    print("\nrank   mean relative error   images below 10 %")
    for rank in range(1, relative.shape[-1]):
        column = relative[:, rank]
        print(f"{rank:4d}   {column.mean():19.4f}   {100 * np.mean(column < 0.1):15.1f} %")
    gradient = gradient_of_error(images, GRADIENT_RANK)
    print(f"\ngradient of half the squared error at rank {GRADIENT_RANK}: equal to A - A_r and to finite differences")
    strongest = np.unravel_index(np.abs(gradient).mean(axis=0).argmax(), images.shape[1:])
    print(f"pixel that it asks to change most, on average: row {strongest[0]}, column {strongest[1]}")
    cov = covariances(images, digits.target)
    share, components = principal_components(cov)
    print("\nprincipal components that hold 90 % of the variance of a digit's pixels (of 64)")
    print("digit " + "".join(f"{digit:5d}" for digit in range(10)))
    print("count " + "".join(f"{np.searchsorted(curve, 0.9) + 1:5d}" for curve in share))
    times = compare_times(images, cov)
    print(f"\nmicroseconds per matrix   linalgad   numpy {np.__version__}   speed-up")
    for name, (ours, theirs) in times.items():
        print(f"{name:<23}{ours:11.2f}{theirs:14.2f}{theirs / ours:11.2f}")
    draw(images, errors, gradient, share, components, times, options.out)
    print(f"\nfigure written to {options.out}")


if __name__ == "__main__":
    main()
