"""What it costs that something removed comes back: a function, and a MiB of GPU code, by store.

A program calls 500 functions that its slim library lost, each on a page of its own, and reads 16
pieces of 1 MiB as the CUDA driver reads a module; each first and second time is measured inside.
"""

import os
import subprocess
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
from common import save, spread

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.rewriting.compact import rewrite
from trimtab.binaries.rewriting.locate import locate
from trimtab.binaries.rewriting.program_headers import unmap_headers
from trimtab.binaries.rewriting.spans import Canvas, SpanReason, Spans
from trimtab.binaries.rewriting.whole_pages import whole_pages
from trimtab.config.groups.debloat import Fallback
from trimtab.debloating.fallback import FALLBACK_LIBRARY, Source, add_fallback
from trimtab.debloating.span_document import document_of
from trimtab.files import sha256_of
from trimtab.records.library_spans import spans_file
from trimtab.records.manifest import DebloatedFile, Environment, Manifest, Timings

FUNCTIONS, PIECES, PIECE_BYTES = 500, 16, 1 << 20
NAME = "lib/libmany.so"
_PAGE = 4096
LIBRARY = "\n".join(
    [
        *(
            f"__attribute__((noinline, aligned({_PAGE}))) int f{i}(int x) {{ return x + {i}; }}"
            for i in range(FUNCTIONS)
        ),
        f"struct piece {{ unsigned char code[{PIECE_BYTES}], kept[{_PAGE}]; }};",
        f"__attribute__((aligned({_PAGE}))) const struct piece pieces[{PIECES}] =",
        f"  {{[0 ... {PIECES - 1}] = {{{{[0 ... {PIECE_BYTES - 1}] = 0xa5}}, {{0}}}}}};",
        f"int (*const table[{FUNCTIONS}])(int) = {{",
        ", ".join(f"f{i}" for i in range(FUNCTIONS)) + "};",
    ]
)
PROGRAM = f"""
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>
struct piece {{ unsigned char code[{PIECE_BYTES}], kept[{_PAGE}]; }};
static double now(void) {{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}}
int main(void) {{
  volatile int sum = 0;
  void *library = dlopen("libmany.so", RTLD_NOW);
  int (*const *table)(int) = dlsym(library, "table");
  const struct piece *pieces = dlsym(library, "pieces");
  for (int round = 0; round < 2; round++) {{
    for (int i = 0; i < {FUNCTIONS}; i++) {{
      double begun = now();
      sum += table[i](round);
      printf("function %d %.9f\\n", round, now() - begun);
    }}
    for (int i = 0; i < {PIECES}; i++) {{
      double begun = now();
      sum += pieces[i].code[0];
      printf("piece %d %.9f\\n", round, now() - begun);
    }}
  }}
}}
"""


def build(folder: Path, source: Source) -> Path:
    """Make the library below `folder`/original and its slim environment; returns that."""
    original, slim = folder / "original", folder / f"slim-{source.kind}"
    for place in (original / "lib", slim / "lib"):
        place.mkdir(parents=True, exist_ok=True)
    library = original / NAME
    if not library.exists():
        command = ["gcc", "-x", "c", "-O1", "-shared", "-fPIC", "-o", str(library), "-"]
        subprocess.run(command, input=LIBRARY, text=True, check=True)
    elf = read_elf(library)
    functions = read_functions(elf)
    spans = locate(elf, functions, np.zeros(len(functions), bool), keep_symbols=False)
    offset = elf.data.tobytes().index(b"\xa5" * PIECE_BYTES)
    starts = offset + np.arange(PIECES) * (PIECE_BYTES + _PAGE)
    canvas = Canvas(spans.end, spans.reason)
    canvas.paint(starts, starts + PIECE_BYTES, SpanReason.GPU_UNUSED)
    spans = whole_pages(elf, Spans(canvas.end, canvas.reason, elf.build_id), _PAGE)
    rewrite(elf, spans, "compact", slim / NAME, _PAGE)
    unmap_headers(slim / NAME)
    digest = sha256_of(library)
    document = document_of(library, NAME, spans, _PAGE, sha256=digest)
    document.write(spans_file(folder / "spans", NAME))
    size_bytes = library.stat().st_size
    manifest = Manifest(
        target="t", hardware="h", workloads=["w"], mode="compact", symbols="strip",
        environment=Environment("native_folder", str(original)), timings=Timings(0, 0, 0),
        files={NAME: DebloatedFile(digest, digest, size_bytes, size_bytes)},
    )  # fmt: skip
    add_fallback(slim, original, manifest, folder / "spans", source)
    return slim


def measure(program: Path, slim: Path, **variables: str) -> dict[str, list[float]]:
    """Return the times of all first and second touches, in ms, by what was touched."""
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(slim / "lib"),
        "LD_PRELOAD": str(slim / FALLBACK_LIBRARY),
        "TRIMTAB_FALLBACK_RECORD": str(slim / "record.jsonl"),
        **variables,
    }
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=True)
    times: dict[str, list[float]] = {}
    for line in done.stdout.splitlines():
        what, turn, time_s = line.split()
        turn_name = "first" if turn == "0" else "second"
        times.setdefault(f"{what}_{turn_name}_ms", []).append(1e3 * float(time_s))
    return times


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Requests are no figures."""


def main() -> None:
    """Measure every kind of store and save the times."""
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = folder / "store"
        handler = partial(_Quiet, directory=str(store))
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            address = f"http://127.0.0.1:{server.server_port}"
            kinds = {
                "original": (Source(Fallback.ORIGINAL), {}),
                "packed": (Source(Fallback.PACKED), {}),
                "folder": (Source(Fallback.STORE, store), {}),
                "http": (Source(Fallback.STORE, store, address), {}),
                "http_cached": (Source(Fallback.STORE, store, address), {}),
            }
            program = folder / "program"
            for kind, (source, variables) in kinds.items():
                slim = build(folder, source)
                if not program.exists():
                    command = ["gcc", "-x", "c", "-O1", "-o", str(program), "-"]
                    subprocess.run(command, input=PROGRAM, text=True, check=True)
                if kind.startswith("http"):
                    variables = {"TRIMTAB_STORE_CACHE": str(folder / "cache")}
                times = measure(program, slim, **variables)
                figures[kind] = {
                    what: {k: v for k, v in spread(each).items() if k != "values"}
                    for what, each in times.items()
                }
            server.shutdown()
    save("fallback", figures)


if __name__ == "__main__":
    main()
