"""What traced programs leave: records of functions, of GPU code, of files, of what was missed."""

from collections.abc import Callable
from pathlib import Path

from trimtab.errors import TrimtabError
from trimtab.profiling.tracing.files import read_file_trace
from trimtab.profiling.tracing.function_records import read_records
from trimtab.profiling.tracing.kernel_records import read_kernel_records
from trimtab.records.misses.removed_calls import read_removed_calls

ERRORS = TrimtabError
# The name of the file, and who reads it or its folder.
_KINDS: list[tuple[str, Callable[[Path], object]]] = [
    ("process-1-1", lambda path: read_records(path.parent)),
    ("object-1-1", lambda path: read_records(path.parent)),
    ("exec-1", lambda path: read_records(path.parent)),
    ("kernels-1", lambda path: read_kernel_records(path.parent)),
    ("kernels-1.lost", lambda path: read_kernel_records(path.parent)),
    ("files.jsonl", read_file_trace),
    ("fallback.jsonl", read_removed_calls),
]


def run(data: bytes, folder: Path) -> None:
    name, read = _KINDS[(data[0] if data else 0) % len(_KINDS)]
    (folder / name).write_bytes(data[1:])
    read(folder / name)
