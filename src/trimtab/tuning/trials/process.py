"""A running trial: its messages, the answers to it, and its end.

Thesis, sections 6.3.1 and 6.3.3: a trial is a process of its own whose epochs are seen one by one,
and whose system parameters change between them. A program is not trusted: whatever it does, the
trial ends with a reason, and nothing of it lives on. That nothing outlives a tuner that is killed
is for trimtab.processes.supervision to see to.
"""

import math
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from trimtab.config.groups.workload import Workload
from trimtab.processes.marks import MOST_EPOCHS
from trimtab.processes.memory_limit import kills_for_memory
from trimtab.tuning.trials.clock import TrialClock
from trimtab.tuning.trials.counting import TrialCounters
from trimtab.tuning.trials.ending import ending, last_lines
from trimtab.tuning.trials.events import EndReason, EpochEnd, Event, TrialEnded
from trimtab.tuning.trials.protocol import BrokenProtocolError, EpochReport, Hello, go, stop
from trimtab.tuning.trials.running import RunningProgram, TrialFolder
from trimtab.tuning.trials.settings import SettingsChange, SystemSettings, TrialMachine
from trimtab.tuning.trials.waiting import Awaited, next_events

_PATIENCE_S = 10.0  # for a program to end, after `stop` or after it closed its channel


class TrialProcess:
    """One run of a trial: from its start, or its checkpoint, until it is stopped or ends.

    After an `EpochEnd` whose program waits, `answer` or `stop` continues it; `TrialEnded` is the
    last event. As a context manager, it kills a running trial at the end of the block.
    """

    def __init__(
        self,
        running: RunningProgram,
        folder: TrialFolder,
        settings: SystemSettings,
        timeout_s: float,
    ) -> None:
        self.folder, self.pid, self.first_epoch = folder.path, running.pid, folder.first_epoch
        self.processes = running.processes
        self._running, self._files, self._settings = running, folder, settings
        self._channel = folder.channel
        self._machine = TrialMachine(running)
        # First, as the program waits for it or has already begun.
        self.change = self._machine.start(settings, running.began_on)
        running.let_go()
        self._counters = TrialCounters(running)
        self._kills_before = kills_for_memory()
        self._events: deque[Event] = deque()
        self._over = False
        self._next_epoch = folder.first_epoch
        self._epochs = 0
        self._speaks = False
        self._start_up_s: float | None = None
        self._clock = TrialClock(running.started_at, timeout_s, _PATIENCE_S)
        self._told_to_stop = False

    @classmethod
    def start(
        cls,
        workload: Workload,
        parameters: Mapping[str, Any],
        folder: Path,
        settings: SystemSettings,
        *,
        resume: bool = False,
        timeout_s: float | None = None,
    ) -> Self:
        """Start `workload` in the trial's `folder`; `parameters` override its own.

        With `resume` it continues after the last answered epoch, if the program keeps a checkpoint;
        else the folder is cleared. The time limit is `timeout_s` or the workload's, without time of
        waiting for answers. `change` says which settings are not in effect. Raises UserError when
        it cannot be started.
        """
        files = TrialFolder(folder, resume=resume)
        try:
            running = RunningProgram.of(workload, parameters, files, settings)
        except BaseException:
            files.channel.close()
            raise
        limit_s = workload.timeout_s if timeout_s is None else timeout_s
        try:
            return cls(running, files, settings, limit_s)
        except BaseException:
            running.abandon()
            files.channel.close()
            raise

    def next_event(self, timeout_s: float | None = None) -> Event | None:
        """Return the next event, or None when there is none within `timeout_s`."""
        alone: list[Awaited[Event]] = [self]
        return next((event for _, event in next_events(alone, timeout_s)), None)

    def pending(self) -> Event | None:
        """Return the next unreported event, or None; never waits."""
        if not self._events and not self._over:
            self._look()
        return self._events.popleft() if self._events else None

    def answer(self, settings: SystemSettings) -> SettingsChange:
        """Let the next epoch begin with `settings`; None leaves a setting unchanged.

        If the program does not wait, they take effect within its epoch, except those that the
        program itself would set. The returned change lists settings that are not in effect; the
        epoch's end lists those that only the program knows. Has no effect on a trial that has ended
        meanwhile.
        """
        if self._over:
            return SettingsChange(0.0, {}, {})
        began = time.perf_counter()
        change = self._machine.change(settings)
        not_set = dict(change.not_set)
        if not self._clock.is_waiting:
            not_set |= dict.fromkeys(settings.for_program, "the program does not wait to be told")
        else:
            self._files.epoch_is_done(self._next_epoch - 1)
            self._send(go(settings.for_program))
        self.change = SettingsChange(time.perf_counter() - began, not_set, change.ways)
        return self.change

    @property
    def has_checkpoint(self) -> bool:
        """Whether the program has kept a checkpoint."""
        return self._files.has_checkpoint

    def last_lines(self) -> list[str]:
        """Return the last lines of the program's standard error."""
        return last_lines(self._files.stderr)

    def end_so_far(self) -> TrialEnded:
        """Return the `TrialEnded` of a program told to stop, as of now.

        Its last counters are those of its last epoch's end.
        """
        return TrialEnded(
            reason=EndReason.STOPPED,
            message="was told to stop",
            exit_code=0,
            epochs=self._epochs,
            wall_s=self._clock.since_start_s(),
            waiting_s=self._clock.waiting_s,
            start_up_s=self._start_up_s,
            cpu_s=self._counters.cpu_s,
            peak_rss_bytes=self._counters.peak_rss_bytes,
        )

    def stop(self) -> None:
        """End the waiting program in order; it can be resumed from its checkpoint.

        It gets time for its exit (`finally`, `atexit`); `TrialEnded` follows. A program that
        reports by marks, without waiting, is killed.
        """
        if self._over:
            return
        if not self._clock.is_waiting:
            return self.kill()
        self._files.epoch_is_done(self._next_epoch - 1)
        self._told_to_stop = True
        self._clock.has_to_end()
        self._send(stop())

    def kill(self) -> None:
        """End the trial at once, with all its processes; `TrialEnded` follows unless it has
        already.
        """
        if not self._over:
            self._end(EndReason.KILLED, "was killed by the tuner")

    def filenos(self) -> list[int]:
        """Return the descriptors that become readable when there may be an event."""
        if self._over:
            return []
        found = [self._running.exit_fd]
        if not self._channel.closed:
            found.append(self._channel.fileno())
        # Marks of a program that uses the channel are not read, and would stay readable.
        if not self._speaks and not self._channel.is_expected:
            found.append(self._running.news_fd)
        return found

    @property
    def next_at(self) -> float:
        """The time, by time.monotonic, of the next timed event."""
        return self._clock.next_at

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def _look(self) -> None:
        exited = self._running.has_exited()  # before reading, to get its last message
        try:
            message = self._channel.read()
            if message is not None:
                self._hear(message)
            elif not self._speaks and not self._channel.is_expected:
                self._read_marks()
        except BrokenProtocolError as error:
            self._end(EndReason.BROKEN_PROTOCOL, str(error))
        if self._over or self._events:
            return
        if self._channel.closed and self._speaks:
            self._clock.has_to_end()  # no further epoch is possible
        if exited:
            self._end_by_itself()
        elif self._clock.patience_is_over:
            if self._told_to_stop:
                self._end(
                    EndReason.STOPPED, f"was killed {_PATIENCE_S:g} s after it was told to stop"
                )
            else:
                self._end(
                    EndReason.BROKEN_PROTOCOL,
                    f"it closed its channel and ran on for {_PATIENCE_S:g} s",
                )
        elif self._clock.is_over:
            limit_s = self._clock.limit_s
            self._end(EndReason.TIMED_OUT, f"was killed after its time limit of {limit_s:g} s")

    def _hear(self, message: Hello | EpochReport) -> None:
        if self._clock.is_waiting or self._told_to_stop:
            raise BrokenProtocolError("it wrote on before it was answered")
        if isinstance(message, Hello):
            return self._greet(message)
        if not self._speaks:
            raise BrokenProtocolError("it reported an epoch before it said hello")
        if message.epoch != self._next_epoch:
            raise BrokenProtocolError(
                f"it reported the end of epoch {message.epoch}, expected {self._next_epoch}"
            )
        wall_s = self._clock.epoch_ends(message.wall_s)
        not_set = {**self.change.not_set, **message.not_set}
        self._epoch_ends(wall_s, message.metrics, not_set, waits=True)

    def _greet(self, hello: Hello) -> None:
        if self._speaks:
            raise BrokenProtocolError(
                "a second process of it spoke: expected ranks of one program, told apart by RANK or"
                " torch.distributed, or one process"
            )
        self._speaks = True
        self._start_up_s = max(0.0, self._clock.since_start_s() - (hello.training_s or 0.0))
        if hello.training_s is None:
            self._clock.epoch_begins()
            self._counters.epoch_begins()
        self._channel.write(go({"first_epoch": self._next_epoch, **self._settings.for_program}))

    def _read_marks(self) -> None:
        marks = self._running.take_marks()
        if marks.too_many:
            raise BrokenProtocolError(f"marks.epoch: more than {MOST_EPOCHS} lines match")
        known = len(marks.epoch_ends_s)
        while self._epochs < known and not self._over:
            end_s = marks.epoch_ends_s[self._epochs]
            begin_s = marks.epoch_ends_s[self._epochs - 1] if self._epochs else 0.0
            metrics = {}
            for name, text in marks.epoch_scores[self._epochs].items():
                try:
                    metrics[name] = float(text)
                except ValueError:
                    raise BrokenProtocolError(
                        f"marks.epoch: {name}: {text!r} captured, expected a number"
                    ) from None
            self._epoch_ends(end_s - begin_s, metrics, self.change.not_set, waits=False)

    def _epoch_ends(
        self,
        wall_s: float,
        metrics: Mapping[str, float],
        not_set: Mapping[str, str],
        *,
        waits: bool,
    ) -> None:
        for name, value in metrics.items():
            if not math.isfinite(value):
                self._end(EndReason.NOT_A_NUMBER, f"epoch {self._next_epoch}: {name} is {value}")
                return
        counters = self._counters.epoch_ends()
        self._events.append(
            EpochEnd(self._next_epoch, wall_s, counters["cpu_s"], metrics, counters, not_set, waits)
        )
        self._next_epoch += 1
        self._epochs += 1

    def _send(self, answer: bytes) -> None:
        """Answer a waiting program; one that does not read has ended, or is ended."""
        self._clock.epoch_begins()
        try:
            self._channel.write(answer)
        except BrokenProtocolError as error:
            self._end(EndReason.BROKEN_PROTOCOL, str(error))

    def _end_by_itself(self) -> None:
        self._running.kill()  # this reads all its marks
        if not self._speaks and not self._channel.is_expected:
            try:
                self._read_marks()
            except BrokenProtocolError as error:
                self._end(EndReason.BROKEN_PROTOCOL, str(error))
        if not self._over:
            self._end(None, "")

    def _end(self, reason: EndReason | None, message: str) -> None:
        """Kill live processes and report the end; `reason` is None if the program ended itself."""
        self._over = True
        wall_s = self._clock.since_start_s()
        self._clock.epoch_begins()  # else its last waiting time would be missing
        self._running.kill()
        exit_code, cpu_s, peak_bytes = self._counters.end()
        if reason is None:
            reason, message = ending(
                exit_code,
                self._running.program.ends_with or frozenset({0}),
                self._files.stderr,
                limit_struck=self._machine.out_of_memory(),
                machine_struck=kills_for_memory() > self._kills_before,
            )
            if self._told_to_stop:
                reason, message = EndReason.STOPPED, f"{message}, as it was told to stop"
        self._channel.close()
        self._running.close()
        self._events.append(
            TrialEnded(
                reason=reason,
                message=message,
                exit_code=exit_code,
                epochs=self._epochs,
                wall_s=wall_s,
                waiting_s=self._clock.waiting_s,
                start_up_s=self._start_up_s,
                cpu_s=cpu_s,
                peak_rss_bytes=peak_bytes,
            )
        )
        self._machine.close()  # last: its time is not the trial's
