"""Short traced runs beside a program in a root: its health checks, and interpreters that fail.

What they use counts as the program's own use. However they end, they spoil no trace.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from trimtab.config.groups.output import Output, OutputComparison
from trimtab.config.groups.workload import Workload
from trimtab.errors import TrimtabError, UserError
from trimtab.processes.program import Program, ended
from trimtab.profiling.failing import ENDS, SCRIPT, interpreters
from trimtab.profiling.images.health_checks import health_checks_of
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.runs.measured import in_one_line
from trimtab.profiling.runs.run import measure_run
from trimtab.profiling.traced_runs import open_to_all
from trimtab.profiling.tracing.files import FileTrace, FileUse, read_file_trace, tracing_command
from trimtab.profiling.tracing.functions import (
    FunctionTrace,
    read_function_trace,
    tracing_environment,
)
from trimtab.untrusted import new_file

_PATIENCE_S = 30.0  # an engine's, where nothing else is said


@dataclass
class RunsBeside:
    """The runs beside a `program` in a root; their logs and records stay in `folder`.

    Functions of the objects `left_alone` are not traced; None traces no functions. `notes` says
    which health checks failed.
    """

    program: Program
    folder: Path
    left_alone: Iterable[str] | None
    notes: list[str] = field(default_factory=list)
    _runs: list["_Run"] = field(default_factory=list)

    def fail(self, files: FileTrace) -> None:
        """Have each interpreter that a run executed fail; `files` are the run's."""
        script = self.folder / "fails.py"
        self.folder.mkdir(parents=True, exist_ok=True)
        script.write_text(SCRIPT)
        script.chmod(0o644)  # also for the program's user
        seeing = self.program.seeing(script)
        for interpreter, modules in interpreters(files):
            for end in ENDS:
                words = (interpreter, str(script), end, *modules)
                run = self._run_of(words, follows_files=end == ENDS[0])
                run.trace(run.seen_by(seeing))

    def check(self, workload: Workload) -> None:
        """Run the health checks of `workload`; a server's while it serves."""
        runs = [self._run_of(words) for words in health_checks_of(workload)]
        program = self.program
        for run in runs:
            program = run.seen_by(program)

        def check(server: int | None) -> None:
            for run in runs:
                end = run.trace(program, server)
                if end != 0:
                    how = f"took longer than {_PATIENCE_S:g} s" if end is None else ended(end)
                    self.notes.append(
                        f"the health check {in_one_line(run.command)} {how}, so that what it uses"
                        f" when all is well may be missing; see {run.log}"
                    )

        if program.driver is None or not runs:
            return check(None)
        driver = replace(program.driver, inside=check)
        unread = Output(compare=OutputComparison.EXIT_CODE)
        served = replace(program, driver=driver, output=unread, ends_with=None)
        try:
            ran = measure_run(
                served, condition="checked", repeat=0, hardware=NO_POWER_MODEL, log_dir=self.folder
            )
            problem = ran.server_problem and f"the server {ran.server_problem}"
        except UserError as error:
            problem = str(error)
        if problem:
            self.notes.append(f"the health check was not run to its end: {problem}")

    def with_their_use(
        self, files: FileTrace, functions: FunctionTrace
    ) -> tuple[FileTrace, FunctionTrace]:
        """Return the traces of the program's runs with what these runs used besides."""
        root = self.program.root
        for run in self._runs:
            with suppress(TrimtabError):  # it left no record
                if run.files:
                    files = _with_files(files, read_file_trace(run.files), self._is_of_root)
            with suppress(TrimtabError):
                if run.functions:
                    more = read_function_trace(run.functions, root=root)
                    functions = _with_functions(functions, more)
        return files, functions

    def _run_of(self, command: tuple[str, ...], *, follows_files: bool = True) -> "_Run":
        folder = self.folder / str(len(self._runs))
        run = _Run(command, folder, self.program.environment, self.left_alone, follows_files)
        self._runs.append(run)
        return run

    def _is_of_root(self, path: str) -> bool:
        root = self.program.root
        return not (root and root.is_bound(Path(path))) and not path.startswith(f"{self.folder}/")


class _Run:
    """A command that is run once for each kind of trace; its log and records are in `folder`."""

    def __init__(
        self,
        command: tuple[str, ...],
        folder: Path,
        environment: Mapping[str, str],
        left_alone: Iterable[str] | None,
        follows_files: bool,
    ) -> None:
        self.command, self.log = command, folder / "log"
        self.files = folder / "files.jsonl" if follows_files else None
        self.functions = folder / "functions" if left_alone is not None else None
        self._attempts: list[tuple[tuple[str, ...], Mapping[str, str]]] = []
        folder.mkdir(parents=True, exist_ok=True)
        if self.functions and left_alone is not None:
            traced = tracing_environment(environment, self.functions, left_alone)
            self._attempts.append((command, traced))
        if self.files:
            self._attempts.append((tracing_command(command, self.files), environment))
            self.files.touch()  # the tracer may not create it

    def seen_by(self, program: Program) -> Program:
        """Return `program` with access to the records."""
        if self.files:
            program = program.with_access_to(self.files)
        if self.functions:
            program = program.with_access_to(self.functions, *self.functions.glob("*"))
            open_to_all(self.functions)
        return program

    def trace(self, program: Program, server: int | None = None) -> int | None:
        """Run it where `program` runs, or among the files of process `server`.

        Return its last end, None after 30 s.
        """
        end = None
        for command, environment in self._attempts:
            end = _end_of(
                replace(program, command=command, environment=environment), self.log, server
            )
        return end


def _end_of(program: Program, log: Path, server: int | None) -> int | None:
    assert program.root is not None
    words = program.root.entering(program.command, program.workdir, program.user)
    words[1:1] = [] if server is None else ["--join", str(server)]
    with new_file(log) as out:
        process = subprocess.Popen(
            words, env=dict(program.environment), stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            process_group=0,
        )  # fmt: skip
        with suppress(subprocess.TimeoutExpired):
            return process.wait(_PATIENCE_S)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None


def _with_files(files: FileTrace, more: FileTrace, counts: Callable[[str], bool]) -> FileTrace:
    by_path = {file.path: file for file in files.files}
    for file in filter(lambda file: counts(file.path), more.files):
        known = by_path.get(file.path, file)
        real_path = known.real_path or file.real_path
        by_path[file.path] = FileUse(file.path, real_path, known.uses | file.uses)
    return replace(
        files,
        files=tuple(by_path[path] for path in sorted(by_path)),
        own_calls=tuple(sorted({*files.own_calls, *filter(counts, more.own_calls)})),
    )


def _with_functions(functions: FunctionTrace, more: FunctionTrace) -> FunctionTrace:
    by_path = {library.path: library for library in functions.libraries}
    for library in more.libraries:
        known = by_path.get(library.path, library)
        by_path[library.path] = replace(
            known,
            not_traced_because=known.not_traced_because or library.not_traced_because,
            functions_total=max(known.functions_total, library.functions_total),
            used_functions=np.union1d(known.used_functions, library.used_functions),
        )
    return replace(functions, libraries=[by_path[path] for path in sorted(by_path)])
