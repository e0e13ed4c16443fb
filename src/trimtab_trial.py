"""What a training program and the tuner that started it tell each other, once an epoch.

    import trimtab_trial
    for epoch in range(trimtab_trial.first_epoch(), epochs):
        ...
        trimtab_trial.epoch_end(epoch, accuracy=0.9, loss=0.1)

A program that uses a model and trains none says how long each of its batches takes:

    for batch in trimtab_trial.batches(loader):
        model(batch)

Where no tuner started the program nothing happens: every epoch is to be trained, and there is no
folder. Otherwise a program that wants to be paused and to go on later writes its state to a file
in `folder()` before it calls `epoch_end`, whose name tells the epoch to go on with, as in
`f"{folder()}/{epoch + 1}.pt"`, and begins with the one of `first_epoch()`, where that is not 0.

This file needs nothing but Python 3.8 and what every Python has loaded anyway: no module that a
slim environment may lack. It can be copied beside a program. One process of a program may use it.
"""

import os
import sys
import time

if False:  # for checkers of types alone: typing is not loaded
    from collections.abc import Iterable, Iterator
    from typing import TypeVar

    Batch = TypeVar("Batch")

_VARIABLE = "TRIMTAB_TRIAL"  # the trial's folder, from the tuner
_PROTOCOL = 1
_READ_BYTES = 4096
_ROUND_S = 0.25  # of batches, before they are reported: an answer has to be waited for
_MOST_TIMES = 500  # of a report: of more, as many at equal distances
_LOADED_AT = time.monotonic()


class _Tuner:
    """The other end: two named pipes in the trial's folder, and what it said last."""

    def __init__(self, folder: str, began_at: "float | None") -> None:
        self.pid = os.getpid()
        self.not_set: dict[str, str] = {}
        self.settings: dict[str, int] = {}
        try:
            # Not waiting: where the tuner is gone the other ends are closed.
            self._reports = os.open(f"{folder}/channel/reports", os.O_WRONLY | os.O_NONBLOCK)
            self._answers = os.open(f"{folder}/channel/answers", os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            sys.exit(f"trimtab_trial: {_VARIABLE}={folder}: no tuner is there: {error}")
        os.set_blocking(self._reports, True)
        os.set_blocking(self._answers, True)
        training_s = "null" if began_at is None else repr(time.monotonic() - began_at)
        self._ask(f'{{"trimtab_trial": {_PROTOCOL}, "training_s": {training_s}}}')
        self._began_at = time.monotonic() if began_at is None else began_at
        self.first_epoch = self.settings.pop("first_epoch", 0)
        self._apply()

    def report(self, epoch: int, metrics: "dict[str, float]") -> None:
        wall_s = time.monotonic() - self._began_at
        self._ask(
            f'{{"epoch": {epoch}, "wall_s": {wall_s!r}, "metrics": {_object(metrics)}, '
            f'"not_set": {_object(self.not_set)}}}'
        )
        self._apply()
        self._began_at = time.monotonic()

    def _ask(self, message: str) -> None:
        """Send a message and wait for the answer: settings for what follows, or to stop."""
        left = message.encode("utf-8", "replace") + b"\n"
        answer = b""
        try:
            while left:
                left = left[os.write(self._reports, left) :]
            while not answer.endswith(b"\n"):
                piece = os.read(self._answers, _READ_BYTES)
                if not piece:
                    raise BrokenPipeError
                answer += piece
        except BrokenPipeError:
            sys.exit("trimtab_trial: the tuner has ended")
        verb, *words = answer.decode().split()
        if verb == "stop":
            sys.exit(0)
        for word in words:
            name, _, value = word.partition("=")
            self.settings[name] = int(value)

    def _apply(self) -> None:
        """Give the thread pools of what the program has loaded the number of threads it is told."""
        self.not_set = {}
        threads = self.settings.get("threads")
        if threads is None:
            return
        torch, pools = sys.modules.get("torch"), sys.modules.get("threadpoolctl")
        began_with = os.environ.get("OMP_NUM_THREADS")  # and all other variables of that kind
        if torch is None and pools is None and began_with != str(threads):
            self.not_set["threads"] = "neither torch nor threadpoolctl is loaded by the program"
        try:
            if torch is not None:
                torch.set_num_threads(threads)
            if pools is not None:
                pools.threadpool_limits(limits=threads)
        except Exception as error:  # a library's own; training goes on with what there was
            self.not_set["threads"] = f"{type(error).__name__}: {error}"


_tuner: "_Tuner | None" = None


def tuned() -> bool:
    """Return whether a tuner started the program."""
    return bool(os.environ.get(_VARIABLE))


def folder() -> "str | None":
    """Return where the program keeps its checkpoints, or None where no tuner started it."""
    return f"{os.environ[_VARIABLE]}/checkpoint" if tuned() else None


def first_epoch() -> int:
    """Return the epoch to begin with: 0, or where an earlier run of the trial stopped."""
    tuner = _connected()
    return tuner.first_epoch if tuner else 0


def settings() -> "dict[str, int]":
    """Return the tuner's settings for this epoch that a program may use, as `loader_workers`.

    Empty where there is no tuner, or it has none. Threads of PyTorch, and of all that
    threadpoolctl knows if the program has loaded it, are set already.
    """
    tuner = _connected()
    return dict(tuner.settings) if tuner else {}


def epoch_end(epoch: int, /, **metrics: float) -> "dict[str, int]":
    """Say that `epoch`, counted from 0, has ended; return `settings()` for the next one.

    Metrics are numbers, or what float() makes one of. Returns when the tuner has answered; where
    that wants the program to stop, SystemExit is raised. Raises TypeError or ValueError for what
    is no number, and RuntimeError in a process that was forked from the one that uses it.
    """
    tuner = _connected(_LOADED_AT)  # as it asked nothing before its first epoch
    if tuner is None:
        return {}
    tuner.report(int(epoch), {name: float(value) for name, value in metrics.items()})
    return dict(tuner.settings)


def batches(loader: "Iterable[Batch]") -> "Iterator[Batch]":
    """Yield the batches of `loader`, and report how long the program worked on each of them.

    They are all of the same size. Where there is a tuner, `loader` is gone through again and again
    until it has measured enough; then SystemExit is raised. Raises ValueError for one that is
    empty.
    """
    tuner = _connected()
    if tuner is None:
        yield from loader
        return
    epoch, times, served_s = tuner.first_epoch, [], 0.0
    while True:
        number = 0
        for number, batch in enumerate(loader, 1):  # noqa: B007
            began_at = time.monotonic()
            yield batch
            times.append(time.monotonic() - began_at)
            served_s += times[-1]
            if served_s >= _ROUND_S:
                epoch_end(epoch, **_of_round(times, served_s))
                epoch, times, served_s = epoch + 1, [], 0.0
        if number == 0:
            raise ValueError("no batch: nothing can be measured")


def _of_round(times: "list[float]", served_s: float) -> "dict[str, float]":
    """Return the metrics of a round: the number of batches, their sum and their times in s."""
    shown = times[:: -(-len(times) // _MOST_TIMES)]
    numbered = {f"batch_{number}_s": each for number, each in enumerate(shown)}
    return {"batches": len(times), "served_s": served_s, **numbered}


def _connected(began_at: "float | None" = None) -> "_Tuner | None":
    """Return the tuner, where there is one; at first, say when the first epoch began or now."""
    global _tuner
    if _tuner is None and tuned():
        _tuner = _Tuner(os.environ[_VARIABLE], began_at)
    if _tuner is not None and _tuner.pid != os.getpid():
        raise RuntimeError(
            f"trimtab_trial is used by process {_tuner.pid}, and {os.getpid()} was forked from it: "
            "use it in one process"
        )
    return _tuner


def _object(values: "dict[str, float] | dict[str, str]") -> str:
    """Return a JSON object of numbers or texts."""
    return (
        "{" + ", ".join(f"{_text(name)}: {_value(value)}" for name, value in values.items()) + "}"
    )


def _value(value: "float | str") -> str:
    if isinstance(value, str):
        return _text(value)
    if value - value == 0:
        return repr(value)
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def _text(text: str) -> str:
    plain = "".join(character if character >= " " else " " for character in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _say_loaded() -> None:
    """From here on, lines that the program prints for people are no marks for the tuner."""
    path = f"{os.environ[_VARIABLE]}/channel/loaded"
    try:  # noqa: SIM105  contextlib may be missing
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError:
        pass  # whoever calls one of the functions is told


if tuned():
    _say_loaded()
