"""Starting a trial's program: its folder, its environment, its first process.

The program finds `trimtab_trial` in a folder of its own, put first on its PYTHONPATH, so it can
import no other module of ours. Where Python ignores that (-I, -E, or a launcher that clears the
environment), a program reports by its workload's marks.
"""

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import trimtab_trial
from trimtab.config.groups.workload import Workload
from trimtab.errors import TrimtabError, UserError
from trimtab.files import parse_json, write_json
from trimtab.processes.ending import kill, new_mark
from trimtab.processes.launch import start_process
from trimtab.processes.marks import FileFollower, MarkLog, PipeReader
from trimtab.processes.program import Program
from trimtab.processes.run_processes import RunProcesses
from trimtab.processes.stat import Stat
from trimtab.profiling.meters.hardware_counters import HardwareCounters
from trimtab.profiling.runs.from_workload import program_of
from trimtab.tuning.trials.protocol import Channel
from trimtab.tuning.trials.settings import SystemSettings
from trimtab.untrusted import new_file, new_folder, read_untrusted

_MARK = "TRIMTAB_TRIAL_RUN"
_HELD = ("/bin/sh", "-c", 'kill -STOP $$; exec "$@"', "sh")  # stops until it is continued
_FOLDER = "TRIMTAB_TRIAL"
_MOST_PROGRESS_BYTES = 1000


class TrialFolder:
    """The files of one trial, the program's and ours; kept while the trial may be resumed.

    `checkpoint/` is the program's; `output/` is {output} of its last run; `progress.json` has the
    next epoch: the first, where the program keeps no checkpoint. Log names contain the first epoch
    of a run.
    """

    def __init__(self, path: Path, *, resume: bool) -> None:
        self.path = path.resolve()
        self.checkpoint, self.output = self.path / "checkpoint", self.path / "output"
        self.module, self._progress = self.path / "module", self.path / "progress.json"
        self.path.mkdir(parents=True, exist_ok=True)
        if resume:
            self.checkpoint.mkdir(exist_ok=True)
        else:
            new_folder(self.checkpoint)
            self._progress.unlink(missing_ok=True)
        self.first_epoch = self._read_progress() if self.has_checkpoint else 0
        self.stdout = self.path / f"from_epoch_{self.first_epoch}.stdout"
        self.stderr = self.stdout.with_suffix(".stderr")
        self.channel = Channel(self.path / "channel")
        new_folder(self.module)
        shutil.copy(trimtab_trial.__file__, self.module / "trimtab_trial.py")

    @property
    def has_checkpoint(self) -> bool:
        """Whether the program has kept a checkpoint."""
        return any(self.checkpoint.iterdir())

    def epoch_is_done(self, epoch: int) -> None:
        """Record that the next run begins after `epoch`."""
        write_json(self._progress, {"next_epoch": epoch + 1})

    def _read_progress(self) -> int:
        try:
            found = parse_json(read_untrusted(self._progress, _MOST_PROGRESS_BYTES))
        except FileNotFoundError:
            return 0
        except ValueError:
            found = None
        epoch = found.get("next_epoch") if isinstance(found, dict) else None
        if type(epoch) is not int or epoch < 0:
            raise UserError(
                f"{self._progress}: is damaged: the trial cannot go on, but begin again without it"
            )
        return epoch


def _is_command(program: Program) -> bool:
    name = program.command[0]
    place = str(program.workdir / name) if os.sep in name else name
    return shutil.which(place, path=program.environment.get("PATH")) is not None


def kill_left_over(folder: Path) -> None:
    """Kill the remaining processes here of the trial in `folder`, whose tuner was killed."""
    kill(f"{_FOLDER}={folder.resolve()}")


class RunningProgram:
    """A trial's running program: `pid`, its processes, its counters, and its marks if any.

    `exit_fd` is readable when the first process has ended, `news_fd` when a mark has arrived. It
    was started on the CPUs of `began_on`.
    """

    def __init__(self, program: Program, folder: TrialFolder, settings: SystemSettings) -> None:
        self.program = program
        mark = new_mark(_MARK)
        self._mark = mark
        self._members = RunProcesses(mark)
        self.marks = MarkLog(program.marks)
        self.news_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._killed = self._closed = False
        self._closing, self._looking = threading.Lock(), threading.Lock()
        self._stdout = new_file(folder.stdout)
        from_pipe = program.marks.epoch is not None and program.marks.file is None
        name, _, value = mark.partition("=")
        program = replace(program, environment={**program.environment, name: value})
        # So that its limit counts all memory; starting reports an invalid command.
        held = settings.memory_bytes is not None and _is_command(program)
        if held:
            program = replace(program, command=(*_HELD, *program.command))

        def start() -> None:
            # In a separate thread: a process inherits counters and CPUs from its starting thread,
            # and other trials must not.
            if settings.cpus is not None:
                with suppress(OSError):  # reported by the settings' own change
                    os.sched_setaffinity(0, settings.cpus)
            self.began_on = os.sched_getaffinity(0)
            self.counters = HardwareCounters()
            with new_file(folder.stderr) as err:
                out = subprocess.PIPE if from_pipe else self._stdout.fileno()
                self.started_at = time.monotonic()
                self._process = start_process(program, out, err.fileno())

        try:
            _in_thread(start)
        except BaseException:
            kill(mark)
            self.close()
            raise
        self._process.returncode = 0  # the counters reap it, with wait4
        self.pid = self._members.leader = self._process.pid
        if held:
            os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        self.exit_fd = os.pidfd_open(self.pid)
        self._reader: PipeReader | FileFollower | None = None
        if self._process.stdout is not None:
            self._reader = PipeReader(self._process.stdout, self._stdout, self._arrived)
        elif program.marks.epoch is not None and program.marks.file is not None:
            self._reader = FileFollower(
                program.written("marks.file", program.marks.file), self._arrived
            )
        if self._reader is not None:
            self._reader.start()

    @classmethod
    def of(
        cls,
        workload: Workload,
        parameters: Mapping[str, Any],
        folder: TrialFolder,
        settings: SystemSettings,
    ) -> Self:
        """Start `workload`; `parameters` override its own.

        Raises UserError when it is a server, or its command or working directory cannot be used.
        """
        workload = replace(workload, parameters={**workload.parameters, **parameters})
        program = program_of(workload, folder.output)
        if program.driver is not None:
            raise UserError(f"workload {workload.name}: server.drive: a server is no trial")
        environment = {
            **program.environment,
            **settings.environment,
            # This process may be a rank itself, as under srun; a trial's first process is none.
            **{name: "0" for name in trimtab_trial.RANKS if name in program.environment},
            _FOLDER: str(folder.path),
            "PYTHONPATH": os.pathsep.join(
                [str(folder.module), *filter(None, [program.environment.get("PYTHONPATH")])]
            ),
        }
        program = program.with_access_to(
            folder.checkpoint, folder.channel.folder, *folder.channel.paths
        )
        return cls(replace(program, environment=environment), folder, settings)

    def let_go(self) -> None:
        """Let the program begin, which was held until its memory limit was set."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGCONT)

    def processes(self) -> list[Stat]:
        """Return its live processes, oldest first."""
        with self._looking:
            return [stat for stat in self._members.living() if not stat.is_zombie]

    def take_marks(self) -> MarkLog:
        """Return the marks so far; `news_fd` is readable again when there are more."""
        with suppress(BlockingIOError):
            os.eventfd_read(self.news_fd)
        return self.marks

    def has_exited(self) -> bool:
        """Whether the first process has ended."""
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PIDFD, self.exit_fd, flags) is not None

    def kill(self) -> None:
        """Kill all its processes, and read their output."""
        if self._killed:
            return
        self._killed = True
        with self._looking:
            self._members.kill()
        kill(self._mark, self.pid)  # searches all processes of the machine
        if self._reader is not None:
            with suppress(TrimtabError):  # the log is incomplete, as on a full disk
                self._reader.close()

    def abandon(self) -> None:
        """End it where nobody will ask how it ended."""
        self.kill()
        os.waitpid(self.pid, 0)
        self.close()

    def close(self) -> None:
        """Close the descriptors; all processes have ended."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        self._stdout.close()
        os.close(self.news_fd)
        if hasattr(self, "counters"):
            self.counters.close()
        if hasattr(self, "exit_fd"):
            os.close(self.exit_fd)
            if self._process.stdout is not None:
                self._process.stdout.close()

    def _arrived(self, data: bytes) -> None:
        known = len(self.marks.epoch_ends_s)
        self.marks.feed(data, time.monotonic() - self.started_at)
        if len(self.marks.epoch_ends_s) > known:
            with self._closing:
                if not self._closed:  # an escaped process may hold the pipe open
                    os.eventfd_write(self.news_fd, 1)


def _in_thread(call: Any) -> None:
    """Call in a temporary thread; its exception is raised here."""
    failures: list[BaseException] = []

    def catching() -> None:
        try:
            call()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=catching)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
