"""Sphinx configuration; build with ``sphinx-build -W doc doc/_build``."""

from pathlib import Path

import linalgad
from linalgad import grad

project = "linalgad"
author = "the linalgad developers"
copyright = f"2026, {author}"
version = release = linalgad.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
]
exclude_patterns = ["_build"]
default_role = "py:obj"
highlight_language = "python"

autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
# the references of a docstring are read beside it, not cited from its text
suppress_warnings = ["ref.citation", "ref.footnote"]

html_theme = "alabaster"
html_theme_options = {
    "description": "Batched dense linear algebra with derivatives",
    "fixed_sidebar": True,
    "page_width": "1080px",
    "sidebar_width": "240px",
}


def _public_names():
    """Every name of ``linalgad.__all__``, a line each, as autosummary takes them."""
    return "\n   ".join(sorted(linalgad.__all__, key=str.lower))


def _capabilities():
    """Table of what is differentiable, with the caveats."""
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: 18 14 8 8 8 44", ""]
    rows = [("function", "output", "jvp", "vjp", "second order", "caveat")]
    for row in grad.capabilities():
        marks = ("yes" if flag else "no" for flag in (row.jvp, row.vjp, row.second_order))
        rows.append((f"``{row.function}``", f"``{row.output}``", *marks, row.caveat))
    for row in rows:
        lines += [("     - " if k else "   * - ") + cell for k, cell in enumerate(row)]
    return "\n".join(lines)


MEASURED_HEAD = """\
Measured
~~~~~~~~

How many times as long as linalgad the others take, against the order of the matrices: ``--figure`` of the first table
below. Points for one order compare; points for two orders less so, since other work on the machine may have met one and
not the other.

.. figure:: figures/measured.svg
   :alt: Speed-up over NumPy, SciPy, PyTorch and JAX for sixteen functions, orders 2 to 256, float64

What ``--text`` wrote; times are microseconds for each matrix. The second table repeats some rows of the first with
longer turns.

.. code-block:: text
"""


def _measured():
    """What compare.py has left in measured.txt, if it has."""
    path = Path(__file__).parent / "measured.txt"
    if not path.exists():
        return ""
    lines = ("   " + line for line in path.read_text().splitlines())
    return "\n".join((MEASURED_HEAD, *lines, ""))


GENERATED = {
    "benchmarks": ("@MEASURED@", _measured),
    "reference": ("@PUBLIC_NAMES@", _public_names),
    "grad": ("@CAPABILITIES@", _capabilities),
}


def _fill_in(app, docname, source):
    """Put what the package knows about itself where a page asks for it."""
    if docname in GENERATED:
        mark, text = GENERATED[docname]
        source[0] = source[0].replace(mark, text())


def setup(app):
    """Connect the hooks."""
    app.connect("source-read", _fill_in)
