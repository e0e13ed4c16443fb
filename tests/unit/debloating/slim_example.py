"""Small libraries, and slim environments around this interpreter that lost most of them."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import Elf, read_elf
from trimtab.binaries.relations.unwind_spans import without_unwind_tables
from trimtab.binaries.rewriting.compact import Mode, rewrite
from trimtab.binaries.rewriting.dt_auxiliary import add_dt_auxiliary
from trimtab.binaries.rewriting.locate import locate
from trimtab.binaries.rewriting.program_headers import unmap_headers
from trimtab.binaries.rewriting.spans import Canvas, SpanReason, Spans
from trimtab.binaries.rewriting.unread_data import without_unread_data
from trimtab.binaries.rewriting.whole_pages import whole_pages
from trimtab.config.groups.debloat import Fallback
from trimtab.debloating.fallback import FALLBACK_LIBRARY, Source, add_fallback
from trimtab.debloating.span_document import document_of
from trimtab.debloating.targets.python_prefix import PythonPrefix
from trimtab.files import sha256_of
from trimtab.records.library_spans import spans_file
from trimtab.records.manifest import DebloatedFile, Environment, Manifest, Timings
from trimtab.records.misses.removed_calls import read_removed_calls

# Functions begin pages of their own, but for `near` and `nameless`, which lie on pages that stay.
C_SOURCE = (
    r"""
#include <stddef.h>
#define FAR __attribute__((noinline, aligned(4096)))
FAR int used(int x) { return x * 3 + 1; }
int near(int x) { return x - 5; }
FAR int far(int x) { __asm__ volatile(".fill 65536, 1, 0x90"); return x + near(x); }
FAR int threaded(int x) { return x + 2; }
FAR int trap(int x) { __asm__ volatile("int3"); return x; }
FAR int crash(int x) { return *(volatile int *)(ptrdiff_t)x; }
static __attribute__((noinline)) int nameless(int x) { return x ^ 1; }
FAR int outer(int x) { return nameless(x) + 1; }
FAR long recurse(long x) {
  volatile char room[4000];
  room[0] = 1;
  return x ? recurse(x - 1) + room[0] : 0;
}
"""
    + "\n".join(f"FAR int work_{i}(int x) {{ return x * {i + 2} + {i}; }}" for i in range(60))
    + """
FAR int last(int x) { return x; }
"""
)
CXX_SOURCE = r"""
#include <stdexcept>
#include <string>
#define FAR __attribute__((noinline, aligned(4096)))
struct Counted { static int alive; Counted() { alive++; } ~Counted() { alive--; } };
int Counted::alive = 0;
namespace deep { FAR int thrown(int x) {
  Counted counted;
  if (x > 3) throw std::runtime_error("too large: " + std::to_string(x));
  return x;
} }
extern "C" FAR int other(int x) { return x + 1; }
extern "C" FAR int used_too(int x) { return x; }
extern "C" FAR int caught(int x) {
  try { return deep::thrown(x); }
  catch (const std::exception &error) {
    return -(int)std::string(error.what()).size() - Counted::alive;
  }
}
"""
# GPU code stands in a library as data that host code and the driver read.
DATA_SOURCE = r"""
static const volatile unsigned char image[1 << 18] __attribute__((aligned(4096))) = {
  7, [1 << 16] = 11, [1 << 17] = 9, [(1 << 18) - 1] = 5};
int used_byte(int at) { return image[at]; }
int used_sum(void) { int s = 0; for (int i = 0; i < 1 << 18; i++) s += image[i]; return s; }
"""
PRELUDE = """
import ctypes, os, signal, sys, threading
mine = ctypes.CDLL(os.path.join(sys.prefix, "lib", "libmine.so"))
"""


def manifest_of(mode: str, digests: dict[str, str]) -> Manifest:
    return Manifest(
        target="t", hardware="h", workloads=["w"], mode=mode, symbols="strip",
        environment=Environment("python_prefix", "/"), timings=Timings(0, 0, 0),
        files={name: DebloatedFile(digest, digest, 0, 0) for name, digest in digests.items()},
    )  # fmt: skip


def compile_library(path: Path, source: str) -> Path:
    language = "c++" if "throw" in source else "c"
    command = ["g++", "-x", language, "-", "-O1", "-g", "-shared", "-fPIC", "-o", str(path)]
    subprocess.run(command, input=source, text=True, check=True)
    return path


def make_original(prefix: Path) -> Path:
    """The original environment's libraries."""
    (prefix / "lib").mkdir()
    compile_library(prefix / "lib/libmine.so", C_SOURCE)
    compile_library(prefix / "lib/libthrows.so", CXX_SOURCE)
    compile_library(prefix / "lib/libdata.so", DATA_SOURCE)
    return prefix


def make_slim(
    origin: Path, folder: Path, mode: Mode = "compact", source: Source | None = None
) -> Path:
    """The slim environment of `origin` in `folder`, with a fallback: only `used...` is kept."""
    environment = folder / "env"
    (environment / f"lib/python3.{sys.version_info.minor}/site-packages").mkdir(parents=True)
    (environment / "bin").mkdir()
    (environment / "bin/python").symlink_to(
        Path(sys.base_prefix, f"bin/python3.{sys.version_info.minor}")
    )
    (environment / "pyvenv.cfg").write_text(f"home = {sys.base_prefix}/bin\n")
    for path in (origin / "lib").iterdir():
        elf = read_elf(path)
        functions, names = read_functions(elf), function_names(elf)
        kept = [(names.of(at) or "").startswith("used") for at in functions.start.tolist()]
        spans = locate(elf, functions, np.array(kept), keep_symbols=False)
        if mode == "compact":
            spans = without_unread_data(elf, without_unwind_tables(elf, spans))
        if path.name == "libdata.so":
            spans = with_gpu_code_removed(elf, spans)
        spans = whole_pages(elf, spans, 4096, traps=mode == "zero")
        slim = environment / "lib" / path.name
        rewrite(elf, spans, mode, slim, 4096)
        unmap_headers(slim)
        add_dt_auxiliary(slim, elf, f"$ORIGIN/../{FALLBACK_LIBRARY}")
        name = f"lib/{path.name}"
        document = document_of(path, name, spans, 4096, sha256=sha256_of(path))
        document.write(spans_file(folder / "spans", name))
    libraries = {f"lib/{path.name}": sha256_of(path) for path in (origin / "lib").iterdir()}
    manifest = manifest_of(mode, libraries)
    source = source or Source(Fallback.ORIGINAL)
    add_fallback(environment, origin, manifest, folder / "spans", source)
    PythonPrefix(origin).adapt(environment, environment, environment)
    return environment


def with_gpu_code_removed(elf: Elf, spans: Spans) -> Spans:
    offset = elf.data.tobytes().index(b"\7" + bytes((1 << 16) - 1) + b"\13")
    canvas = Canvas(spans.end, spans.reason)
    canvas.paint(np.array([offset]), np.array([offset + (1 << 18)]), SpanReason.GPU_UNUSED)
    return replace(spans, end=canvas.end, reason=canvas.reason)


def run(
    environment: Path, record: Path, program: str, behaviour: str = "", *options: str, **more: str
) -> subprocess.CompletedProcess[str]:
    variables = {"TRIMTAB_FALLBACK": behaviour, "TRIMTAB_FALLBACK_RECORD": str(record), **more}
    return subprocess.run(
        [environment / "bin/python", *options, "-c", PRELUDE + program],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )


def called(record: Path) -> list[str]:
    return [call.name for call in read_removed_calls(record)]
