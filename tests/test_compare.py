"""The comparison script runs, and counts as it says."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def report_module():
    # by path: the folder is not a part of the package
    sys.path.insert(0, str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location("compare_report", BENCHMARKS / "_report.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.remove(str(BENCHMARKS))
    return module


def row(**seconds):
    cells = {name: {"seconds": value} if value else {"error": "timeout"} for name, value in seconds.items()}
    return {"op": "svd", "shape": (4, 2, 2), "dtype": "float64", "matrices": 4, "cells": cells}


def test_ratio_is_that_of_the_fastest_peer(report_module):
    assert report_module.ratio(row(linalgad=2.0, numpy=8.0, scipy=3.0, torch=None)) == 1.5
    assert report_module.ratio(row(linalgad=2.0, numpy=8.0, scipy=3.0), "numpy") == 4.0


@pytest.mark.parametrize("cells", [{"linalgad": None, "numpy": 1.0}, {"linalgad": 1.0, "torch": None}])
def test_no_ratio_without_both_sides(report_module, cells):
    assert report_module.ratio(row(**cells)) is None


def test_geometric_mean(report_module):
    assert report_module.geometric_mean([0.5, 8.0]) == 2.0


def test_table_has_microseconds_for_each_matrix_and_words_for_errors(report_module):
    line = report_module.table([row(linalgad=2e-6, numpy=8e-6, torch=None)], ["linalgad", "numpy", "torch"])[-1]
    assert line.split() == ["svd", "float64", "4x2x2", "0.500", "2.00", "timeout", "linalgad", "4.00"]


def test_script_times_both_libraries(tmp_path):
    target = tmp_path / "compare.json"
    command = [sys.executable, str(BENCHMARKS / "compare.py"), "--ops", "cholesky", "--n", "2", "--batch", "8"]
    command += ["--peers", "numpy", "--rounds", "1", "--turn", "0.01", "--json", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(target.read_text())
    (measured,) = report["rows"]
    assert set(measured["cells"]) == {"linalgad", "numpy"}
    assert all(cell["seconds"] > 0 for cell in measured["cells"].values())
