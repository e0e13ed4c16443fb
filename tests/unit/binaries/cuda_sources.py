"""CUDA programs compiled for the tests, and what NVIDIA's own tools say about GPU code."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from trimtab.cli.doctor import missing

CUDA = Path(__file__).parents[3] / "build/cuda"
TOOLKIT = CUDA / "nvidia/cu13"
PTXAS_12 = CUDA / "nvidia/cuda_nvcc/bin/ptxas"
needs_cuda_tools = pytest.mark.skipif(bool(reason := missing("NVIDIA's compiler")), reason=reason)

# Kernels, device functions of their own, globals of each kind, and nothing called by pointer.
KERNELS = """
__device__ int counter;
__device__ int first_primes[4] = {2, 3, 5, 7};
__constant__ float table[16];
__device__ __noinline__ float helper(float x) { return x * table[3] + 1.f; }
extern "C" __global__ void scale(float *p, float f) { p[threadIdx.x] = helper(*p) * f; }
template <class T> __global__ void add(T *p, T v) { p[threadIdx.x] += v; counter++; }
template __global__ void add<double>(double *, double);
template __global__ void add<int>(int *, int);
__global__ void prime(int *p) { *p = first_primes[*p]; }
"""
GLOBALS_ONLY = "__device__ int counter = 3; __constant__ float table[16];"
# In relocatable code each function has a section of its own.
CALLS = """
extern __device__ float external(float);
__device__ __noinline__ float one(float x) { return x * 3.f + 1.f; }
__device__ __noinline__ float two(float x) { return one(x) * 5.f; }
__global__ void calls_nothing(float *p) { *p *= 2; }
__global__ void calls_one(float *p) { *p = one(*p); }
__global__ void calls_two(float *p) { *p = two(*p); }
__global__ void calls_external(float *p) { *p = external(*p); }
"""
EXTERNAL = "__device__ __noinline__ float external(float x) { return x + 7.f; }"
POINTERS = """
__device__ __noinline__ float one(float x) { return x * 3.f + 1.f; }
__device__ __noinline__ float two(float x) { return x * 5.f; }
typedef float (*Function)(float);
__device__ Function choice[2] = {one, two};
__global__ void calls_nothing(float *p) { *p *= 2; }
__global__ void calls_pointer(float *p, int i) { *p = choice[i](*p); }
"""
_SM_80 = "-gencode=arch=compute_80,code=sm_80"
_SM_90A = "-gencode=arch=compute_90a,code=sm_90a"
_WITH_PTX = "-gencode=arch=compute_80,code=[sm_80,compute_80]"
LAYOUTS = {
    "compressed_none": ["--compress-mode=none", _SM_90A, _WITH_PTX],
    "compressed_default": ["--compress-mode=default", _SM_90A, _WITH_PTX],
    "compressed_size": ["--compress-mode=size", _SM_90A, _WITH_PTX],
    "compressed_speed": ["--compress-mode=speed", "-Xfatbin=-compress-all", _SM_90A, _WITH_PTX],
    "compressed_balance": ["--compress-mode=balance", _SM_90A, _WITH_PTX],
    "family": ["-gencode=arch=compute_100f,code=sm_100f", _SM_80],
    "debug": ["-G", _SM_80],
    "relocatable": ["-rdc=true", "-gencode=arch=compute_80,code=[sm_80,compute_80]"],
    "ptx_only": ["-gencode=arch=compute_80,code=compute_80"],
    "named": ["-Xfatbin=-ident=" + "long" * 50, _SM_80],
    "lto": ["-rdc=true", "-gencode=arch=compute_80,code=[lto_80,compute_80]"],
}


def nvcc(output: Path, source: str, *flags: str) -> Path:
    """Compile CUDA C++ into `output`, of the kind that the flags ask for."""
    path = output.with_name(f"{output.stem}.cu")
    path.write_text(source)
    run("nvcc", *flags, "-o", str(output), str(path))
    return output


def library(output: Path, layout: str, source: str = KERNELS) -> Path:
    """Compile CUDA C++ into a shared library in one of the layouts."""
    shared = ["-shared", "-Xcompiler=-fPIC", "-cudart=none"]
    return nvcc(output, source, *shared, *LAYOUTS[layout])


def cubin(output: Path, source: str, architecture: str, *flags: str) -> bytes:
    """Compile CUDA C++ into a cubin for one architecture, like sm_90a."""
    return nvcc(output, source, "-cubin", f"-arch={architecture}", *flags).read_bytes()


def cubin_of_cuda_12(folder: Path, architecture: str) -> bytes:
    """Return the cubin that CUDA 12's assembler makes of KERNELS."""
    ptx = nvcc(folder / "kernels.ptx", KERNELS, "-ptx", "-arch=compute_80").read_text()
    ptx = re.sub(r"^\.version .*", ".version 8.8", ptx, flags=re.MULTILINE)
    ptx = re.sub(r"^\.target .*", f".target {architecture}", ptx, flags=re.MULTILINE)
    (folder / "kernels.ptx").write_text(ptx)
    output = folder / f"cuda12_{architecture}.cubin"
    command = [PTXAS_12, f"-arch={architecture}", folder / "kernels.ptx", "-o", output]
    subprocess.run(command, check=True, capture_output=True)
    return output.read_bytes()


def run(tool: str, *arguments: str) -> str:
    """Run one of the CUDA 13 tools and return its output."""
    done = subprocess.run(
        [TOOLKIT / "bin" / tool, *arguments], capture_output=True, text=True, check=False
    )
    # cuobjdump leaves with 255 where it finds nothing to list.
    assert done.returncode == 0 or "does not contain device code" in done.stderr, done.stderr
    return done.stdout


def listed_elements(path: Path) -> Counter[tuple[str, str]]:
    """Return cuobjdump's list: how many elements of each kind (ELF, PTX) and architecture."""
    lines = run("cuobjdump", "-all", "--list-elf", "--list-ptx", str(path))
    return Counter(re.findall(r"^(ELF|PTX) file.*\.(sm_\w+)\.(?:cubin|ptx)$", lines, re.MULTILINE))


def listed_symbols(path: Path) -> list[tuple[str, str, str, str]]:
    """Return cuobjdump's symbols: type, other (ENTRY), section name, symbol name."""
    symbols, sections = [], {}
    for line in run("cuobjdump", "-all", "-elf", str(path)).splitlines():
        words = line.split()
        if line.startswith("Sections:"):
            sections = {"0": ""}
        elif re.match(r" +[0-9a-f]+ +[0-9a-f]+ +[0-9a-f]+ +[0-9a-f]+ +[0-9a-f]+ +\w+ ", line):
            sections[words[0]] = words[-1]
        elif re.match(r" +(0x)?[0-9a-f]+ +(0x)?[0-9a-f]+ +(0x)?[0-9a-f]+ +[A-Z_]+ +[A-Z]+ ", line):
            section = sections.get(words[7].removeprefix("0x"), "")
            symbols.append((words[3], words[6], section, " ".join(words[8:])))
    return symbols
