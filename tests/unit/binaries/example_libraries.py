"""Libraries compiled for the tests, in the layouts that linkers give them."""

import subprocess
from pathlib import Path

import numpy as np

from trimtab.binaries.elf.functions import Functions
from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import Elf

# Functions as far apart as pages, so that removed ones leave whole pages.
FUNCTIONS = 64
C_SOURCE = """
#include <stdlib.h>
int initialised = 11, zeroed[3000];
const int table[4] = {2, 3, 5, 7};
static __thread int per_thread = 5;
static int constructed;
__attribute__((constructor)) static void construct(void) { constructed = 100; }
static int chosen_implementation(void) { return 42; }
static void *resolve(void) { return chosen_implementation; }
int by_ifunc(void) __attribute__((ifunc("resolve")));
int state(void) {
  for (int i = 0; i < 3000; i++) if (zeroed[i]) return -1;
  return initialised + table[3] + per_thread++ + constructed + by_ifunc() + abs(-1000);
}
""" + "\n".join(
    f"int function_{i}(int x) {{ return x * {i + 2} + {i * i}; }}" for i in range(FUNCTIONS)
)
CXX_SOURCE = """
#include <stdexcept>
#include <string>
struct Counted { static int alive; Counted() { alive++; } ~Counted() { alive--; } };
int Counted::alive = 0;
extern "C" int thrown(int x) {
  Counted counted;
  if (x > 3) throw std::runtime_error("too large: " + std::to_string(x));
  return x;
}
extern "C" int caught(int x) {
  try { return thrown(x); }
  catch (const std::exception &error) { return -(int)std::string(error.what()).size(); }
}
extern "C" int alive() { return Counted::alive; }
""" + "\n".join(f'extern "C" int function_{i}(int x) {{ return x - {i}; }}' for i in range(32))
CODE_FLAGS = ["-O1", "-g", "-shared", "-fPIC", "-falign-functions=4096"]
LAYOUTS = {
    "default": [],
    "huge_pages": ["-Wl,-z,max-page-size=0x200000"],
    "one_segment": ["-Wl,-z,noseparate-code"],
    "bind_now": ["-Wl,-z,now", "-Wl,-z,relro"],
    "gold": ["-fuse-ld=gold"],
    "stripped": ["-s"],
}


def compile_library(path: Path, source: str, *flags: str) -> Path:
    """Compile `source` (C, or C++ where the path says so) into the library `path`."""
    language = "c++" if "cxx" in path.name else "c"
    subprocess.run(
        ["g++", "-x", language, "-", *CODE_FLAGS, *flags, "-o", str(path)],
        input=source,
        text=True,
        check=True,
    )
    return path


def functions_expected(i: int, x: int) -> int:
    """What `function_i(x)` of the C library returns."""
    return x * (i + 2) + i * i


PACKAGES = Path(np.__file__).parents[1]
REAL = [
    "torch/lib/libc10.so",
    "torch/lib/libgomp.so.1",
    "torch/lib/libtorch_global_deps.so",
    "numpy/linalg/_umath_linalg*.so",
    "sklearn/_isotonic*.so",
    "psutil/_psutil_linux*.so",
]


def real_libraries() -> list[Path]:
    return [path for pattern in REAL for path in sorted(PACKAGES.glob(pattern))]


def marks(elf: Elf, functions: Functions, *kept: str) -> np.ndarray:
    """Mark the functions of these names."""
    names = function_names(elf)
    return np.array([names.of(int(address)) in kept for address in functions.start])
