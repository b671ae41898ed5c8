"""A command that compiles CUDA source with NVRTC, which CuPy compiles kernels with: _nvrtc.py -I<folder> <file>.

NVRTC needs no GPU and no other part of the CUDA toolkit: `pip install nvidia-cuda-nvrtc-cu12` is enough.
"""
import ctypes
import ctypes.util
import importlib.util
import sys
from pathlib import Path


def found():
    """The path of NVRTC from NVIDIA's wheels or the system, or None."""
    spec = importlib.util.find_spec("nvidia")
    folders = spec.submodule_search_locations if spec else ()
    wheels = sorted(str(p) for folder in folders for p in Path(folder).glob("*/lib/libnvrtc.so.[0-9]*"))
    return wheels[-1] if wheels else ctypes.util.find_library("nvrtc")


def main(include, path):
    """Compile the file: 0, or the errors."""
    nvrtc = ctypes.CDLL(found())
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    source = Path(path).read_bytes()
    if nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"kernel.cu", 0, None, None):
        return "no program"
    options = [b"-std=c++17", b"-arch=sm_80", include.encode()]
    if not nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)):
        return 0
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    return "\n".join(line for line in log.value.decode().splitlines() if "error" in line)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
