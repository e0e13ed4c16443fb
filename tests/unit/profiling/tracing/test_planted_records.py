"""What a traced program may put where its records are read: no reader waits for it, follows it out
of the folder or holds more of it than a limit."""

import os
import signal
import socket
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trimtab.debloating.verification.library_origins import LibraryFiles
from trimtab.errors import TrimtabError
from trimtab.profiling.tracing.files import read_file_trace, tracing_command
from trimtab.profiling.tracing.function_records import read_records
from trimtab.profiling.tracing.functions import tracing_environment
from trimtab.profiling.tracing.kernel_records import read_kernel_records
from trimtab.profiling.tracing.kernels import read_kernel_trace
from trimtab.records.misses.removed_calls import read_removed_calls

MOST_MEMORY_BYTES = 1 << 20


def fifo(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def link_out(path: Path) -> None:
    secret = path.parent.parent / "secret"
    secret.write_text("a secret\n")
    path.symlink_to(secret)


def folder(path: Path) -> None:
    path.mkdir()


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(path.parent)  # the path of a socket may be 107 bytes long
        try:
            server.bind(path.name)
        finally:
            os.chdir(here)


def terabyte(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


PLANTED = [fifo, endless, link_out, folder, listening, terabyte]
READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "process": ("process-7-1", lambda path: read_records(path.parent)),
    "object": ("object-7-1", lambda path: read_records(path.parent)),
    "exec": ("exec-7-1", lambda path: read_records(path.parent)),
    "kernels": ("kernels-7-1.txt", lambda path: read_kernel_records(path.parent)),
    "why not": ("not_traced.txt", lambda path: read_kernel_trace(path.parent)),
    "removed calls": ("calls.jsonl", read_removed_calls),
    "mapped": ("mapped.tsv", LibraryFiles({}, {}, (0, 0)).slim_libraries_in),
}


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    """A reader that waits is killed rather than the tests."""
    signal.alarm(60)
    tracemalloc.start()
    yield
    tracemalloc.stop()
    signal.alarm(0)


@pytest.mark.parametrize("plant", PLANTED)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file_of_ours_is_one_error(
    reader: str, plant: Callable[[Path], None], tmp_path: Path
) -> None:
    name, read = READERS[reader]
    records = tmp_path / "records"
    records.mkdir()
    plant(records / name)
    with pytest.raises(TrimtabError, match=f"{name}: ") as raised:
        read(records / name)
    assert "secret\n" not in str(raised.value)
    assert tracemalloc.get_traced_memory()[1] < MOST_MEMORY_BYTES


@pytest.mark.parametrize("plant", PLANTED)
def test_a_planted_file_trace_ends_in_a_word(plant: Callable[[Path], None], tmp_path: Path) -> None:
    records = tmp_path / "records"
    records.mkdir()
    plant(records / "files.jsonl")
    trace = read_file_trace(records / "files.jsonl")
    assert not trace.complete and "files.jsonl: " in trace.incomplete_because[0]
    assert trace.files == () and tracemalloc.get_traced_memory()[1] < MOST_MEMORY_BYTES


@pytest.mark.parametrize("plant", PLANTED)
def test_what_was_planted_makes_way_for_the_next_record(
    plant: Callable[[Path], None], tmp_path: Path
) -> None:
    (tmp_path / "records").mkdir()
    for name in ("files.jsonl", "functions"):
        plant(tmp_path / "records" / name)
    tracing_command(["true"], tmp_path / "records/files.jsonl")
    assert not os.path.lexists(tmp_path / "records/files.jsonl")
    tracing_environment({}, tmp_path / "records/functions")
    assert list((tmp_path / "records/functions").iterdir()) == []
    assert plant is not link_out or (tmp_path / "secret").read_text() == "a secret\n"


def test_a_folder_of_records_may_be_no_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "records").symlink_to("elsewhere")
    with pytest.raises(TrimtabError, match="records: cannot be listed"):
        read_records(tmp_path / "records")


def test_more_files_than_any_run_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        (tmp_path / f"process-{number}-1").touch()
        (tmp_path / f"kernels-{number}-1.txt").touch()
    for module in ("function_records", "kernel_records"):
        monkeypatch.setattr(f"trimtab.profiling.tracing.{module}._MOST_RECORDS", 7)
    with pytest.raises(TrimtabError, match="holds more than 7 files"):
        read_records(tmp_path)
    with pytest.raises(TrimtabError, match="holds more than 7 files"):
        read_kernel_records(tmp_path)


@pytest.mark.parametrize("lines", [b"x" * (1 << 22), b"\n" * (1 << 22)])
def test_a_file_trace_without_end_is_incomplete(
    lines: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.profiling.tracing.files._MOST_BYTES", 1 << 20)
    (tmp_path / "record").write_bytes(lines)
    trace = read_file_trace(tmp_path / "record")
    assert not trace.complete and "4194304 bytes" in trace.incomplete_because[0]


def test_a_file_trace_of_too_many_lines_is_incomplete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.profiling.tracing.files._MOST_LINES", 3)
    line = b'{"path": "/a", "uses": ["read"], "real": "/a"}\n'
    (tmp_path / "record").write_bytes(line * 3 + b'{"end": true, "exit": 0}\n')
    trace = read_file_trace(tmp_path / "record")
    assert not trace.complete and [file.path for file in trace.files] == ["/a"]
    assert "more than" in trace.incomplete_because[0]


# Records that keep to their layout and hold what no tracer writes


def process(end: int = 1, path: bytes = b"/bin/a", pid: int = 7) -> bytes:
    numbers = (pid, 1, 0, 0, end, 0, 0, 0)
    head = b"TRIMTABP" + b"".join(number.to_bytes(4, "little") for number in numbers)
    return head + path.ljust(3072, b"\0")


def loaded(
    status: int = 0,
    path: bytes = b"/lib/a.so",
    size: int = 9,
    count: int = 2,
    marks: bytes = b"\1\0",
) -> bytes:
    head = b"TRIMTABO" + (7).to_bytes(4, "little") + status.to_bytes(4, "little") + bytes(16)
    head += size.to_bytes(8, "little") + count.to_bytes(4, "little") + bytes(4)
    return head + path.ljust(3072, b"\0") + b"\x10\0\0\0\x20\0\0\0" + marks


def test_records_are_read_as_they_are_laid_out(tmp_path: Path) -> None:
    """So that the next test damages what would be right."""
    (tmp_path / "process-7-1").write_bytes(process())
    (tmp_path / "object-7-2").write_bytes(loaded())
    (tmp_path / "exec-7-3").write_bytes(b"/bin/true")
    (tmp_path / "other").write_bytes(b"x")
    records = read_records(tmp_path)
    assert [(each.pid, each.end, each.executable) for each in records.processes] == [
        (7, "exit", "/bin/a")
    ]
    assert [(each.path, each.functions, each.used.tolist()) for each in records.objects] == [
        ("/lib/a.so", 2, [16])
    ]
    assert records.expected == [(7, "/bin/true")]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("process-7-1", process(end=3)),
        ("process-7-1", process(end=1 << 31)),
        ("process-7-1", process(path=b"a")),
        ("process-7-1", process(path=b"/a\0b")),
        ("process-7-1", process()[:-1]),
        ("object-7-1", loaded(status=8)),
        ("object-7-1", loaded(path=b"")),
        ("object-7-1", loaded(path=b"/lib/../../etc/passwd")),
        ("object-7-1", loaded(path=b"/lib//a.so")),
        ("object-7-1", loaded(size=1 << 63)),
        ("object-7-1", loaded(count=3)),
        ("object-7-1", loaded(count=0xFFFFFFFF)),
        ("object-7-1", b"\x7fELF" + bytes(4000)),
        ("exec-x-1", b"/bin/true"),
        ("exec-²-1", b"/bin/true"),
        ("exec-99999999-1", b"/bin/true"),
        ("exec-7-1", b"/bin/true\0"),
        ("exec-7-1", b"/" * 20000),
    ],
)
def test_unknown_words_are_one_error(name: str, data: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(TrimtabError, match=f"{name}: "):
        read_records(tmp_path)


def test_more_used_functions_than_any_run_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.profiling.tracing.function_records._MOST_MARKED", 3)
    for number in range(4):
        (tmp_path / f"object-7-{number}").write_bytes(loaded())
    with pytest.raises(TrimtabError, match=r"object-7-3: .* mark more than 3 functions"):
        read_records(tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        b'{"path": "a", "uses": ["read"], "real": null}',
        b'{"path": "/a\\u0000", "uses": ["read"], "real": null}',
        b'{"path": "/\\ud800", "uses": ["read"], "real": null}',
        b'{"path": "/a/../b", "uses": ["read"], "real": null}',
        b'{"path": "/a", "uses": ["read"], "real": "b"}',
        b'{"path": "/a", "uses": ["read"]}',
        b'{"path": "/a", "uses": "read", "real": null}',
        b'{"path": "/a", "uses": [["read"]], "real": null}',
        b'{"path": "/a", "uses": {"read": 1}, "real": null}',
        b'{"own_calls": "a"}',
        b'{"own_calls": ["/a"]}',
        b'{"own_calls": null}',
        b'{"process": -1, "parent": 1, "executable": ""}',
        b'{"process": true, "parent": 1, "executable": ""}',
        b'{"process": 1e20, "parent": 1, "executable": ""}',
        b'{"process": 1, "parent": 1, "executable": null}',
        b'{"end": true, "exit": 1000}',
        b'{"end": 1, "exit": 0}',
        b'{"incomplete": 5}',
        b'{"incomplete": ""}',
        b"[" * 100_000,
    ],
)
def test_lines_that_the_file_tracer_does_not_write(line: bytes, tmp_path: Path) -> None:
    (tmp_path / "record").write_bytes(line + b"\n")
    with pytest.raises(TrimtabError, match="record: line 1: not a"):
        read_file_trace(tmp_path / "record")


@pytest.mark.parametrize(
    "line",
    [
        b"gpu 0000:01:00.0 9_0 name", b"gpu 0000:01:00.0 -90 name",
        b"gpu 0000:01:00.0 \xd9\xa9\xd9\xa0 name", b"kernel a%00b", b"region -10:/a.so",
        b"region ffffffffffffffffff:/a.so", b"region 10:a.so", b"region 10:/a/../b.so",
        b"module " + b"0" * 64 + b" 99999999999999999 name",
    ],
)  # fmt: skip
def test_lines_that_the_kernel_tracer_does_not_write(line: bytes, tmp_path: Path) -> None:
    (tmp_path / "kernels-7-1.txt").write_bytes(b"process 7 1 cupti /bin/a\n" + line + b"\n")
    with pytest.raises(TrimtabError, match=r"kernels-7-1.txt, line 2: not a record"):
        read_kernel_records(tmp_path)


def test_a_region_of_what_is_no_file_keeps_all_gpu_code(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "library.so")
    line = f"region 10:{tmp_path.resolve()}/library.so\n".encode()
    folder = tmp_path / "records"
    folder.mkdir()
    (folder / "kernels-7-1.txt").write_bytes(b"process 7 1 cupti /bin/a\n" + line)
    trace = read_kernel_trace(folder)
    assert not trace.traced and "no regular file" in trace.not_traced_because


def test_more_words_than_any_run_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trimtab.profiling.tracing.kernel_records._MOST_WORDS", 9)
    (tmp_path / "kernels-7-1.txt").write_bytes(b"process 7 1 cupti /bin/a\nkernel a\nkernel b\n")
    read_kernel_records(tmp_path)
    (tmp_path / "kernels-7-2.txt").write_bytes(b"process 7 1 cupti /bin/a\n")
    with pytest.raises(TrimtabError, match="over 9 words"):
        read_kernel_records(tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        b'{"pid": 1, "time_s": 0, "library": "a", "address": -1, "function": ""}',
        b'{"pid": 1, "time_s": 0, "library": "a", "address": 1e99, "function": ""}',
        b'{"pid": 0, "time_s": 0, "library": "a", "address": 1, "function": ""}',
        b'{"pid": 1, "time_s": 0, "library": "a\\u0000", "address": 1, "function": ""}',
        b"[" * 100_000,
    ],
)
def test_lines_that_no_fallback_writes(line: bytes, tmp_path: Path) -> None:
    (tmp_path / "calls").write_bytes(line + b"\n")
    with pytest.raises(TrimtabError, match="calls: line 1 is no record"):
        read_removed_calls(tmp_path / "calls")
