"""What it costs that a removed file comes back, by store, and what it costs where none is missed.

A program opens and reads files that its environment lost, each a first and a second time. Another
one opens a file that is there a hundred thousand times, with the fallback loaded and without, in
turn; and a start of Python is counted by its system calls.
"""

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from common import save, spread

from trimtab.config.groups.debloat import Fallback
from trimtab.debloating.fallback import FILE_FALLBACK_LIBRARY, Source
from trimtab.debloating.files.file_fallback import add_file_fallback
from trimtab.debloating.files.folder_tree import prefix_tree

# Of PyTorch's environment (30,000 files) the median is 5 KB, nine in ten are below 64 KB.
SIZES_BYTES = {1_000: 60, 5_000: 100, 64_000: 60, 1_000_000: 30, 10_000_000: 5}
FILES = sum(SIZES_BYTES.values())
READ = """
import json, resource, sys, time
names, times = json.load(open(sys.argv[1])), {}
def cpu_ms():
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return 1e3 * sum(each.ru_utime + each.ru_stime for each in both)
for turn in ("first", "second"):
    for name in names:
        begun, before = time.perf_counter(), cpu_ms()
        with open(name, "rb", 0) as file: file.read()
        times.setdefault(turn, []).append(1e3 * (time.perf_counter() - begun))
        times.setdefault(turn + "_cpu", []).append(cpu_ms() - before)
print(json.dumps(times))
"""
OPEN = """
import os, sys, time
before = time.process_time_ns()
for _ in range(100_000): os.close(os.open("kept", os.O_RDONLY))
print((time.process_time_ns() - before) / 100_000)
"""
_REPEATS = 7


def original_of(folder: Path) -> Path:
    """Make the environment whose files go: bytes that are half random."""
    original, numbers = folder / "original", random.Random(1)
    (original / "data").mkdir(parents=True)
    (original / "kept").write_text("kept\n")
    sizes = [size for size, number in SIZES_BYTES.items() for _ in range(number)]
    for at, size_bytes in enumerate(sizes):
        half = numbers.randbytes(size_bytes // 2)
        (original / f"data/{at}").write_bytes(half + b"a" * (size_bytes - len(half)))
    return original


def slim_of(original: Path, folder: Path, source: Source) -> Path:
    """Make an environment that lost all of them."""
    (folder / "data").mkdir(parents=True)
    shutil.copy(original / "kept", folder)
    removed = [f"/data/{at}" for at in range(FILES)]
    add_file_fallback(folder, original, prefix_tree(original), removed, source)
    return folder


def run(slim: Path | None, code: str, *words: str, **variables: str) -> str:
    """Run Python code with the fallback of a slim environment, or without; what it prints."""
    loaded = {"LD_PRELOAD": str(slim / FILE_FALLBACK_LIBRARY)} if slim else {}
    environment = {"PATH": os.environ["PATH"], **loaded, **variables}
    command = [sys.executable, "-I", "-c", code, *words]
    return subprocess.run(
        command, env=environment, cwd=slim, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def coming_back(slim: Path, **variables: str) -> dict[str, float]:
    """Return percentiles, in ms, of reading each removed file first, by size and of all."""
    names = slim.with_name(f"{slim.name}.json")
    names.write_text(json.dumps([str(slim / f"data/{at}") for at in range(FILES)]))
    times = json.loads(run(slim, READ, str(names), **variables))
    figures: dict[str, float] = {}
    small = FILES - SIZES_BYTES[10_000_000]
    for name, part in {"up_to_1_mb": slice(small), "of_10_mb": slice(small, None)}.items():
        for clock, key in {"": "first", "_cpu": "first_cpu"}.items():
            values = times[key][part]
            figures[f"{name}_files"] = len(values)
            figures[f"{name}{clock}_p50_ms"] = statistics.median(values)
            quantiles = statistics.quantiles(values, n=100, method="inclusive")
            figures[f"{name}{clock}_p99_ms"] = quantiles[98]
            figures[f"{name}{clock}_max_ms"] = max(values)
    figures["second_p50_ms"] = statistics.median(times["second"])
    return figures


def nothing_missed(slim: Path, plain: Path) -> dict[str, object]:
    """Return what the fallback costs a program that misses nothing."""
    ns: dict[str, list[float]] = {"with_ns": [], "without_ns": []}
    for repeat in range(_REPEATS):
        for name, each in sorted({"with_ns": slim, "without_ns": None}.items(), reverse=repeat % 2):
            environment = {"LD_PRELOAD": str(slim / FILE_FALLBACK_LIBRARY)} if each else {}
            command = [sys.executable, "-I", "-c", OPEN]
            done = subprocess.run(
                command, env=environment, cwd=plain, stdout=subprocess.PIPE, text=True, check=True
            )
            ns[name].append(float(done.stdout))
    calls = {
        name: sum(_calls(slim if name == "with" else None).values()) for name in ("with", "without")
    }
    return {
        "open_and_close": {
            "ratio": spread([a / b for a, b in zip(ns["with_ns"], ns["without_ns"], strict=True)]),
            **{name: statistics.median(values) for name, values in ns.items()},
        },
        "system_calls_of_a_start": calls,
    }


def _calls(slim: Path | None) -> Mapping[str, int]:
    """Count the system calls of a Python that imports something, by strace."""
    if not shutil.which("strace"):
        return {}
    environment = {"LD_PRELOAD": str(slim / FILE_FALLBACK_LIBRARY)} if slim else {}
    words = [word for name, value in environment.items() for word in ("-E", f"{name}={value}")]
    command = ["strace", "-f", "-c", "-U", "name,calls", "-o", "/dev/stdout", *words]
    command += [sys.executable, "-I", "-c", "import json, subprocess, email.message"]
    text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    rows = [line.split() for line in text.splitlines()]
    return {
        row[0]: int(row[1])
        for row in rows
        if len(row) == 2 and row[1].isdigit() and row[0] != "total"
    }


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Requests are no figures."""


def _kinds(store: Path, address: str) -> Iterator[tuple[str, Source]]:
    yield "original", Source(Fallback.ORIGINAL)
    yield "packed", Source(Fallback.PACKED)
    yield "folder", Source(Fallback.STORE, store)
    yield "http", Source(Fallback.STORE, store, address)


def measure(folder: Path) -> dict[str, object]:
    """Return the figures of every kind of store, and of a program that misses nothing."""
    original, store = original_of(folder), folder / "file-store"
    figures: dict[str, object] = {"files": FILES}
    handler = partial(_Quiet, directory=str(store))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for kind, source in _kinds(store, f"http://127.0.0.1:{server.server_port}"):
            slim = slim_of(original, folder / f"files-{kind}", source)
            figures[kind] = coming_back(slim, TRIMTAB_STORE_CACHE=str(folder / "file-cache"))
        server.shutdown()
    slim = slim_of(original, folder / "files-none", Source(Fallback.ORIGINAL))
    return {**figures, "nothing_missed": nothing_missed(slim, original)}


def main() -> None:
    """Measure and save."""
    with tempfile.TemporaryDirectory() as folder:
        save("fallback_files", measure(Path(folder)))


if __name__ == "__main__":
    main()
