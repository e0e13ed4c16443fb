"""fanotify as the second witness of file tracing: what no call was seen to open is on record."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from file_tracing import trace_files

from trimtab.config.groups.workload import Workload
from trimtab.native import native_path
from trimtab.processes.program import Program
from trimtab.profiling.tracing.files import FileTrace, read_file_trace
from trimtab.profiling.tracing.functions import FunctionTrace
from trimtab.profiling.tracing.kernels import KernelTrace
from trimtab.profiling.usage import usage_of

# Opens its argument by the 32-bit interface, which the filter refuses to follow: 5 is open there.
BY_32_BITS = r"""
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
int main(int count, char **words) {
    char *low = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1,
                     0);
    int file;
    (void)count;
    strcpy(low, words[1]);
    __asm__ volatile("int $0x80" : "=a"(file) : "a"(5), "b"(low), "c"(0), "d"(0) : "memory");
    return file < 0;
}
"""
# Opens by a handle, which is no path: what was looked up is on record only as looked at.
BY_HANDLE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
int main(int count, char **words) {
    struct file_handle *handle = malloc(sizeof *handle + MAX_HANDLE_SZ);
    int mount, folder = open(".", O_RDONLY | O_DIRECTORY);
    (void)count;
    handle->handle_bytes = MAX_HANDLE_SZ;
    if (name_to_handle_at(AT_FDCWD, words[1], handle, &mount, 0)) return 2;
    return open_by_handle_at(folder, handle, O_RDONLY) < 0;
}
"""
Run = Callable[..., FileTrace]


@pytest.fixture
def run(folder: Path, tmp_path: Path) -> Run:
    def run(*command: str | Path) -> FileTrace:
        words = [str(word) for word in command]
        record = tmp_path / "record"
        return trace_files(words, workdir=folder, environment=os.environ, record=record)

    return run


@pytest.fixture
def witnessed(run: Run) -> Run:
    """The same, where fanotify may be used."""
    if run("true").witnessed is None:
        pytest.skip("fanotify may not be used here: it takes root outside of a container")
    return run


@pytest.mark.parametrize("source", [BY_32_BITS, BY_HANDLE], ids=["32_bits", "handle"])
def test_a_file_that_no_call_was_seen_to_open(
    witnessed: Run, folder: Path, compiled: Callable[..., Path], source: str
) -> None:
    hidden = folder / "hidden"
    hidden.write_text("x")
    trace = witnessed(compiled(source), hidden)
    assert trace.exit_status == 0
    assert trace.witnessed_only == (str(hidden),)
    [found] = (file for file in trace.files if file.path == str(hidden))
    assert "read" in found.uses and found.real_path == str(hidden)


def test_it_is_said(witnessed: Run, folder: Path, compiled: Callable[..., Path]) -> None:
    (folder / "hidden").write_text("x")
    program = compiled(BY_32_BITS)
    trace = witnessed(program, folder / "hidden")
    usage = usage_of(
        Workload("it", [str(program)], python="/usr/bin/python3"),
        Program((str(program),), folder, {}, 1.0),
        FunctionTrace([], [], [], [], set(), []),
        KernelTrace([], [], False, "none", []),
        trace,
        1.0,
    )
    [note] = (note for note in usage.notes if "fanotify" in note)
    assert note.startswith("1 files") and note.endswith(str(folder / "hidden"))
    [used] = (file for file in usage.files if file.path == str(folder / "hidden"))
    assert "read" in used.uses


def test_both_see_the_same_of_ordinary_programs(witnessed: Run, folder: Path) -> None:
    """Compilers start others, interpreters of interpreters run, and files come and go."""
    (folder / "a.c").write_text("int main(void) { return 0; }\n")
    (folder / "outer").write_text("#!./inner\n")
    (folder / "inner").write_text("#!/bin/sh\n: ok\n")
    for name in ("outer", "inner"):
        (folder / name).chmod(0o755)
    script = (
        "gcc a.c -o a && ./a && ./outer && cp a b && mv b c && rm c && python3 -c 'import ssl';"
        " exec 3< inner; cat /proc/self/fd/3 /dev/fd/3; mkfifo p; (cat p &); echo x > p"
    )
    trace = witnessed("sh", "-c", script)
    assert trace.complete and trace.exit_status == 0
    assert trace.witnessed_only == ()
    contents = {"read", "write", "execute", "map", "map_execute"}
    by_calls = {file.path for file in trace.files if file.uses & contents}
    assert trace.witnessed is not None and 20 < trace.witnessed <= len(by_calls)


def test_what_others_open_meanwhile_is_not_the_runs(witnessed: Run, folder: Path) -> None:
    (folder / "others").write_text("x")
    for name in ("go", "done"):
        os.mkfifo(folder / name)
    script = "cat go; cat others; echo > done"  # each end of a pipe waits for the other
    with subprocess.Popen(["sh", "-c", script], cwd=folder, stdout=subprocess.DEVNULL) as other:
        trace = witnessed("sh", "-c", "echo > go; cat done")
        assert other.wait(30) == 0
    assert trace.exit_status == 0
    assert not [file for file in trace.files if file.path == str(folder / "others")]


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="apt-get install util-linux")
def test_without_the_right_there_is_no_witness(tmp_path: Path) -> None:
    record = tmp_path / "record"
    tracer = [native_path("trimtab-file-tracer"), record, "--", "cat", "/dev/null"]
    few = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]
    subprocess.run([*(few if os.geteuid() == 0 else []), *tracer], check=True, timeout=60)
    trace = read_file_trace(record)
    assert trace.complete and trace.witnessed is None and trace.witnessed_only == ()
    assert any(file.path == "/dev/null" for file in trace.files)
