"""The public surface, and the architecture: what imports what, and that every op has all its files."""
import ast
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from _process import run

import linalgad as la

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "linalgad"
POLICY = {"lanes", "set_lanes", "get_lanes", "workspace_info", "clear_workspace", "show_config", "LinAlgError"}
OPS = [name for name in la.__all__ if name not in POLICY]
STEMS = sorted(p.stem[1:] for p in PACKAGE.glob("_[a-z]*.py"))
FOREIGN = ("jax", "torch", "autograd", "dask", "cupy", "matplotlib", "pytest", "sklearn")

# Layer -> what it may import: layers, or single modules. The driver of the lanes, the pool and the compact tier with
# their flags are in kernel modules that _lib configures; nothing else in _lib touches kernels.
ALLOWED = {
    "_kernels": {"_kernels"},
    "_compact": {"_compact"},
    "_lib": {"_lib", "_kernels._lanes", "_kernels._pool", "_kernels._compact", "_compact"},
    "public": {"_lib", "_kernels", "_compact"},
    "index": {"public", "_lib"},
    # The forward functions only through grad/_forward.py, by name; products, passes, programs and determinants of given
    # factors have no public function.
    "grad": {"grad", "_lib", "_kernels._lanes", "_kernels._pool", "_kernels._matmul", "_kernels._stacks",
             "_kernels._program", "_kernels._det"},
    "interop": {"interop", "grad", "_lib"},
}


# ---------------------------------------------------------------- names and signatures
def test_all_is_what_the_docstring_lists():
    """The index of families in the module's docstring is `__all__`."""
    listed = [name for line in la.__doc__.splitlines() if line.startswith("    ") for name in re.findall(r"\w+", line)]
    assert sorted(listed) == sorted(la.__all__)
    assert len(set(listed)) == len(listed)


def test_all_exists_and_nothing_else_is_public():
    public = {n for n, v in vars(la).items() if not n.startswith("_") and not inspect.ismodule(v)}
    assert public == set(la.__all__)


@pytest.mark.parametrize("name", OPS)
def test_policy_keywords(name):
    """lanes and out on every op, errors on those that can raise; all by keyword, with the common defaults."""
    parameters = inspect.signature(getattr(la, name)).parameters
    policy = {"lanes": None, "out": None} | ({} if name.endswith("_ex") else {"errors": "raise"})
    assert {k: parameters[k].default for k in policy} == policy
    assert all(parameters[k].kind is inspect.Parameter.KEYWORD_ONLY for k in policy)
    assert "errors" in policy or "errors" not in parameters


@pytest.mark.parametrize("name", [n for n in OPS if n.endswith("_ex")])
def test_ex_form_has_the_keywords_of_its_op(name):
    plain = dict(inspect.signature(getattr(la, name.removesuffix("_ex"))).parameters)
    plain.pop("errors")
    assert list(inspect.signature(getattr(la, name)).parameters) == list(plain)


@pytest.mark.parametrize("name", OPS)
def test_array_arguments_come_first(name):
    """The leading parameters are arrays without defaults, as in numpy.linalg and scipy.linalg."""
    first = next(iter(inspect.signature(getattr(la, name)).parameters.values()))
    assert first.default is inspect.Parameter.empty
    assert first.name in {"a", "c", "lu_and_piv"}


@pytest.mark.parametrize("name", ["svd", "eigh", "eig", "qr", "slogdet"])
def test_results_have_the_fields_of_numpy(name):
    assert getattr(la, name)(np.eye(2))._fields == getattr(np.linalg, name)(np.eye(2))._fields


@pytest.mark.parametrize("fn", [la.solve_triangular, la.solve])
def test_keywords_are_keywords(fn):
    with pytest.raises(TypeError):
        fn(np.eye(2), np.eye(2), True)


def test_version_is_the_package_version():
    text = (ROOT / "pyproject.toml").read_text()
    assert re.search(r'^version = "(.*)"', text, re.MULTILINE)[1] == la.__version__


# ---------------------------------------------------------------- imports
def test_import_brings_no_framework():
    """`import linalgad`, and its derivatives, load NumPy and SciPy only."""
    code = f"import sys, linalgad, linalgad.grad\nprint(*[m for m in {FOREIGN!r} if m in sys.modules])\n"
    assert run("", prelude=code) == []


def layer_of(path):
    """The layer of a source file."""
    folder = path.relative_to(PACKAGE).parts[0]
    return folder if folder in ALLOWED else "index" if folder == "__init__.py" else "public"


def imported(path):
    """Modules of the package that a source file names in import statements, relative to the package."""
    here = ("linalgad", *path.relative_to(PACKAGE).parent.parts)
    if path.suffix == ".py":
        nodes = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom)]
        found = [(n.level, n.module or "", [a.name for a in n.names]) for n in nodes]
    else:
        found = [(len(dots), module, re.findall(r"\w+", names)) for dots, module, names in re.findall(
            r"^from (\.+)([\w.]*) c?import \(?([^)\n]*)", path.read_text(), re.MULTILINE)]
    for level, module, names in found:
        if level:
            base = (*here[1:len(here) - level + 1], *filter(None, module.split(".")))
            folder = PACKAGE.joinpath(*base)
            yield from (".".join((*base, n) if folder.is_dir() and [*folder.glob(f"{n}.*")] else base) for n in names)


def layer_of_module(name):
    first = name.split(".")[0]
    return first if first in ALLOWED else "public"


SOURCES = sorted(p for e in ("py", "pyx", "pxd") for p in PACKAGE.rglob(f"*.{e}"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_one_way(path):
    """_kernels <- _lib <- public functions <- grad <- interop."""
    allowed = ALLOWED[layer_of(path)]
    assert [m for m in imported(path) if layer_of_module(m) not in allowed
            and not any(m == a or m.startswith(a + ".") for a in allowed)] == []


@pytest.mark.parametrize("path", [p for p in SOURCES if p.suffix != ".py"], ids=lambda p: p.name)
def test_only_the_driver_opens_regions_and_only_the_pool_allocates(path):
    """One parallel region and one pool."""
    text = path.read_text()
    assert path.stem == "_lanes" or not re.search(r"\bprange\b|cython\.parallel|openmp", text)
    assert path.stem == "_pool" or not re.search(r"\bmalloc\b|\bcalloc\b|PyArray_(EMPTY|ZEROS|SimpleNew)", text)


@pytest.mark.parametrize("path", [p for p in SOURCES if layer_of(p) == "public"], ids=lambda p: p.name)
def test_public_functions_leave_argument_errors_to_validate(path):
    """TypeError and ValueError about arguments come from _lib/_validate.py alone."""
    assert not re.search(r"raise (TypeError|ValueError)", path.read_text())


# ---------------------------------------------------------------- one op, one stem
@pytest.mark.parametrize("stem", STEMS)
@pytest.mark.parametrize("place", ["linalgad/_kernels/_{}.pyx", "linalgad/grad/_{}.py", "tests/test_{}.py",
                                   "tests/grad/test_{}.py", "benchmarks/bench_{}.py", "doc/ops/{}.rst"])
def test_stem_has_all_its_files(stem, place):
    """A decomposition is one stem in every layer; a missing file would be a missing feature."""
    assert (ROOT / place.format(stem)).exists()


@pytest.mark.parametrize("name", OPS)
def test_op_is_defined_in_a_stem_that_lists_it(name):
    """The public name comes from a stem module whose `__all__` has it."""
    module = inspect.getmodule(getattr(la, name))
    assert module.__name__.removeprefix("linalgad._") in STEMS
    assert name in module.__all__


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_files_stay_short(path):
    """A file that outgrows about 400 lines splits by function."""
    assert len(path.read_text().splitlines()) <= 460
