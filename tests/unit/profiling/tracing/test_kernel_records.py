"""Reading the records of GPU code: what the format says, and files that do not keep to it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import TrimtabError
from trimtab.profiling.tracing.kernel_records import KernelRecord, read_kernel_records
from trimtab.profiling.tracing.kernels import read_kernel_trace
from trimtab.records.usage import UsedGpu

FIRST = b"process 7 1 cupti /bin/a%20b\n"
DIGEST = b"0123456789abcdef" * 4


def read(folder: Path, data: bytes, name: str = "kernels-7-1.txt") -> list[KernelRecord]:
    (folder / name).write_bytes(data)
    return read_kernel_records(folder)


def test_every_event(tmp_path: Path) -> None:
    lines = [
        b"cupti /opt/libcupti.so.13", b"gpu 0000:01:00.0 90 NVIDIA%20H200", b"kernel _Z1kv",
        b"global counter", b"listed a%0Ab", b"module " + DIGEST + b" 640 _Z1kv counter",
        b"region 1aF0:/opt/a:b%20c.so", b"region 0:/x",
        b"failed it%20failed",
    ]  # fmt: skip
    (record,) = read(tmp_path, FIRST + b"".join(line + b"\n" for line in lines))
    assert (record.pid, record.parent_pid, record.way) == (7, 1, "cupti")
    assert (record.executable, record.lost) == ("/bin/a b", False)
    assert record.gpus == {"0000:01:00.0": UsedGpu("NVIDIA H200", 90)}
    assert (record.kernels, record.globals, record.listed) == ({"_Z1kv"}, {"counter"}, {"a\nb"})
    (module,) = record.modules
    assert (module.sha256, module.size_bytes) == (DIGEST.decode(), 640)
    assert module.symbols == {"_Z1kv", "counter"}
    assert record.regions == {("/opt/a:b c.so", 0x1AF0), ("/x", 0)}
    assert record.failed == ["it failed"]


def test_a_killed_process_may_leave_part_of_a_line(tmp_path: Path) -> None:
    whole = FIRST + b"kernel one\nkernel two\nmodule " + DIGEST + b" 9 one\n"
    for length in range(len(whole) + 1):
        records = read(tmp_path, whole[:length])
        if length < len(FIRST):
            assert records == []
        else:
            complete = whole[:length].count(b"\n") - 1
            assert len(records[0].kernels) + len(records[0].modules) == complete


@pytest.mark.parametrize(
    "line",
    [
        b"", b"kernel", b"kernel two names", b"unknown word", b"module", b"module abc 3",
        b"module " + DIGEST, b"module " + DIGEST + b" many", b"module " + DIGEST.upper() + b" 3",
        b"region /x", b"region x:/x", b"region 1 /x",
        b"gpu 0000:01:00.0 90", b"gpu 0000:01:00.0 ninety name", FIRST.strip(), b"\x00\xff\xfe",
    ],
)  # fmt: skip
def test_a_line_that_is_no_event_is_named(tmp_path: Path, line: bytes) -> None:
    with pytest.raises(TrimtabError, match=r"kernels-7-1\.txt, line 3: not a record"):
        read(tmp_path, FIRST + b"kernel one\n" + line + b"\n")


@pytest.mark.parametrize(
    "first", [b"kernel one", b"process 7 1 cupti", b"process x 1 cupti /a", b"process 7 1 other /a"]
)
def test_a_first_line_that_names_no_process(tmp_path: Path, first: bytes) -> None:
    with pytest.raises(TrimtabError, match=r"line 1: not a record"):
        read(tmp_path, first + b"\n")


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    folder = tmp_path_factory.mktemp("record")
    try:
        read(folder, FIRST + data)
    except TrimtabError as error:
        assert "kernels-7-1.txt, line" in str(error)


def test_lost_events_make_the_trace_incomplete(tmp_path: Path) -> None:
    for data, name in (
        (FIRST + b"kernel one\nker", "kernels-7-1.txt.lost"),
        (b"", "kernels-8-1.txt.lost"),
    ):
        read(tmp_path, data, name)
    trace = read_kernel_trace(tmp_path)
    assert [problem.split(" ", 2)[:2] for problem in trace.incomplete_because] == [
        ["process", "7"], ["process", "8"],
    ]  # fmt: skip
    assert [module.kernels for module in trace.modules] == [["one"]]


def test_several_runs_are_united(tmp_path: Path) -> None:
    """A module counts once, with what any process of any run asked of it."""
    module = b"module " + DIGEST + b" 640 a b c\n"
    gpu = b"gpu 0000:01:00.0 90 H200\n"
    for run, (pid, name) in enumerate([(7, b"a"), (8, b"b"), (8, b"elsewhere")]):
        (tmp_path / str(run)).mkdir()
        first = b"process %d 1 cupti /bin/a\n" % pid
        read(tmp_path / str(run), first + gpu + b"kernel " + name + b"\n" + module)
    trace = read_kernel_trace(*(tmp_path / str(run) for run in range(3)))
    nameless, named = trace.modules
    assert (named.kernels, named.processes) == (["a", "b"], [7, 8])
    assert (nameless.sha256, nameless.kernels, nameless.processes) == ("", ["elsewhere"], [8])
    assert trace.gpus == [UsedGpu("H200", 90)]


def test_a_run_that_was_not_traced(tmp_path: Path) -> None:
    (tmp_path / "traced").mkdir()
    trace = read_kernel_trace(tmp_path / "traced", tmp_path / "none")
    assert not trace.traced
    assert trace.not_traced_because.endswith("none: no run was traced into this folder")
