"""Sphinx configuration; build with ``sphinx-build -W doc doc/_build``."""

import linalgad

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


def _list_public_names(app, docname, source):
    """Put the names of ``linalgad.__all__`` where the reference page asks for them."""
    if docname == "reference":
        names = "\n   ".join(sorted(linalgad.__all__, key=str.lower))
        source[0] = source[0].replace("@PUBLIC_NAMES@", names)


def setup(app):
    """Connect the hooks."""
    app.connect("source-read", _list_public_names)
