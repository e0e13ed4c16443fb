import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from file_tracing import trace_files
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trimtab.cli.doctor import missing
from trimtab.errors import TrimtabError, UserError
from trimtab.native import native_path
from trimtab.profiling.tracing.files import FileTrace, read_file_trace

PROJECT = Path(__file__).parents[4]

Run = Callable[..., FileTrace]


@pytest.fixture
def run(folder: Path, tmp_path: Path) -> Run:
    def run(*command: str | Path, **options: float) -> FileTrace:
        return trace_files(
            [str(part) for part in command],
            workdir=folder,
            environment=os.environ,
            record=tmp_path / "record",
            stdout=tmp_path / "stdout",
            stderr=tmp_path / "stderr",
            **options,
        )

    return run


@pytest.fixture
def run_python(run: Run, folder: Path) -> Run:
    def run_python(program: str, **options: float) -> FileTrace:
        script = folder.parent / "program.py"
        script.write_text(program)
        return run(sys.executable, "-I", "-S", script, **options)

    return run_python


def uses(trace: FileTrace, path: Path | str) -> set[str]:
    return {use for file in trace.files if file.path == str(path) for use in file.uses}


def real_path(trace: FileTrace, path: Path | str) -> str | None:
    (found,) = (file.real_path for file in trace.files if file.path == str(path))
    return found


# How files are used


def test_each_kind_of_use_is_told_apart(run_python: Run, folder: Path) -> None:
    for name in ("opened", "stated", "listed/inside", "both", "mapped", "mapped_code", "accessed"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x" * 4096)
    (folder / "link").symlink_to("stated")
    trace = run_python(
        "import os, mmap\n"
        "open('opened').read()\n"
        "os.stat('stated'); os.access('accessed', os.R_OK); os.listdir('listed')\n"
        "os.readlink('link'); open('both', 'r+').close()\n"
        "for name, protection in ('mapped', mmap.PROT_READ), ('mapped_code', mmap.PROT_EXEC):\n"
        "    f = open(name); mmap.mmap(f.fileno(), 4096, prot=protection, flags=mmap.MAP_PRIVATE)\n"
        "for look in os.stat, open, os.listdir, os.readlink, os.unlink:\n"
        "    try: look('absent/' + look.__name__)\n"
        "    except FileNotFoundError: pass\n"
    )
    assert trace.complete, trace.incomplete_because
    expected = {
        "opened": {"read"},
        "stated": {"stat"},
        "accessed": {"stat"},
        "listed": {"stat", "list"},
        "listed/inside": set(),
        "link": {"readlink"},
        "both": {"read", "write"},
        "mapped": {"read", "map"},
        "mapped_code": {"read", "map_execute"},
        **{
            f"absent/{name}": {"missing"}
            for name in ("stat", "open", "listdir", "readlink", "unlink")
        },
    }
    assert {name: uses(trace, folder / name) for name in expected} == expected
    assert real_path(trace, folder / "absent/stat") is None
    assert real_path(trace, folder / "link") == str(folder / "link")


def test_changes_are_writes_and_what_they_create_was_missing(run_python: Run, folder: Path) -> None:
    existing = ["old", "removed", "truncated", "changed", "linked", "overwritten"]
    for name in existing:
        (folder / name).write_text("content")
    trace = run_python(
        "import os\n"
        "open('created', 'w').close(); open('overwritten', 'w').close()\n"
        "os.mkdir('directory'); os.symlink('nowhere', 'symlink'); os.link('linked', 'hard')\n"
        "os.rename('old', 'new'); os.unlink('removed'); os.truncate('truncated', 1)\n"
        "os.chmod('changed', 0o600); os.utime('changed')\n"
        "os.mkdir('brief'); os.rmdir('brief')\n"
    )
    created = ["created", "directory", "symlink", "hard", "new", "brief"]
    assert {name: uses(trace, folder / name) for name in existing} == {
        name: {"write"} for name in existing
    }
    assert {name: uses(trace, folder / name) for name in created} == {
        name: {"write", "missing"} for name in created
    }
    assert trace.complete


def test_refused_look_ups_are_of_files_that_are_there(run_python: Run, folder: Path) -> None:
    (folder / "plain").touch()
    (folder / "link").symlink_to("plain")
    trace = run_python(
        "import os\n"
        "for attempt in (lambda: os.mkdir('plain'), lambda: os.readlink('plain'),\n"
        "                lambda: os.open('plain', os.O_DIRECTORY),\n"
        "                lambda: os.open('link', os.O_NOFOLLOW)):\n"
        "    try: attempt()\n"
        "    except OSError: continue\n"
        "    raise SystemExit('did not fail')\n"
    )
    assert trace.exit_status == 0
    assert uses(trace, folder / "plain") == {"stat"}
    assert uses(trace, folder / "link") == {"stat"}


def test_a_file_that_appears_later_is_missing_and_read(run_python: Run, folder: Path) -> None:
    trace = run_python(
        "import os\n"
        "def look():\n"
        "    try: open('late').close()\n"
        "    except FileNotFoundError: pass\n"
        "look(); look(); open('other', 'w').close(); os.rename('other', 'late'); look()\n"
    )
    assert uses(trace, folder / "late") == {"missing", "write", "read"}
    assert real_path(trace, folder / "late") == str(folder / "late")


# Names


def test_links_on_the_way_are_links(run_python: Run, folder: Path) -> None:
    (folder / "store/1.0").mkdir(parents=True)
    (folder / "store/1.0/data").write_text("x")
    (folder / "current").symlink_to("store/latest")
    (folder / "store/latest").symlink_to(folder / "store/1.0")
    (folder / "alias").symlink_to("current/../1.0/data")
    trace = run_python("open('alias'); open('./current//data')")
    data = folder / "store/1.0/data"
    assert uses(trace, folder / "alias") == {"link", "read"}
    assert uses(trace, folder / "current") == {"link"}
    assert uses(trace, folder / "store/latest") == {"link"}
    assert uses(trace, folder / "current/data") == {"read"}
    assert uses(trace, data) == {"read"}
    for path in (folder / "alias", folder / "current/data", data):
        assert real_path(trace, path) == str(data)
    assert real_path(trace, folder / "current") == str(folder / "store/1.0")


def test_links_that_lead_nowhere(run_python: Run, folder: Path) -> None:
    (folder / "dangling").symlink_to("absent")
    (folder / "loop").symlink_to("loop")
    trace = run_python(
        "import os\nfor name in 'dangling', 'loop':\n"
        "    try: os.stat(name)\n    except OSError: pass\n"
    )
    assert uses(trace, folder / "dangling") == {"link", "missing"}
    assert uses(trace, folder / "absent") == {"missing"}
    assert uses(trace, folder / "loop") <= {"link", "stat"}
    assert trace.complete


@pytest.mark.parametrize(
    "change",
    [
        "os.symlink('two', 'new'); os.rename('new', 'link')",
        "os.unlink('link'); os.symlink('two', 'link')",
        "os.rename('one', 'old'); os.rename('two', 'one'); os.symlink('one', 'two')",
    ],
)
def test_a_path_that_changes_is_followed_anew(run_python: Run, folder: Path, change: str) -> None:
    for version in ("one", "two"):
        (folder / version).mkdir()
        (folder / version / "data").write_text(version)
    (folder / "link").symlink_to("one")
    trace = run_python(f"import os\ndef look(): open('link/data')\nlook(); {change}; look()")
    reached = os.path.realpath(folder / "link/data")
    assert Path(reached).read_text() == "two"
    assert "read" in uses(trace, reached)


def test_relative_paths_start_where_the_thread_or_descriptor_is(
    run_python: Run, folder: Path
) -> None:
    (folder / "a/b").mkdir(parents=True)
    for name in ("a/first", "a/b/second", "a/third", "fourth"):
        (folder / name).touch()
    trace = run_python(
        "import os\n"
        "here = os.open('.', os.O_DIRECTORY)\n"
        "os.chdir('a'); open('first')\n"
        "b = os.open('b', os.O_RDONLY); os.open('second', os.O_RDONLY, dir_fd=b)\n"
        "os.fchdir(b); open('../third'); os.stat('fourth', dir_fd=here)\n"
    )
    for name in ("a/first", "a/b/second", "a/third"):
        assert uses(trace, folder / name) == {"read"}, name
    assert uses(trace, folder / "fourth") == {"stat"}
    assert uses(trace, folder / "a") == {"stat"}


@pytest.mark.parametrize(
    "name", [b"\xff\xfe", b"two\nlines", b'"quoted"\\', "é€".encode(), b"\x01"]
)
def test_any_name_survives(run: Run, folder: Path, name: bytes) -> None:
    path = folder / os.fsdecode(name)
    path.touch()
    trace = run("cat", path.name)
    assert uses(trace, path) == {"read"}


def test_proc_self_is_the_traced_process(run_python: Run, folder: Path) -> None:
    (folder / "data").touch()
    trace = run_python(
        "import os, sys\nf = open('data')\nos.stat('/proc/self/exe')\n"
        "os.stat(f'/dev/fd/{f.fileno()}'); r, w = os.pipe(); os.stat(f'/proc/self/fd/{r}')\n"
    )
    assert real_path(trace, "/proc/self/exe") == os.path.realpath(sys.executable)
    assert "stat" in uses(trace, folder / "data")
    assert "link" in uses(trace, "/proc/self")


components = st.sampled_from(["a", "b", "file", "up", "down", "..", ".", ""])


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(components, min_size=1, max_size=7).map("/".join), max_size=40))
def test_real_paths_are_those_of_the_operating_system(
    run: Run, folder: Path, paths: list[str]
) -> None:
    if not (folder / "a").exists():
        (folder / "a/b").mkdir(parents=True)
        (folder / "file").touch()
        (folder / "a/file").symlink_to("../file")
        (folder / "a/up").symlink_to("..")
        (folder / "a/b/up").symlink_to(folder / "a")
        (folder / "down").symlink_to("a/b/")
    paths = [f"./{path}" for path in paths]
    trace = run("stat", "-L", "--", "./a", *paths)
    for path in paths:
        # Not pathlib, which drops the last slash that makes `file/` an error.
        real = os.path.realpath(f"{folder}/{path}")
        if os.access(f"{folder}/{path}", os.F_OK):
            assert "stat" in uses(trace, real) and real_path(trace, real) == real
    for file in trace.files:
        if "link" in file.uses and file.path.startswith(str(folder)):
            assert Path(file.path).is_symlink()
        if file.real_path:
            assert os.path.realpath(file.path) == file.real_path or "/proc/" in file.path


# Processes and threads

PROCESSES = {
    "fork": "import os\nif not os.fork(): open('theirs'); os._exit(0)\nos.wait()",
    "spawn": (
        "import multiprocessing, os\n"
        "if __name__ == '__main__':\n"
        "    context = multiprocessing.get_context('spawn')\n"
        "    worker = context.Process(target=open, args=('theirs',)); worker.start(); worker.join()"
    ),
    "posix_spawn": (
        "import os, shutil\n"
        "os.waitpid(os.posix_spawn(shutil.which('cat'), ['cat', 'theirs'], os.environ), 0)"
    ),
    "vfork": "import subprocess\nsubprocess.run(['cat', 'theirs'], check=True)",
    "grandchild": "import subprocess\nsubprocess.run('sh -c \"cat theirs\"; true', shell=True)",
}


@pytest.mark.parametrize("program", PROCESSES.values(), ids=PROCESSES)
def test_every_process_is_traced(run_python: Run, folder: Path, program: str) -> None:
    (folder / "theirs").touch()
    trace = run_python(program)
    assert trace.complete and trace.exit_status == 0
    assert uses(trace, folder / "theirs") == {"read"}
    first, *others = trace.processes
    assert first.executable == os.path.realpath(sys.executable)
    assert others and first.pid not in {process.pid for process in others}
    known = {process.pid for process in trace.processes}
    assert all(process.parent_pid in known for process in others)
    assert all(process.end in ("exit", "exec") for process in trace.processes)


def test_every_thread_is_traced(run_python: Run, folder: Path) -> None:
    for number in range(20):
        (folder / str(number)).touch()
    trace = run_python(
        "from threading import Thread\n"
        "threads = [Thread(target=open, args=(str(n),)) for n in range(20)]\n"
        "for t in threads: t.start()\nfor t in threads: t.join()\n"
    )
    assert all(uses(trace, folder / str(number)) == {"read"} for number in range(20))
    assert len(trace.processes) == 1


def test_a_pipeline_of_a_shell(run: Run, folder: Path) -> None:
    (folder / "in").write_text("b\na\n")
    trace = run("sh", "-c", "cat in | sort > out; exit 7")
    assert (folder / "out").read_text() == "a\nb\n"
    assert uses(trace, folder / "in") == {"read"}
    assert uses(trace, folder / "out") == {"write", "missing"}
    programs = {Path(process.executable).name for process in trace.processes}
    assert {"cat", "sort"} <= programs
    assert trace.exit_status == 7 and trace.complete


def test_exec_keeps_the_process_and_changes_its_program(run: Run) -> None:
    trace = run("sh", "-c", "exec cat /dev/null")
    before, after = trace.processes
    assert before.pid == after.pid and before.parent_pid == after.parent_pid
    assert (before.end, before.status) == ("exec", None)
    assert (Path(after.executable).name, after.end, after.status) == ("cat", "exit", 0)


def test_exec_by_another_thread_than_the_first(run_python: Run, folder: Path) -> None:
    (folder / "data").touch()
    trace = run_python(
        "import os, shutil, threading\n"
        "path = shutil.which('cat')\n"
        "threading.Thread(target=os.execv, args=(path, ['cat', 'data'])).start()\n"
        "threading.Event().wait()\n"
    )
    assert trace.complete and trace.exit_status == 0
    assert [process.end for process in trace.processes] == ["exec", "exit"]
    assert uses(trace, folder / "data") == {"read"}
    assert "execute" in uses(trace, os.path.realpath(shutil.which("cat") or ""))


def test_scripts_need_their_interpreters_and_programs_their_loader(run: Run, folder: Path) -> None:
    shell = folder / "shell"
    shell.symlink_to("/bin/sh")
    script, outer = folder / "script", folder / "outer"
    script.write_text(f"#! {shell} -e\nexit 4\n")
    outer.write_text(f"#!{script}\n")
    for file in (script, outer):
        file.chmod(0o755)
    trace = run("./outer")
    assert trace.exit_status == 4
    for path in (outer, script, shell, os.path.realpath("/bin/sh")):
        assert "execute" in uses(trace, path), path
    assert "link" in uses(trace, shell)
    assert uses(trace, "/lib64/ld-linux-x86-64.so.2") >= {"map_execute"}


def test_a_static_program_whose_first_thread_ends_first(
    run: Run, folder: Path, compiled: Callable[..., Path]
) -> None:
    (folder / "data").touch()
    program = compiled(
        "#include <fcntl.h>\n#include <pthread.h>\n#include <stdlib.h>\n"
        "static pthread_t first;\n"
        "static void *work(void *argument) {\n"
        "    pthread_join(first, NULL); open(argument, O_RDONLY); exit(7);\n}\n"
        "int main(void) {\n"
        "    pthread_t thread; first = pthread_self();\n"
        '    pthread_create(&thread, NULL, work, "data"); pthread_exit(NULL);\n}\n',
        "-static",
        "-pthread",
    )
    trace = run(program)
    assert trace.exit_status == 7 and trace.complete
    assert uses(trace, folder / "data") == {"read"}
    assert not [file for file in trace.files if "map_execute" in file.uses]


# Signals


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTRAP, signal.SIGSEGV])
def test_the_signal_that_kills_is_passed_on(run_python: Run, number: int) -> None:
    trace = run_python(f"import os\nos.kill(os.getpid(), {number})")
    assert trace.exit_status == 128 + number
    assert [(p.end, p.status) for p in trace.processes] == [("killed", number)]
    assert trace.complete


def test_a_killed_child_is_recorded(run_python: Run, folder: Path) -> None:
    (folder / "data").touch()
    trace = run_python(
        "import os, signal\nr, w = os.pipe()\n"
        "if not (pid := os.fork()):\n"
        "    open('data'); os.write(w, b'.'); signal.pause()\n"
        "os.read(r, 1); os.kill(pid, signal.SIGKILL); assert os.wait()[1] == signal.SIGKILL\n"
    )
    assert trace.exit_status == 0 and trace.complete
    assert (trace.processes[1].end, trace.processes[1].status) == ("killed", signal.SIGKILL)
    assert uses(trace, folder / "data") == {"read"}


def test_a_program_gets_its_own_sigtraps(run_python: Run) -> None:
    trace = run_python(
        "import os, signal\nseen = []\n"
        "signal.signal(signal.SIGTRAP, lambda *_: seen.append(1))\n"
        "for _ in range(3): os.kill(os.getpid(), signal.SIGTRAP)\n"
        "raise SystemExit(len(seen))\n"
    )
    assert trace.exit_status == 3


def test_breakpoint_instructions_reach_the_program(run: Run, compiled: Callable[..., Path]) -> None:
    program = compiled(
        "#include <signal.h>\nstatic volatile int seen;\n"
        "static void handle(int signal) { seen += signal == SIGTRAP; }\n"
        "int main(void) {\n    signal(SIGTRAP, handle);\n"
        '    for (int i = 0; i < 5; i++) __asm__("int3");\n    return seen;\n}\n'
    )
    assert run(program).exit_status == 5


def test_stopped_processes_stay_stopped_until_continued(run_python: Run, folder: Path) -> None:
    (folder / "data").touch()
    trace = run_python(
        "import os, signal\nr, w = os.pipe()\n"
        "if not (pid := os.fork()):\n"
        "    os.close(w); os.read(r, 1); open('data'); os._exit(9)\n"
        "for _ in range(3):\n"
        "    os.kill(pid, signal.SIGSTOP)\n"
        "    assert os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1])\n"
        "    os.kill(pid, signal.SIGCONT)\n"
        "    assert os.WIFCONTINUED(os.waitpid(pid, os.WCONTINUED)[1])\n"
        "os.kill(pid, signal.SIGSTOP); os.waitpid(pid, os.WUNTRACED); os.close(w)\n"
        "assert os.waitpid(pid, os.WNOHANG) == (0, 0)\n"
        "os.kill(pid, signal.SIGCONT); status = os.waitpid(pid, 0)[1]\n"
        "assert os.waitstatus_to_exitcode(status) == 9\n",
        timeout_s=60,
    )
    assert trace.exit_status == 0 and trace.complete, trace.incomplete_because
    assert uses(trace, folder / "data") == {"read"}


def start(tracer_record: Path, program: str) -> "subprocess.Popen[str]":
    """The tracer running a Python program that has printed its first line."""
    process = subprocess.Popen(
        [native_path("trimtab-file-tracer"), tracer_record, "--", sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        # A shell starts background jobs with SIGINT ignored, and that is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout and process.stdout.readline() == "ready\n"
    return process


def test_a_killed_tracer_leaves_an_incomplete_record_and_no_processes(tmp_path: Path) -> None:
    record = tmp_path / "record"
    process = start(
        record,
        "import os, signal\nif not os.fork(): print('ready', flush=True)\nsignal.pause()",
    )
    process.kill()
    assert process.stdout and process.stdout.read() == ""  # its end: nobody holds the pipe now
    process.wait()
    trace = read_file_trace(record)
    assert not trace.complete and trace.exit_status is None
    assert len(trace.incomplete_because) == 3
    assert {process.end for process in trace.processes} == {"unknown"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_tracer_reaches_the_command(tmp_path: Path, number: int) -> None:
    record, late = tmp_path / "record", tmp_path / "late"
    late.touch()
    process = start(
        record,
        "import signal\n"
        f"def leave(*_): open({str(late)!r}); raise SystemExit(5)\n"
        f"signal.signal({number}, leave)\nprint('ready', flush=True)\nsignal.pause()",
    )
    process.send_signal(number)
    process.communicate()
    trace = read_file_trace(record)
    assert process.returncode == trace.exit_status == 5
    assert uses(trace, late) == {"read"}
    assert not trace.complete and f"signal {number}" in trace.incomplete_because[0]


def test_a_second_signal_kills(tmp_path: Path) -> None:
    process = start(
        tmp_path / "record",
        "import os, signal\nsignal.signal(signal.SIGTERM, lambda *_: os.write(1, b'no\\n'))\n"
        "print('ready', flush=True)\nwhile True: signal.pause()",
    )
    assert process.stdout
    process.terminate()
    assert process.stdout.readline() == "no\n"
    process.terminate()
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def test_a_daemon_that_outlives_the_command_is_ended_and_counts(
    run_python: Run, folder: Path
) -> None:
    """A run would not end otherwise."""
    (folder / "data").touch()
    trace = run_python(
        "import os, signal\nr, w = os.pipe()\n"
        "if not os.fork():\n"
        "    os.setsid(); open('data'); os.write(w, b'.')\n"
        "    while True: signal.pause()\n"
        "os.read(r, 1); raise SystemExit(3)\n",
        timeout_s=60,
    )
    assert trace.exit_status == 3 and trace.complete, trace.incomplete_because
    assert [(each.end, each.status) for each in trace.processes] == [
        ("exit", 3), ("killed", signal.SIGKILL),
    ]  # fmt: skip
    assert uses(trace, folder / "data") == {"read"}


# In the tracer, a parent's word of a new child waits until that has ended.
LATE_PARENTS = """
#include <sys/ptrace.h>
#include <sys/wait.h>
pid_t __real_waitpid(pid_t pid, int *status, int options);
pid_t __wrap_waitpid(pid_t pid, int *status, int options) {
  static pid_t parent, ended;
  static int held;
  if (parent && ended) { pid_t tid = parent; *status = held; parent = ended = 0; return tid; }
  for (;;) {
    pid_t tid = __real_waitpid(pid, status, options);
    if (tid > 0 && !parent && WIFSTOPPED(*status) && *status >> 16 == PTRACE_EVENT_FORK) {
      parent = tid; held = *status; continue;
    }
    if (tid > 0 && !WIFSTOPPED(*status)) ended = 1;
    return tid;
  }
}
"""


def test_a_child_that_lives_and_dies_before_its_parent_tells_of_it(
    tmp_path: Path, compiled: Callable[..., Path]
) -> None:
    """As on a busy machine, where the parent is not scheduled after it has forked."""
    program = compiled(
        "#include <sys/wait.h>\n#include <unistd.h>\n"
        "int main(void) { if (!fork()) _exit(7); wait(0); return 0; }\n"
    )
    sources = sorted(map(str, (PROJECT / "native/file_tracer").glob("*.c")))
    tracer = compiled(LATE_PARENTS, *sources, "-static", "-Wl,--wrap=waitpid")
    subprocess.run([tracer, tmp_path / "record", "--", program], check=True, timeout=60)
    trace = read_file_trace(tmp_path / "record")
    assert trace.complete, trace.incomplete_because
    assert [(each.end, each.status) for each in trace.processes] == [("exit", 0), ("exit", 7)]


def test_the_tracer_ends_by_the_signal_that_ends_the_command(tmp_path: Path) -> None:
    tracer = native_path("trimtab-file-tracer")
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV):
        ended = subprocess.run(
            [tracer, tmp_path / "record", "--", "sh", "-c", f"kill -{number} $$"]
        )
        assert ended.returncode == -number
        assert read_file_trace(tmp_path / "record").complete


def test_a_run_out_of_time_is_ended(run: Run) -> None:
    trace = run("sleep", "1000", timeout_s=0.2)
    assert trace.exit_status == 128 + signal.SIGTERM
    assert not trace.complete


# What cannot be recorded is said


def test_ptrace_by_the_program_makes_the_record_incomplete(run_python: Run) -> None:
    trace = run_python("import ctypes\nctypes.CDLL(None).ptrace(0, 0, 0, 0)")
    assert not trace.complete and "ptrace" in trace.incomplete_because[0]
    assert trace.exit_status == 0


def test_a_process_that_is_traced_by_its_program_ends_the_run_in_a_word(
    run: Run, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    """Its parent would wait for a stop that only the tracer learns of."""
    program = compiled(
        "#include <signal.h>\n#include <sys/ptrace.h>\n#include <sys/wait.h>\n"
        "#include <unistd.h>\nint main(void) { int status; pid_t child = fork();\n"
        "if (!child) { ptrace(PTRACE_TRACEME, 0, 0, 0); raise(SIGSTOP); _exit(0); }\n"
        "waitpid(child, &status, 0); return ptrace(PTRACE_CONT, child, 0, 0) != 0; }\n"
    )
    assert subprocess.run([program], timeout=60).returncode == 0
    trace = run(program, timeout_s=60)
    assert trace.exit_status == 125 and not trace.complete
    assert "traced by the program itself (ptrace)" in trace.told[-1]
    assert "traced by the program itself (ptrace)" in (tmp_path / "stderr").read_text()
    assert {process.end for process in trace.processes} == {"killed"}


@pytest.mark.parametrize(
    "start",
    [
        "syscall(SYS_clone, CLONE_UNTRACED | SIGCHLD, 0, 0, 0, 0)",
        "syscall(SYS_clone3, &arguments, sizeof arguments)",
    ],
)
def test_a_child_that_refuses_to_be_traced_is_traced(
    start: str, run: Run, compiled: Callable[..., Path], folder: Path
) -> None:
    """It could use no file otherwise: the filter stays, and asks a tracer that is not there."""
    (folder / "data").touch()
    program = compiled(
        "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <linux/sched.h>\n#include <signal.h>\n"
        "#include <sys/syscall.h>\n#include <sys/wait.h>\n#include <unistd.h>\n"
        "int main(void) { int status; struct clone_args arguments =\n"
        "{.flags = CLONE_UNTRACED, .exit_signal = SIGCHLD};\n"
        f"pid_t child = {start}; (void)arguments;\n"
        'if (!child) _exit(open("data", O_RDONLY) < 0);\n'
        "return waitpid(child, &status, 0) != child || status; }\n"
    )
    trace = run(program)
    assert trace.exit_status == 0 and trace.complete, trace.incomplete_because
    assert uses(trace, folder / "data") == {"read"} and len(trace.processes) == 2


def test_what_was_put_in_the_record_s_place_is_not_waited_for(tmp_path: Path) -> None:
    tracer = native_path("trimtab-file-tracer")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("secret")
    for name in ("fifo", "link"):
        ended = subprocess.run([tracer, tmp_path / name, "--", "true"], timeout=60)
        assert ended.returncode == 125
    assert not (tmp_path / "secret").exists()


def test_io_uring_is_refused_as_by_a_system_without_it(run_python: Run) -> None:
    setup, no_such_call = 425, 38
    trace = run_python(
        "import ctypes\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        f"assert libc.syscall({setup}, 4, ctypes.create_string_buffer(256)) == -1\n"
        f"assert ctypes.get_errno() == {no_such_call}\n"
    )
    assert trace.complete


def test_32_bit_system_calls_make_the_record_incomplete(
    run: Run, compiled: Callable[..., Path]
) -> None:
    # int 0x80 enters the 32-bit interface from 64-bit code, too; 20 is getpid there.
    program = compiled(
        "int main(void) {\n    int pid;\n"
        '    __asm__ volatile("int $0x80" : "=a"(pid) : "a"(20));\n    return 0;\n}\n'
    )
    trace = run(program)
    assert not trace.complete and "32-bit" in trace.incomplete_because[0]


def test_a_setuid_program_makes_the_record_incomplete(run: Run, tmp_path: Path) -> None:
    program = Path(shutil.which("su") or "/bin/su")
    if os.geteuid() == 0:
        program = Path(shutil.copy(shutil.which("true") or "/bin/true", tmp_path / "setuid"))
        os.chown(program, 65534, -1)
        program.chmod(0o4755)
    assert program.stat().st_mode & stat.S_ISUID
    trace = run(program, "--version")
    assert not trace.complete and "setuid" in trace.incomplete_because[0]


# Failures


@pytest.mark.parametrize(
    ("content", "mode", "expected"),
    [
        (None, 0, "command not found"),
        ("exit 0\n", 0o644, "Permission denied"),
        ("#!/no/such/interpreter\n", 0o755, "interpreter"),
    ],
)
def test_a_command_that_cannot_start_is_the_users_mistake(
    run: Run, folder: Path, content: str | None, mode: int, expected: str
) -> None:
    if content is not None:
        (folder / "command").write_text(content)
        (folder / "command").chmod(mode)
    with pytest.raises(UserError, match=rf"\./command: .*{expected}"):
        run("./command")


@pytest.mark.parametrize(("command", "status"), [("no-such-command", 127), ("/", 126)])
def test_exit_statuses_of_commands_that_cannot_start(
    tmp_path: Path, command: str, status: int
) -> None:
    tracer = native_path("trimtab-file-tracer")
    ended = subprocess.run(
        [tracer, tmp_path / "record", "--", command], capture_output=True, text=True
    )
    assert ended.returncode == status
    assert ended.stderr.startswith(f"trimtab-file-tracer: {command}: ")
    assert not read_file_trace(tmp_path / "record").complete


def test_a_command_may_exit_with_any_status(run: Run) -> None:
    for status in (1, 125, 126, 127, 255):
        trace = run("sh", "-c", f"exit {status}")
        assert trace.exit_status == status and trace.complete


def test_nothing_to_run_and_nowhere_to_run(run: Run, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no command"):
        run()
    with pytest.raises(UserError, match="not a directory"):
        trace_files(
            ["true"], workdir=tmp_path / "absent", environment={}, record=tmp_path / "record"
        )


def test_a_full_disk_is_an_error(tmp_path: Path) -> None:
    tracer = native_path("trimtab-file-tracer")
    ended = subprocess.run([tracer, "/dev/full", "--", "true"], capture_output=True, text=True)
    assert ended.returncode == 125
    assert "/dev/full" in ended.stderr and "No space" in ended.stderr


def test_a_record_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises((TrimtabError, OSError)):
        trace_files(["true"], workdir=tmp_path, environment=os.environ, record=folder)


# Records


@pytest.fixture(scope="module")
def whole_record(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("record")
    trace_files(
        ["sh", "-c", "cat /dev/null; exec true"],
        workdir=folder,
        environment=os.environ,
        record=folder / "record",
    )
    return (folder / "record").read_bytes()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_record_cut_anywhere_is_not_complete(
    whole_record: bytes, tmp_path: Path, data: st.DataObject
) -> None:
    record = tmp_path / "record"
    record.write_bytes(whole_record)
    assert read_file_trace(record).complete
    record.write_bytes(whole_record[: data.draw(st.integers(0, len(whole_record) - 1))])
    assert not read_file_trace(record).complete


@pytest.mark.parametrize(
    "line",
    [
        b"\x00\xff",
        b"[1]",
        b'{"path": "/a"}',
        b'{"path": "/a", "uses": ["eat"], "real": null}',
        b'{"ended": 1, "exit": 0}',
        b'{"path": [], "uses": [], "real": null}',
        b"{}",
    ],
)
def test_what_is_no_record_is_refused(tmp_path: Path, line: bytes) -> None:
    record = tmp_path / "record"
    record.write_bytes(line + b"\n")
    with pytest.raises(UserError, match="record"):
        read_file_trace(record)
    with pytest.raises(UserError, match="no such record"):
        read_file_trace(tmp_path / "absent")


def test_uses_of_a_path_add_up(tmp_path: Path) -> None:
    lines = [
        {"path": "/a", "uses": ["missing"], "real": None},
        {"path": "/a", "uses": ["write", "read"], "real": "/b"},
        {"end": True, "exit": 0},
    ]
    record = tmp_path / "record"
    record.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (file,) = read_file_trace(record).files
    assert (file.real_path, file.uses) == ("/b", {"missing", "write", "read"})


# Against another tracer


SHELL = "for f in /usr /etc; do ls -l $f | sort | head -2; done; test -e /absent; cat /etc/passwd"


@pytest.mark.skipif(bool(reason := missing("strace")), reason=reason)
@pytest.mark.parametrize(
    "program", [[sys.executable, "-c", "import json, numpy"], ["sh", "-c", SHELL]]
)
def test_the_same_files_as_strace(
    program: list[str], run: Run, tmp_path: Path, folder: Path
) -> None:
    log = tmp_path / "strace"
    subprocess.run(
        ["strace", "-ff", "-y", "-qq", "-e", "trace=%file,getdents64,mmap", "-o", log, *program],
        check=True,
        cwd=folder,
        stdout=subprocess.DEVNULL,
    )
    opened, missing, looked_at, listed = set(), set(), set(), set()
    lines = [line for each in tmp_path.glob("strace.*") for line in each.read_text().splitlines()]
    for line in lines:
        call, _, rest = line.partition("(")
        result = rest.rpartition(" = ")[2]
        named = rest.partition('"')[2].startswith("/")
        if call == "openat" and not result.startswith("-1"):
            opened.add(result.partition("<")[2].rpartition(">")[0])
        elif call == "getdents64":
            listed.add(rest.partition("<")[2].partition(">")[0])
        elif "ENOENT" in result and named:
            missing.add(os.path.realpath(rest.split('"')[1]))
        elif named and result == "0" and "NOFOLLOW" not in rest and call != "execve":
            looked_at.add(os.path.realpath(rest.split('"')[1]))
    trace = run(*program)
    assert trace.complete
    directories = {path for path in opened if Path(path).is_dir()}
    real = [file for file in trace.files if file.path == file.real_path]
    assert {file.path for file in real if "read" in file.uses} == opened - directories
    assert directories <= {file.path for file in real if "stat" in file.uses}
    assert listed and listed == {file.path for file in real if "list" in file.uses}
    assert missing and missing <= {file.path for file in trace.files if "missing" in file.uses}
    assert looked_at and looked_at <= {file.path for file in real if "stat" in file.uses}
