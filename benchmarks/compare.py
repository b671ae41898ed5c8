"""Time linalgad against numpy, scipy, torch and jax, side by side and in one run.

Usage: python benchmarks/compare.py [--suite batched|single4|large|tall|vjp|import] [options]

Every library lives in a process of its own, with the same number of threads. Each case goes round the processes
several times, and the shortest time of each counts, so that a disturbance of the machine hits one round and not one
library. What a library cannot do in the time limit, or refuses, is a word in its cell.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import _peers
import _report
import _rounds
import sizes

SUITES = ("batched", "single4", "large", "tall", "vjp", "import")
SUITE_PEERS = {"single4": ("numpy",), "large": ("scipy",), "vjp": ("torch", "jax")}
DTYPES = ("float32", "float64", "complex64", "complex128")
IMPORT_ROUNDS = 15
TIMED_IMPORT = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def words(text):
    """Split a comma-separated list from the command line."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def numbers(text):
    """Read a comma-separated list of whole numbers from the command line."""
    return tuple(int(word) for word in words(text))


def parse(arguments):
    """Options; every list is checked against what exists."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--suite", choices=SUITES, default="batched")
    parser.add_argument("--ops", type=words, help="comma-separated; default all of the suite")
    parser.add_argument("--n", type=numbers, help="core sizes, comma-separated")
    parser.add_argument("--batch", type=int, help="matrices in a stack; default from sizes.py")
    parser.add_argument("--dtypes", type=words, default=("float64",))
    parser.add_argument("--peers", type=words, help=f"some of {','.join(_peers.PEERS)}")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turn", type=float, default=0.1, help="seconds of a library's turn in a round")
    parser.add_argument("--time-limit", type=float, help="seconds for a library and a case; default 20, large 60")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--text", type=Path, metavar="FILE", help="what is printed, once more")
    parser.add_argument("--figure", type=Path, metavar="FILE", help="PNG or SVG")
    parser.add_argument("--verbose", action="store_true", help="let the libraries print")
    options = parser.parse_args(arguments)
    options.peers = options.peers or SUITE_PEERS.get(options.suite, _peers.PEERS)
    options.time_limit = options.time_limit or (60 if options.suite == "large" else 20)
    options.ops = options.ops or (sizes.TALL_OPS if options.suite == "tall" else sizes.OPS)
    for given, known in ((options.ops, sizes.OPS), (options.dtypes, DTYPES), (options.peers, _peers.PEERS)):
        unknown = sorted(set(given) - set(known))
        if unknown:
            parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    return options


def shapes(options, op):
    """Shapes of the suite for one op."""
    if options.suite == "single4":
        return [(sizes.SINGLE_N, sizes.SINGLE_N)]
    if options.suite == "large":
        return [(n, n) for n in options.n or (sizes.LARGE_N,)]
    if options.suite == "tall":
        return [(options.batch or sizes.TALL_BATCH, m, n) for m, n in sizes.TALL_SHAPES]
    default = sizes.VJP_N if options.suite == "vjp" else sizes.BATCHED_N
    return [(options.batch or sizes.batch_for(op, n), n, n) for n in options.n or default]


def cases(options):
    """All cases of the suite, each with the number of matrices in it."""
    for dtype in options.dtypes:
        for op in options.ops:
            for shape in shapes(options, op):
                matrices = shape[0] if len(shape) == 3 else 1
                yield {"op": op, "shape": shape, "dtype": dtype, "vjp": options.suite == "vjp"}, matrices


def describe_libraries(workers):
    """Version and BLAS of each library as its process sees them."""
    result = {}
    for worker in workers:
        details = worker.ask("describe", _rounds.START_SECONDS)
        result[worker.name] = {"version": worker.info["version"]} | details
    return result


class Output:
    """Prints lines at once, and keeps them."""

    def __init__(self):
        self.lines = []

    def __call__(self, lines):
        """Print some lines."""
        self.lines += lines
        print(*lines, sep="\n", flush=True)


def run_suite(options, output):
    """Time all the cases; the table is printed as it grows."""
    about = _report.machine()
    workers, absent = _rounds.start_workers((_peers.OURS, *options.peers), options.threads, options.verbose)
    if options.suite == "vjp":
        absent |= {worker.name: "has no vjp" for worker in workers if not worker.info["vjp"]}
    names = [worker.name for worker in workers]
    report = {
        "suite": options.suite,
        "threads": options.threads,
        "rounds": options.rounds,
        "machine": about,
        "libraries": describe_libraries(workers),
        "absent": absent,
        "rows": [],
    }
    output([*_report.describe(report), "", *_report.table([], names)])
    try:
        for case, matrices in cases(options):
            cells = _rounds.run_case(
                workers, case, rounds=options.rounds, turn_seconds=options.turn, time_limit=options.time_limit
            )
            row = {"op": case["op"], "shape": case["shape"], "dtype": case["dtype"], "matrices": matrices}
            report["rows"].append(row | {"cells": cells})
            output(_report.table(report["rows"][-1:], names)[-1:])
    finally:
        for worker in workers:
            worker.stop()
    output(_report.summary(report["rows"]))
    messages = _report.errors(report["rows"])
    if messages:
        output(["", "errors:", *messages])
    return report


def run_import(options, output):
    """Seconds that ``import linalgad`` takes, against ``import scipy.linalg``, each in fresh processes in turn."""
    names = ("scipy.linalg", "linalgad")
    # the interpreter leaves out the current directory, which may hold a source tree without compiled modules
    command = [sys.executable, "-P", "-c"]
    times = {name: [] for name in names}
    for _ in range(IMPORT_ROUNDS):
        for name in names:
            done = subprocess.run(
                [*command, TIMED_IMPORT.format(name)], capture_output=True, text=True, timeout=options.time_limit
            )
            if done.returncode:
                reason = done.stderr.strip().splitlines()[-1]
                raise SystemExit(f"import {name} fails: {reason}")
            times[name].append(float(done.stdout))
    best = {name: min(values) for name, values in times.items()}
    extra = best["linalgad"] - best["scipy.linalg"]
    output([f"import {name:<14}{1e3 * best[name]:8.1f} ms" for name in names])
    output([f"difference           {1e3 * extra:8.1f} ms (shortest of {IMPORT_ROUNDS} fresh processes each)"])
    return {"suite": "import", "machine": _report.machine(), "seconds": times, "extra_seconds": extra}


def main(arguments=None):
    """Run one suite and write what was asked for."""
    options = parse(arguments)
    _rounds.set_environment(options.threads)
    # the libraries' processes import these modules by name, from whatever directory this was started
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, (str(Path(__file__).resolve().parent), os.environ.get("PYTHONPATH")))
    )
    output = Output()
    report = run_import(options, output) if options.suite == "import" else run_suite(options, output)
    if options.text:
        options.text.write_text("\n".join(output.lines) + "\n")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    if options.figure and options.suite != "import":
        _report.figure(report, options.figure)


if __name__ == "__main__":
    main()
