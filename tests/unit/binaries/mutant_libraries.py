"""Small real libraries with all that linkers make of them, to be damaged."""

import struct
import subprocess
from pathlib import Path

FUNCTIONS = 24
C_SOURCE = r"""
#include <stdlib.h>
#include <string.h>
int initialised = 11, zeroed[3000];
const int table[4] = {2, 3, 5, 7};
static int (*chosen)(const char *) = atoi;
const char *const words[3] = {"one", "three", "seven"};
static __thread int per_thread = 5;
static __thread int per_thread_zero;
static int constructed, order;
__attribute__((constructor(200))) static void first(void) { order = 7; }
__attribute__((constructor)) static void construct(void) { constructed = 100 + order; }
__attribute__((destructor)) static void destruct(void) { constructed = 0; }
static int chosen_implementation(int x) { return 42 + x; }
static void *resolve(void) { return chosen_implementation; }
int by_ifunc(int x) __attribute__((ifunc("resolve")));
int state(int x) {
  for (int i = 0; i < 3000; i++) if (zeroed[i]) return -1;
  return initialised + table[x & 3] + per_thread++ + per_thread_zero + constructed + by_ifunc(1)
         + abs(-1000) + chosen("17") + (int)strlen(words[x % 3]);
}
""" + "\n".join(
    f"__attribute__((aligned(4096))) int function_{i}(int x) {{ return x * {i + 2} + {i * i}; }}"
    for i in range(FUNCTIONS)
)
VERSIONED = r"""
__asm__(".symver old_answer,answer@FIRST");
__asm__(".symver new_answer,answer@@SECOND");
int old_answer(int x) { return x + 1; }
int new_answer(int x) { return x + 2; }
"""
VERSIONS = "FIRST { global: *; }; SECOND { global: answer; } FIRST;"
CXX_SOURCE = r"""
#include <stdexcept>
#include <string>
struct Counted { static int alive; Counted() { alive++; } ~Counted() { alive--; } };
int Counted::alive = 0;
struct Shape { virtual int area(int x) { return x; } virtual ~Shape() {} };
struct Square : Shape { int area(int x) override { return x * x; } };
extern "C" int thrown(int x) {
  Counted counted;
  if (x > 3) throw std::runtime_error("too large: " + std::to_string(x));
  return x;
}
extern "C" int caught(int x) {
  try { return thrown(x); }
  catch (const std::exception &error) { return -(int)std::string(error.what()).size(); }
}
extern "C" int area(int x) {
  Shape *shape = new Square;
  int y = shape->area(x);
  delete shape;
  return y;
}
extern "C" int alive(int) { return Counted::alive; }
""" + "\n".join(
    f'extern "C" __attribute__((aligned(4096))) int function_{i}(int x) {{ return x - {i}; }}'
    for i in range(FUNCTIONS)
)
C_CALLS = ["state", "by_ifunc=4", "function_0", "function_7=9", "function_23=-1"]
CXX_CALLS = ["caught=2", "caught=9", "area=5", "alive", "function_3=8"]
FLAGS = {
    "default": [],
    "noseparate_code": ["-Wl,-z,noseparate-code"],
    "huge_pages": ["-Wl,-z,max-page-size=0x10000"],
    "bind_now": ["-Wl,-z,now", "-Wl,-z,relro"],
    "gold": ["-fuse-ld=gold"],
    "stripped": ["-s"],
    "sysv_hash": ["-Wl,--hash-style=sysv"],
    "both_hashes": ["-Wl,--hash-style=both"],
    "relr": ["-Wl,-z,pack-relative-relocs"],
    "no_plt": ["-fno-plt", "-Wl,-z,norelro"],
}


def make_libraries(folder: Path) -> dict[str, tuple[Path, list[str]]]:
    """Compile all of them; return path and calls of each by name."""
    libraries = {}
    for name, flags in FLAGS.items():
        libraries[name] = compiled(folder / f"lib{name}.so", C_SOURCE, "c", flags), C_CALLS
    script = folder / "versions"
    script.write_text(VERSIONS)
    flags = [f"-Wl,--version-script={script}"]
    versioned = compiled(folder / "libversioned.so", C_SOURCE + VERSIONED, "c", flags)
    libraries["versioned"] = versioned, [*C_CALLS, "answer"]
    bare = compiled(folder / "libbare.so", C_SOURCE, "c", ["-s"])
    without_section_headers(bare)
    libraries["no_section_headers"] = bare, C_CALLS
    for name in ("default", "relr", "bind_now"):
        path = compiled(folder / f"libcxx_{name}.so", CXX_SOURCE, "c++", FLAGS[name])
        libraries[f"cxx_{name}"] = path, CXX_CALLS
    return libraries


def compiled(path: Path, source: str, language: str, flags: list[str]) -> Path:
    command = ["g++", "-x", language, "-", "-O1", "-shared", "-fPIC", *flags, "-o", str(path)]
    subprocess.run(command, input=source, text=True, check=True)
    return path


def without_section_headers(path: Path) -> None:
    data = bytearray(path.read_bytes())
    struct.pack_into("<Q", data, 40, 0)
    struct.pack_into("<HHH", data, 58, 64, 0, 0)
    path.write_bytes(data)
