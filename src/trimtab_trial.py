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

Of a program of several ranks, as under torchrun or mpirun, each may call these functions: rank 0
alone speaks with the tuner, after all reporting ranks ended the epoch, and all get its answer.

This file needs nothing but Python 3.8 and what every Python has loaded anyway: no module that a
slim environment may lack. It can be copied beside a program.
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
# Of torchrun and accelerate, Open MPI, MPICH and Intel MPI, PMIx, Slurm.
RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")
_LOOK_S = 0.005  # between looks for what another rank wrote
_ARRIVAL_S = 2.0  # for ranks that may never report, at the first epoch of a process


class _Tuner:
    """The other end: two named pipes in the trial's folder, and what it said last."""

    def __init__(self, folder: str, began_at: "float | None") -> None:
        self.pid = os.getpid()
        self.not_set: dict[str, str] = {}
        self.settings: dict[str, int] = {}
        self._channel = f"{folder}/channel"
        self._open(folder)
        training_s = "null" if began_at is None else repr(time.monotonic() - began_at)
        self._ask("hello", f'{{"trimtab_trial": {_PROTOCOL}, "training_s": {training_s}}}')
        self._began_at = time.monotonic() if began_at is None else began_at
        self.first_epoch = self.settings.pop("first_epoch", 0)
        self._apply()

    def report(self, epoch: int, metrics: "dict[str, float]") -> None:
        wall_s = time.monotonic() - self._began_at
        self._ask(
            str(epoch),
            f'{{"epoch": {epoch}, "wall_s": {wall_s!r}, "metrics": {_object(metrics)}, '
            f'"not_set": {_object(self.not_set)}}}',
        )
        self._apply()
        self._began_at = time.monotonic()

    def _open(self, folder: str) -> None:
        try:
            # Not waiting: where the tuner is gone the other ends are closed.
            self._reports = os.open(f"{self._channel}/reports", os.O_WRONLY | os.O_NONBLOCK)
            self._answers = os.open(f"{self._channel}/answers", os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            sys.exit(f"trimtab_trial: {_VARIABLE}={folder}: no tuner is there: {error}")
        os.set_blocking(self._reports, True)
        os.set_blocking(self._answers, True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._told = os.open(f"{self._channel}/told", flags, 0o600)
        self._waited_for: set[str] = set()  # ranks that report epochs
        self._has_waited = False

    def _ask(self, key: str, message: str) -> None:
        """Send a message and wait for the answer: settings for what follows, or to stop.

        `key` is `hello` or the epoch, by which other ranks find the answer.
        """
        verb, *words = self._exchange(key, message).split()
        if verb == "stop":
            sys.exit(0)
        for word in words:
            name, _, value = word.partition("=")
            self.settings[name] = int(value)

    def _exchange(self, key: str, message: str) -> str:
        if key != "hello":
            self._wait_for_ranks(int(key))
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
        os.write(self._told, key.encode() + b" " + answer)
        return answer.decode()

    def _wait_for_ranks(self, epoch: int) -> None:
        """Wait until the other ranks have ended `epoch`: their checkpoints are complete then.

        A rank that has reported no epoch yet may never do so, and is waited for only briefly.
        """
        until = 0.0 if self._has_waited else time.monotonic() + _ARRIVAL_S
        self._has_waited = True
        while True:
            behind = False
            for name in os.listdir(self._channel):
                if name.startswith("rank_"):
                    ended, pid = _read(f"{self._channel}/{name}").split() or ("-1", "0")
                    if int(ended) >= 0:
                        self._waited_for.add(name)
                    known = name in self._waited_for or time.monotonic() < until
                    behind |= int(ended) < epoch and known and _lives(int(pid))
            if not behind:
                return
            time.sleep(_LOOK_S)

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


class _OtherRank(_Tuner):
    """The other end of a rank besides 0: what rank 0 was told, in a file."""

    def _open(self, folder: str) -> None:
        self._own = f"{self._channel}/rank_{_rank()}"

    def _exchange(self, key: str, message: str) -> str:
        with open(f"{self._own}.new", "w") as file:
            file.write(f"{-1 if key == 'hello' else key} {self.pid}")
        os.replace(f"{self._own}.new", self._own)  # noqa: PTH105  pathlib may be missing
        while True:
            whole, _, _ = _read(f"{self._channel}/told").rpartition("\n")
            for line in whole.splitlines():
                its_key, _, answer = line.partition(" ")
                if its_key == key or answer == "stop":
                    return answer
            if not os.path.exists(f"{self._channel}/reports"):  # noqa: PTH110
                sys.exit("trimtab_trial: the tuner has ended")
            time.sleep(_LOOK_S)


def _rank() -> int:
    """Return this process' rank; 0 where it is alone."""
    for name in RANKS:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    distributed = sys.modules.get("torch.distributed")  # of processes that torch has spawned
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    return 0


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


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
        kind = _OtherRank if _rank() else _Tuner
        _tuner = kind(os.environ[_VARIABLE], began_at)
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
