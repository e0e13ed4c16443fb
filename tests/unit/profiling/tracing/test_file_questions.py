"""The two ways in which the file tracer is asked: calls that wait for a word, and stops.

Where the kernel or another filter does not let calls wait for a word, all of them stop. A program
that installs a listener of its own and goes on as the tracer takes that way.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from trimtab.native import native_path
from trimtab.profiling.tracing.files import FileTrace, read_file_trace

LISTENING = """
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **words) {
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &allow};
    (void)count;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                           &program);
    if (listener < 0) return perror("seccomp"), 99;
    fcntl(listener, F_SETFD, 0); /* it ends with its last descriptor */
    return execv(words[1], words + 1), 98;
}
"""

Compiled = Callable[..., Path]
Trace = Callable[..., FileTrace]


@pytest.fixture(params=["asked", "stopped"])
def trace(request: pytest.FixtureRequest, tmp_path: Path, compiled: Compiled) -> Trace:
    """Trace a command by either way and return its trace."""
    before = [compiled(LISTENING)] if request.param == "stopped" else []
    tracer = native_path("trimtab-file-tracer")

    def trace(*command: str | Path, cwd: Path) -> FileTrace:
        record = tmp_path / "record"
        subprocess.run([*before, tracer, record, "--", *command], cwd=cwd, timeout=60)
        return read_file_trace(record)

    return trace


def uses_below(trace: FileTrace, folder: Path) -> dict[str, tuple[set[str], str | None]]:
    return {
        file.path: (set(file.uses), file.real_path)
        for file in trace.files
        if file.path.startswith(f"{folder}/")
    }


EVERYTHING = """
import ctypes, mmap, os, sys
libc = ctypes.CDLL(None)
def attempt(call, *arguments, **options):
    try: return call(*arguments, **options)
    except OSError: return None
for _ in range(2):
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_DIRECTORY,
                  os.O_RDONLY | os.O_NOFOLLOW, os.O_PATH, os.O_PATH | os.O_NOFOLLOW):
        for name in ('file', 'folder', 'link', 'to_folder', 'dangling', 'loop', 'absent', 'file/',
                     'folder/', 'to_folder/', 'file/..', 'folder/../file', 'absent/../file',
                     './/file', 'to_folder/inner', 'closed/inner', 'secret'):
            name = f'{flags:o}/{name}'
            descriptor = attempt(os.open, name, flags)
            if descriptor is not None: os.close(descriptor)
            attempt(os.stat, name); attempt(os.lstat, name); attempt(os.readlink, name)
            attempt(os.access, name, os.W_OK); attempt(os.listxattr, name)
            attempt(os.statvfs, name); attempt(os.listdir, name)
    with open('mapped') as file:
        mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ, flags=mmap.MAP_PRIVATE).close()
    attempt(os.stat, '/proc/self/exe'); attempt(os.stat, f'/proc/{os.getpid()}/cwd/mapped')
    with open('mapped') as file:
        attempt(os.stat, f'/dev/fd/{file.fileno()}')
        os.close(os.open(f'/proc/self/fd/{file.fileno()}', os.O_RDONLY))
    os.rename('moves', 'moved'); attempt(os.stat, 'moves/inside'); attempt(os.stat, 'moved/inside')
    os.rename('moved', 'moves')
"""


def test_both_ways_tell_the_same(tmp_path: Path, compiled: Compiled, folder: Path) -> None:
    listening = compiled(LISTENING)
    tracer = native_path("trimtab-file-tracer")
    program = folder.parent / "everything.py"
    program.write_text(EVERYTHING)
    for flags in (0, 1, 2, os.O_DIRECTORY, os.O_NOFOLLOW, os.O_PATH, os.O_PATH | os.O_NOFOLLOW):
        one = folder / f"{flags:o}"
        (one / "folder/inner").mkdir(parents=True)
        (one / "file").touch()
        (one / "link").symlink_to("file")
        (one / "to_folder").symlink_to("folder")
        (one / "dangling").symlink_to("nowhere")
        (one / "loop").symlink_to("loop")
        (one / "closed").mkdir()
        (one / "closed/inner").touch()
        (one / "secret").touch(mode=0)
        (one / "closed").chmod(0)
    (folder / "moves/inside").mkdir(parents=True)
    (folder / "mapped").write_bytes(bytes(4096))
    found = []
    for before in ([], [listening]):
        command = [*before, tracer, tmp_path / "record", "--"]
        command += [sys.executable, "-I", "-S", program]
        subprocess.run(command, cwd=folder, check=True, timeout=60)
        trace = read_file_trace(tmp_path / "record")
        assert trace.complete, trace.incomplete_because
        found.append(uses_below(trace, folder))
    assert len(found[0]) > 90
    assert found[0] == found[1]


def test_signals_fail_no_look_up(trace: Trace, compiled: Compiled, folder: Path) -> None:
    """Before the question is heard a signal ends the wait; the call is to begin anew."""
    (folder / "data").touch()
    program = compiled(
        "#include <errno.h>\n#include <fcntl.h>\n#include <signal.h>\n#include <stdio.h>\n"
        "#include <sys/stat.h>\n#include <sys/time.h>\n#include <unistd.h>\n"
        "static volatile int handled;\n"
        "static void handle(int signal) { (void)signal; handled++; }\n"
        "int main(void) {\n"
        "    struct sigaction action = {.sa_handler = handle};\n"  # no SA_RESTART
        "    struct itimerval often = {{0, 200}, {0, 200}};\n"
        "    struct stat status;\n"
        "    sigaction(SIGALRM, &action, NULL);\n"
        "    setitimer(ITIMER_REAL, &often, NULL);\n"
        "    for (int i = 0; i < 3000 || handled < 3; i++) {\n"
        '        if (stat("data", &status)) return perror("stat"), 1;\n'
        '        int file = open("data", O_RDONLY);\n'
        '        if (file < 0) return perror("open"), 2;\n'
        "        close(file);\n    }\n    return 0;\n}\n",
        "-Wno-unused-result",
    )
    traced = trace(program, cwd=folder)
    assert traced.exit_status == 0 and traced.complete
    assert uses_below(traced, folder) == {
        str(folder / "data"): ({"read", "stat"}, str(folder / "data"))
    }


def test_opening_a_pipe_is_ended_by_a_signal_as_ever(
    trace: Trace, compiled: Compiled, folder: Path
) -> None:
    os.mkfifo(folder / "fifo")
    program = compiled(
        "#include <errno.h>\n#include <fcntl.h>\n#include <signal.h>\n#include <sys/time.h>\n"
        "static void handle(int signal) { (void)signal; }\n"
        "int main(void) {\n"
        "    struct sigaction action = {.sa_handler = handle};\n"
        "    struct itimerval soon = {{0, 20000}, {0, 20000}};\n"
        "    sigaction(SIGALRM, &action, 0);\n"
        "    setitimer(ITIMER_REAL, &soon, 0);\n"
        '    return open("fifo", O_RDONLY) < 0 && errno == EINTR ? 0 : 1;\n}\n'
    )
    assert trace(program, cwd=folder).exit_status == 0


def test_many_who_ask_and_many_who_stop_get_on(trace: Trace, folder: Path) -> None:
    """Threads that only look, beside processes that change names and end."""
    (folder / "data").touch()
    program = folder.parent / "busy.py"
    program.write_text(
        "import os, threading\n"
        "stop = threading.Event()\n"
        "def look():\n"
        "    while not stop.is_set(): os.stat('data')\n"
        "threads = [threading.Thread(target=look) for _ in range(4)]\n"
        "for thread in threads: thread.start()\n"
        "for number in range(40):\n"
        "    if not (pid := os.fork()):\n"
        "        os.mkdir(str(number)); os.rename(str(number), f'{number}.new'); os._exit(0)\n"
        "    assert os.waitpid(pid, 0)[1] == 0\n"
        "stop.set()\n"
    )
    traced = trace(sys.executable, "-I", "-S", program, cwd=folder)
    assert traced.exit_status == 0 and traced.complete, traced.incomplete_because
    assert len(uses_below(traced, folder)) == 1 + 2 * 40
    assert len(traced.processes) == 41


def test_a_thread_that_is_killed_while_it_asks(trace: Trace, folder: Path) -> None:
    program = folder.parent / "killed.py"
    program.write_text(
        "import os, signal, threading\n"
        "def look():\n"
        "    while True: os.stat('.')\n"
        "for number in range(20):\n"
        "    if not (pid := os.fork()):\n"
        "        threading.Thread(target=look).start(); look()\n"
        "    for _ in range(20): os.stat('..')\n"
        "    os.kill(pid, signal.SIGKILL)\n"
        "    assert os.waitpid(pid, 0)[1] == signal.SIGKILL\n"
    )
    traced = trace(sys.executable, "-I", "-S", program, cwd=folder)
    assert traced.exit_status == 0 and traced.complete, traced.incomplete_because
    assert [each.end for each in traced.processes[1:]] == ["killed"] * 20


def test_another_program_s_listener_is_refused_and_nothing_is_missed(
    compiled: Compiled, folder: Path, tmp_path: Path
) -> None:
    (folder / "data").touch()
    tracer = native_path("trimtab-file-tracer")
    command = [tracer, tmp_path / "record", "--", compiled(LISTENING), "/bin/cat", "data"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 99 and "busy" in ended.stderr
    assert read_file_trace(tmp_path / "record").complete
