"""Every kernel header compiles with each compiler that is found, as SIMD code and as the code of a CUDA thread."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from compact import _nvrtc

COMPACT = Path(__file__).resolve().parents[2] / "linalgad" / "_compact"
# those that treat one matrix with SIMD along its rows, or feed SIMD kernels, are no code for a CUDA thread
CPU_ONLY = ("simd.hpp", "granule.hpp", "layout.hpp", "direct.hpp", "half.hpp", "blocked.hpp", "blocked_lu.hpp",
            "blocked_cholesky.hpp", "secular.hpp")
HEADERS = sorted(p.name for p in COMPACT.glob("*.hpp") if p.name not in CPU_ONLY)
SIMD = ["-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-psabi", "-Wno-unused-function",
        "-Wno-unknown-pragmas", "-x", "c++"]
COMPILERS = {
    "g++": ["g++", *SIMD],
    "clang++": ["clang++", *SIMD, "-Wno-bitwise-instead-of-logical"],
    "aarch64": ["aarch64-linux-gnu-g++", *SIMD],
    "nvcc": [shutil.which("nvcc") or f"{os.environ.get('CUDA_HOME', '/usr/local/cuda')}/bin/nvcc", "-std=c++17",
             "-arch=sm_80", "-cubin", "-o", "/dev/null", "-x", "cu"],
    "nvrtc": [sys.executable, _nvrtc.__file__],
}
CUDA = ("nvcc", "nvrtc")
FOUND = [name for name, command in COMPILERS.items()
         if (_nvrtc.found() if name == "nvrtc" else shutil.which(command[0]))]
# ptrdiff_t is built into the CUDA compilers, and comes with layout.hpp on the CPU
SOURCE = """
#ifndef __CUDACC__
#include <stddef.h>
#endif
#include "{header}"
#ifdef LG_CUDA
#define KERNEL extern "C" __global__
#else
#define KERNEL extern "C"
#endif
{body}
"""
# one instantiation of each header's entry points, for the numbers of a single matrix
BODIES = {
    "cholesky.hpp": "r[0] = (int)lg::cholesky<V>(a, n);",
    "triangular.hpp": "lg::solve_lower<true>(a, n, b, n); lg::solve_upper<false>(a, n, b, n); "
                      "lg::conjugate(b, n, n); r[0] = (int)lg::first_zero(a, n); V t[3][3], d[3], z[3][2], w[3][3]; "
                      "lg::load_block(t, a); lg::load_block(z, b); r[1] = lg::invert_diagonal(t, d); "
                      "lg::substitute<true, false, false>(t, d, z); lg::conjugate(z); lg::store_block(z, b); "
                      "lg::invert_lower<false>(t, d, w); lg::store_block(w, c);",
    "lu.hpp": "r[0] = (int)lg::lu(a, n, n, p); lg::invert_lower(a.t(), n, c, p[0]); lg::restore_rows(c, n, n, p); "
              "p[2] = lg::see(p[0], y[0]); y[0] = lg::marked(y[1], p[2]); "
              "lg::exchange_numbers(p, n, n, p + n);",
    "det.hpp": "y[0] = lg::sign_and_logarithm(lg::lu_determinant([a](int i) { return a(i, i); }, n, p), p[0]); "
               "r[0] = (int)lg::badly_scaled(a, n, n); r[1] = (int)lg::may_vanish(a, n); "
               "r[2] = lg::vanishing([a](int i) { return a(i, i); }, n);",
    "lu_small.hpp": "lg::small_lu<3, V> f; V z[3][2]; lg::load_block(f.x, a); lg::transpose(f.x); "
                    "r[0] = f.factor<true>() + f.factor<false>(); f.inverse(f.x); f.solve(z); lg::store_block(z, b);",
    "det_small.hpp": "V d2[2][2], d3[3][3]; lg::load_block(d2, a); lg::load_block(d3, b); "
                     "r[0] = lg::any(lg::determinant(d2, y[0])) + lg::any(lg::determinant(d3, y[1]));",
    "cholesky_solve.hpp": "lg::solve_factored(a, n, b, n, true); lg::gram(a, n, c); lg::small_factor<3, V> f; "
                          "V z[3][2]; lg::load_block(f.x, a); r[0] = lg::invert_diagonal(f.x, f.recip); "
                          "lg::load_block(z, b); f.solve(z, false); f.inverse(f.x); lg::store_block(z, b);",
    "qr.hpp": "lg::qr(a, n, n, y); lg::qr_form(a, y, n, n, b, n); lg::qr_triangle(a, c, n, n); "
              "lg::qr_turn(c, n, n, b, n);",
    "matmul.hpp": "lg::multiply(a, b, c, n, n, n);",
    "eigh.hpp": "lg::sweeps<P> k; k.c = k.s = p; lg::tridiagonal(x, n, p, p + n, y, y + n, y + 2 * n); "
                "r[0] = (int)lg::ql_iteration<true>(p, p + n, n, lg::basis<P>{p, n, 4}, k);",
    "svd.hpp": "lg::sweeps<P> k; k.c = k.s = p; lg::basis<P> z{p, n, 4}; "
               "lg::bidiagonal(lg::bidiagonal_space<V>{x, x, y, y, y, y + n, y + 2 * n}, n, p, p + n); "
               "r[0] = (int)lg::qr_iteration<true>(p, p + n, n, z, z, k, k);",
    "jacobi.hpp": "r[0] = (int)lg::jacobi_svd<4>(x, y, p) + (int)lg::jacobi_eigh<3>(x, y, p);",
    "spectral.hpp": "V phase[2]; lg::back_transform<2>(lg::reflectors<V>{x, n, 1, n - 1, n, y}, y); "
                    "lg::fix_phases<2>(y, n, phase);",
}
ARGUMENTS = ("typedef lg::{number} V; typedef lg::traits<V>::real P; "
             "lg::tile<V> a = {{x, n, 1}}, b = {{x + n * n, n, 1}}, c = {{x + 2 * n * n, n, 1}}; V *y = x + 3 * n * n; "
             "(void)a, (void)b, (void)c, (void)y, (void)r, (void)p; static_assert(sizeof(P) > 0, \"\");")


def _source(header):
    numbers = {"double": "traits<double>::real", "cx": "cx<float>"}
    kernels = [
        f"KERNEL void k_{k}(lg::{number} *x, lg::traits<lg::{number}>::real *p, int *r, int n) "
        f"{{ {ARGUMENTS.format(number=number)} {BODIES.get(header, '')} }}"
        for k, number in numbers.items()
    ]
    include = header if header in BODIES else "block.hpp"
    return SOURCE.format(header=include, body="\n".join(kernels)) + f'#include "{header}"\n'


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("compiler", FOUND)
def test_header_compiles(compiler, header, tmp_path):
    source = tmp_path / "kernel.cpp"
    source.write_text(_source(header))
    command = [*COMPILERS[compiler], f"-I{COMPACT}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]


@pytest.mark.parametrize("compiler", [name for name in FOUND if name not in CUDA])
def test_blocked_kernels_compile(compiler, tmp_path):
    source = tmp_path / "kernel.cpp"
    source.write_text('#include "blocked_lu.hpp"\n#include "blocked_cholesky.hpp"\nusing namespace lg;\n' + "\n".join(
        f"int f{i}(rows<{v}> a, rows<{v}> x, int n, int *swap, char *ws) {{\n"
        "    const int info = factor(a, n, n, swap, arena{ws});\n"
        "    solve_rows<forward, false, false>(a, n, x, 1);\n"
        "    solve_row<backward, true>(a, n, x);\n"
        "    factor_definite(x, n);\n"
        "    load_rows(a, ws, 1, 1, n, n);\n"
        "    store_rows(a, ws, 1, 1, n, n);\n"
        "    return info;\n}" for i, v in enumerate(("pack<double>", "cx<pack<float>>"))))
    command = [*COMPILERS[compiler], f"-I{COMPACT}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]


def test_the_compiler_of_this_build_is_found():
    assert FOUND
