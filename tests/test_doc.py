"""The documentation names everything that is public, once."""

import re
from collections import Counter
from pathlib import Path

import pytest

import linalgad

DOC = Path(__file__).resolve().parents[1] / "doc"
BENCHMARKS = DOC.parent / "benchmarks"
DIRECTIVE = re.compile(r"^\.\. auto(?:function|exception):: linalgad\.(\w+)$", re.MULTILINE)
DOCUMENTED = Counter(name for page in DOC.rglob("*.rst") for name in DIRECTIVE.findall(page.read_text()))


@pytest.mark.parametrize("name", linalgad.__all__)
def test_public_name_is_documented_once(name):
    assert DOCUMENTED[name] == 1


def test_nothing_is_documented_that_does_not_exist():
    assert sorted(set(DOCUMENTED) - set(linalgad.__all__)) == []


@pytest.mark.parametrize("page", sorted(DOC.glob("ops/*.rst")), ids=lambda page: page.stem)
def test_stem_with_a_page_has_a_module_and_a_benchmark(page):
    assert (BENCHMARKS / f"bench_{page.stem}.py").exists()
    assert (DOC.parent / "linalgad" / f"_{page.stem}.py").exists()
