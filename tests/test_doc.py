"""The documentation names everything that is public, once, and its examples give what they show."""

import doctest
import re
from collections import Counter
from pathlib import Path

import pytest

import linalgad
from linalgad import grad

DOC = Path(__file__).resolve().parents[1] / "doc"
BENCHMARKS = DOC.parent / "benchmarks"
DIRECTIVE = re.compile(r"^\.\. auto(?:function|exception):: linalgad\.(\w+)$", re.MULTILINE)
PAGES = sorted(DOC.rglob("*.rst"))
DOCUMENTED = Counter(name for page in PAGES for name in DIRECTIVE.findall(page.read_text()))


@pytest.mark.parametrize("name", linalgad.__all__)
def test_public_name_is_documented_once(name):
    assert DOCUMENTED[name] == 1


def test_nothing_is_documented_that_does_not_exist():
    assert sorted(set(DOCUMENTED) - set(linalgad.__all__)) == []


@pytest.mark.parametrize("page", sorted(DOC.glob("ops/*.rst")), ids=lambda page: page.stem)
def test_stem_with_a_page_has_a_module_and_a_benchmark(page):
    assert (BENCHMARKS / f"bench_{page.stem}.py").exists()
    assert (DOC.parent / "linalgad" / f"_{page.stem}.py").exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_of_page(page, capsys):
    failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert failed == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("module", "name"),
    [(module, name) for module in (linalgad, grad) for name in module.__all__],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_examples_of_docstring(module, name, capsys):
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for example in doctest.DocTestFinder(recurse=False).find(getattr(module, name), name, globs={}):
        runner.run(example)
    assert runner.failures == 0, capsys.readouterr().out
