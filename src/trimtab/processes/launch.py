"""Start a program in its own session, and follow it to its end."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from typing import Any

from trimtab.errors import UserError
from trimtab.processes.drive import Driving, check_address
from trimtab.processes.marks import ExitWatcher, FileFollower, MarkLog, PipeReader
from trimtab.processes.program import Program
from trimtab.processes.run_processes import RunProcesses, adopting_orphans
from trimtab.untrusted import new_file


class Launched:
    """A running program: its number, its start, its marks, and its end.

    `news` is set whenever a mark arrives or the program ends.
    """

    def __init__(self, program: Program) -> None:
        self.news = Event()
        self.marks = MarkLog(program.marks)
        self.started_at = 0.0
        self.pid = 0
        self.exit: ExitWatcher | None = None
        self.driving: Driving | None = None

    def elapsed_s(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self.started_at

    @property
    def ended_s(self) -> float | None:
        """The end of the first process, in seconds since the start, or None while it runs."""
        ended_at = self.exit.ended_at if self.exit else None
        return None if ended_at is None else ended_at - self.started_at

    @property
    def waits_for(self) -> str | None:
        """Why a server is not ready; None if it is, or if there is none."""
        return None if self.driving is None else self.driving.waits_for

    def give_up(self) -> None:
        """End the driver, as the program will be killed now."""
        if self.driving is not None:
            self.driving.give_up()

    def arrived(self, data: bytes) -> None:
        """Look for marks in new output of the program."""
        known = len(self.marks.epoch_ends_s)
        self.marks.feed(data, self.elapsed_s())
        if len(self.marks.epoch_ends_s) > known:
            self.news.set()


@contextmanager
def launched(
    program: Program,
    stdout: Path,
    stderr: Path,
    on_errors: Callable[[bytes], None] | None = None,
) -> Iterator[Launched]:
    """Start `program`; the block has to ensure that all its processes have ended.

    Standard output and error go to the two files; `on_errors` gets standard error as it comes. The
    first process leads a new session; the caller has to wait for it. If marks or a server's
    readiness are read from the output, PYTHONUNBUFFERED is set, so that Python's lines arrive when
    printed. A server is driven and stopped meanwhile; `driving` is complete after the block.

    Raises UserError if the command or the working directory cannot be used, or if another server is
    at this server's address.
    """
    if program.driver is not None:
        check_address(program.driver)
    run = Launched(program)
    from_pipe = program.marks.wanted and program.marks.file is None
    with ExitStack() as stack:
        out = stack.enter_context(new_file(stdout))
        err = stack.enter_context(new_file(stderr))
        if program.marks.wanted and program.marks.file is not None:
            follower = FileFollower(
                program.written("marks.file", program.marks.file), run.arrived, program.user
            )
        else:
            follower = None
        run.started_at = time.monotonic()
        with _on_cpus(program.cpus):
            process = start_process(
                program,
                subprocess.PIPE if from_pipe else out.fileno(),
                err.fileno() if on_errors is None else subprocess.PIPE,
            )
        process.returncode = 0  # the caller waits for it with wait4
        run.pid = process.pid
        run.exit = ExitWatcher(process.pid, run.news.set)
        run.exit.start()
        reader = PipeReader(process.stdout, out, run.arrived) if process.stdout else follower
        if reader is not None:
            reader.start()
        errors = None
        if process.stderr is not None and on_errors is not None:
            errors = PipeReader(process.stderr, err, on_errors)
            errors.start()
        if program.driver is not None:
            run.driving = Driving(
                program, program.driver, run.pid, (stdout, stderr), stdout.with_suffix(""),
                lambda: run.ended_s is not None,
            )  # fmt: skip
            run.driving.start()
        try:
            yield run
        finally:
            run.exit.join()
            if run.driving is not None:
                run.driving.close()
            if reader is not None:
                reader.close()
            if errors is not None:
                errors.close()
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


def followed(
    program: Program, stdout: Path, stderr: Path, interval_s: float = 0.1
) -> Iterator[int]:
    """Run `program` to its end and yield its number every `interval_s` meanwhile.

    It is killed after its `timeout_s`; processes that outlive it are killed too. Use `measure_run`
    to get its end and costs. Raises as `launched` does.
    """
    processes = RunProcesses()
    try:
        with adopting_orphans(), launched(program, stdout, stderr) as run:
            processes.leader = run.pid
            try:
                while run.ended_s is None and run.elapsed_s() < program.timeout_s:
                    yield run.pid
                    run.news.wait(interval_s)
                    run.news.clear()
            finally:
                if run.ended_s is None:
                    run.give_up()
                processes.kill()
    finally:
        if processes.leader:
            os.waitpid(processes.leader, 0)


@contextmanager
def _on_cpus(count: int | None) -> Iterator[None]:
    """Let processes that this thread starts in the block use `count` CPUs, if the system allows.

    These are the first CPUs that the thread may use; if there are too few, others are added.
    """
    before = os.sched_getaffinity(0)
    others = set(range(os.cpu_count() or 1)) - before
    try:
        os.sched_setaffinity(0, [*sorted(before), *sorted(others)][: count or len(before)])
        yield
    finally:
        os.sched_setaffinity(0, before)


def start_process(program: Program, stdout: int, stderr: int) -> "subprocess.Popen[bytes]":
    """Start the first process of `program`, which leads a new session.

    Standard output goes to a descriptor, or with subprocess.PIPE to us. With a pipe, or if a
    server's readiness is read from the output, PYTHONUNBUFFERED is set. Raises UserError if the
    command or the working directory cannot be used.
    """
    waited_for = program.driver is not None and program.driver.ready is not None
    unbuffered = {"PYTHONUNBUFFERED": "1"} if waited_for or stdout == subprocess.PIPE else {}
    options: dict[str, Any] = {
        "env": {**program.environment, **unbuffered},
        "stdin": subprocess.DEVNULL,
        "stdout": stdout,
        "stderr": stderr,
        "start_new_session": True,
    }
    if program.root is not None:
        return program.root.start(program.command, program.workdir, program.user, **options)
    if not program.workdir.is_dir():
        raise UserError(f"workdir: {program.workdir}: no such directory")
    if program.user is not None:
        options |= program.user.of_process
    try:
        return subprocess.Popen(program.command, cwd=program.workdir, **options)
    except (OSError, ValueError) as error:
        raise UserError(f"command: {program.command[0]}: cannot be started: {error}") from None
