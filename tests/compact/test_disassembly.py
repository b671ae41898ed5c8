"""The shipped library holds for each tier what its processor runs, and the hot loops are vector code of the tier."""
import re
import subprocess
from collections import Counter

import pytest
from compact._tiers import TIERS

from linalgad._kernels import _compact

FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
INSTRUCTION = re.compile(r"^\s*[0-9a-f]+:\s+(\S+)\s*(.*)$")
REGISTERS = {"zmm": re.compile("%zmm|%k[0-7]|%[xy]mm(1[6-9]|2[0-9]|3[01])"), "ymm": re.compile("%ymm")}
# mnemonics of AVX and later begin with v; of those with a v before it, verr and verw alone do not
VEX = re.compile("v(?!err|erw)")
PACKED = {"avx512": "%zmm", "avx2": "%ymm", "baseline": "%xmm"}
FUSED = re.compile(r"vfn?m(add|sub)\d+p[sd]$")
PRODUCT = re.compile(r"mulp[sd]$")
KERNELS = ("cholesky_op", "lu_update|lu<", "solve_lower_rows", "reflect", "multiply_rows", "apply_blocks",
           "tridiagonal<", "bidiagonal<", "jacobi_svd", "product_rows|solve_some", "roots<.*::sum")
NUMBERS = {"float": "pack<float>", "double": "pack<double>"}


@pytest.fixture(scope="module")
def functions():
    """Instructions of every function of the extension module, by demangled name."""
    text = subprocess.run(["objdump", "-d", "-C", "--no-show-raw-insn", _compact.__file__], check=True,
                          capture_output=True, text=True).stdout
    found, current = {}, None
    for line in text.splitlines():
        if head := FUNCTION.match(line):
            current = found.setdefault(head[1], [])
        elif current is not None and (code := INSTRUCTION.match(line)):
            current.append((code[1], code[2]))
    return found


def _tier_of(name):
    found = re.search(r"\blg_(avx512|avx2|baseline)\b", name)
    return found[1] if found else "baseline"


def _foreign(tier, code):
    """Instructions that a processor of the tier need not have."""
    if tier == "avx512":
        return []
    bad = [f"{op} {args}" for op, args in code if REGISTERS["zmm"].search(args)]
    return bad if tier == "avx2" else bad + [f"{op} {args}" for op, args in code if VEX.match(op)]


def test_every_tier_is_there(functions):
    assert {_tier_of(name) for name in functions} >= set(TIERS)


def test_no_function_needs_more_than_its_tier(functions):
    offenders = {name: bad[:3] for name, code in functions.items() if (bad := _foreign(_tier_of(name), code))}
    assert offenders == {}


def test_no_kernel_is_visible_to_the_linker():
    symbols = subprocess.run(["nm", "-C", _compact.__file__], check=True, capture_output=True, text=True).stdout
    shared = [line for line in symbols.splitlines() if re.search(r" [TWVuU] .*\blg_(avx|baseline)", line)]
    assert shared == []


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", TIERS)
def test_hot_loops_are_packed(functions, name, number, kernel):
    code = [c for f, instructions in functions.items() for c in instructions
            if _tier_of(f) == name and f"lg_{name}::" in f and re.search(kernel, f) and NUMBERS[number] in f
            and "cx<" not in f]
    suffix = "pd" if number == "double" else "ps"
    wanted = PRODUCT if name == "baseline" else FUSED
    kinds = Counter(PACKED[name] in args for op, args in code if wanted.search(op) and op.endswith(suffix))
    assert kinds[True] > 0
    assert kinds[False] == 0


@pytest.mark.parametrize("name", [t for t in TIERS if t != "baseline"])
def test_packs_are_not_copied_in_halves(functions, name):
    """What was written to the stack in halves cannot be read as a whole before it has reached the cache.

    GCC would copy a pair of packs like that, which made complex kernels three times slower.
    """
    hot = [f for f in functions if f"lg_{name}::" in f and re.search("lu_update|lu_panel|lu_step|solve_lower_rows", f)]
    assert any("cx<" in f for f in hot)
    for f in hot:
        written = {}
        for op, args in functions[f]:
            if op.startswith("vmov") and (store := re.fullmatch(r"%([xyz])mm\d+,(\S*\(%r[bs]p\))", args)):
                written[store[2]] = store[1]
            for place, size in re.findall(r"(-?(?:0x[0-9a-f]+)?\(%r[bs]p\)),%([xyz])mm", args):
                assert written.get(place, "z") >= size, (f, op, args)
