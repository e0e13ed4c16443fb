"""How long a node's cold store takes for what a container misses, cold and from its cache.

    .venv/bin/python benchmarks/cold_store.py [RUNS]

The registry answers each request after 20 ms, from a process of its own. Files are parts of the
compiled libraries of this environment, in one gzip layer with checkpoints 2 MiB apart; a client
asks for their objects one after another, a connection each, as trimtab-fetch does.
"""

import gzip
import hashlib
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import zran
from common import save

from trimtab.cold_store.index import OBJECT_BYTES

LATENCY_S = 0.02
MB = 1_000_000
HEAD_BYTES = 268  # of an object
BARS_MS = {1: (60, 5), 10: (200, 20), 50: (500, 50)}  # cold, from the cache
SPACING_BYTES = 2 << 20
NODES, CLIENTS = 20, 3
HERE = Path(__file__).parent


def libraries(size: int) -> bytes:
    """Return the contents of the largest libraries of this environment."""
    found = sorted(Path(sys.prefix).rglob("*.so*"), key=lambda path: -path.stat().st_size)
    data = b"".join(path.read_bytes() for path in found[:12])
    return (data * (1 + size // len(data)))[:size]


@contextmanager
def process(*command: str) -> Iterator[str]:
    """Yield the last word of the first line of a program, which ends after the block."""
    started = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert started.stdout
        line = started.stdout.readline()
        yield line.split()[-1]
    finally:
        started.terminate()
        started.wait()


def fetched(path: str, request: bytes, answer: bytearray) -> int:
    """Ask for an object as a client in C does, without a copy; return the answer's bytes."""
    view, have = memoryview(answer), 0
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path.removeprefix("unix:"))
        client.sendall(request)
        while part := client.recv_into(view[have:]):
            have += part
    return have


def wall_ms(path: str, index: str, content: bytes) -> float:
    """Return the sum over the objects of a file, whose contents are checked."""
    sha256 = hashlib.sha256(content).hexdigest()
    answer, parts, spent = bytearray(OBJECT_BYTES + 4096), [], 0.0
    for number in range(-(-len(content) // OBJECT_BYTES)):
        name = f"{sha256[:2]}/{sha256[:32]}-{number:06d}"
        request = f"GET /{name} HTTP/1.0\r\nTrimtab-Index: {index}\r\n\r\n".encode()
        began = time.perf_counter()
        size = fetched(path, request, answer)
        spent += time.perf_counter() - began
        head, _, data = bytes(answer[:size]).partition(b"\r\n\r\n")
        assert b" 200 " in head, answer[:size]
        parts.append(data[HEAD_BYTES:])
    assert b"".join(parts) == content
    return 1000 * spent


def of_many_nodes(folder: Path, host: str, line: str, content: bytes) -> dict[str, float | str]:
    """Return a row of nodes, as processes, whose containers miss the same piece at once."""
    with ExitStack() as stack, ThreadPoolExecutor(NODES * CLIENTS) as pool:
        server = (sys.executable, "-m", "trimtab.cold_store", "serve", "--allow", host)
        paths = [
            stack.enter_context(
                process(*server, "--listen", f"unix:{place}.sock", "--cache", str(place))
            )
            for place in (folder / f"node-{number}" for number in range(NODES))
        ]
        times = list(pool.map(lambda path: wall_ms(path, line, content), CLIENTS * paths))
        counts = []
        for path in paths:
            answer = bytearray(1 << 16)
            size = fetched(path, b"GET /metrics HTTP/1.0\r\n\r\n", answer)
            [count] = re.findall(rb"\n\w+_ranges_total (\d+)", answer[:size])
            counts.append(int(count))
    return {
        "nodes": NODES,
        "clients_of_each": CLIENTS,
        "failed": NODES * CLIENTS - len(times),
        "most_ranges_of_a_node": max(counts),
        "median_ms": round(statistics.median(times), 1),
    }


def measure(folder: Path, runs: int) -> Iterator[dict[str, float | str]]:
    """Yield a row for each size, cold with and without the index at hand, and from the cache."""
    text = libraries(70 * MB)
    contents = {1: text[2 * MB : 3 * MB], 10: text[5 * MB : 15 * MB], 50: text[17 * MB : 67 * MB]}
    places = {1: 2 * MB, 10: 5 * MB, 50: 17 * MB}
    blob = gzip.compress(text, 6)
    files = {(0, places[size], size * MB): content for size, content in contents.items()}
    small = text[68 * MB : 68 * MB + 1000]
    index = zran.index_of([(blob, text, SPACING_BYTES)], files | {(0, 68 * MB, 1000): small})
    (folder / "layer").write_bytes(blob)
    (folder / "index").write_bytes(index.to_bytes())
    digest = hashlib.sha256(index.to_bytes()).hexdigest()
    registry = (sys.executable, str(HERE / "fake_registry.py"), "--latency-s", str(LATENCY_S))
    with process(*registry, str(folder / "layer"), str(folder / "index")) as host:
        line = f"{host}/bench@sha256:{digest}"
        yield of_many_nodes(folder, host, line, contents[1][:OBJECT_BYTES])
        spent: dict[tuple[int, str], list[float]] = {}
        for run in range(runs):
            for size, content in contents.items():
                for at_hand in (False, True):
                    place = folder / f"{run}-{size}-{at_hand}"
                    server = (sys.executable, "-m", "trimtab.cold_store", "serve")
                    words = ("--listen", f"unix:{place}.sock", "--cache", str(place))
                    with process(*server, *words, "--allow", host) as path:
                        if at_hand:
                            wall_ms(path, line, small)
                        kind = "cold" if at_hand else "cold, index too"
                        spent.setdefault((size, kind), []).append(wall_ms(path, line, content))
                        spent.setdefault((size, "cache"), []).append(wall_ms(path, line, content))
                    # What a server finds of an earlier one is checked by its digest first.
                    with process(*server, *words, "--allow", host) as path:
                        wall_ms(path, line, small)
                        kind = "cache, restarted"
                        spent.setdefault((size, kind), []).append(wall_ms(path, line, content))
    for (size, kind), times in sorted(spent.items()):
        bar = BARS_MS[size][kind.startswith("cache")]
        yield {
            "file_mb": size,
            "from": kind,
            "median_ms": round(statistics.median(times), 1),
            "least_ms": round(min(times), 1),
            "most_ms": round(max(times), 1),
            "bar_ms": bar,
            "of_bar": round(statistics.median(times) / bar, 2),
        }


def main() -> None:
    """Measure, and write benchmarks/results/cold_store.json."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as place:
        nodes, *files = measure(Path(place), runs)
    save("cold_store", {"runs": runs, "nodes": nodes, "files": files})


if __name__ == "__main__":
    main()
