"""The protocol between a training program and the tuner: the tuner's end.

It uses two named pipes in the trial's folder. They survive launchers that close descriptors, and
the program's end (src/trimtab_trial.py) needs only open, read and write. The program writes lines
of JSON: first {"trimtab_trial": 1, "training_s": null}, then one for each epoch, {"epoch": 0,
"wall_s": 1.5, "metrics": {"accuracy": 0.9}, "not_set": {}}. After each line it waits for an answer:
`go threads=2`, or `stop`. The program is not trusted.
"""

import os
import select
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.errors import TrimtabError
from trimtab.files import parse_json
from trimtab.untrusted import new_folder

PROTOCOL = 1
LONGEST_LINE_BYTES = 1 << 16
MOST_METRICS = 1000
_LONGEST_NAME = 100  # characters, of a metric
_LONGEST_REASON = 400
_STOP = b"stop\n"


class BrokenProtocolError(TrimtabError):
    """A program sent an invalid message, or at an invalid time; the text says which."""


@dataclass(frozen=True)
class Hello:
    """A program's first message; `training_s` is None where its first epoch begins after it.

    Else its first epoch has already lasted for `training_s` seconds.
    """

    training_s: float | None


@dataclass(frozen=True)
class EpochReport:
    """An epoch has ended, after `wall_s` by the program's own clock.

    Metrics may be NaN or infinite. `not_set` says, by name, why the program could not make a
    setting.
    """

    epoch: int
    wall_s: float
    metrics: Mapping[str, float]
    not_set: Mapping[str, str]


def parsed(line: bytes) -> Hello | EpochReport:
    """Parse a line, without its end; raises BrokenProtocolError for an invalid one."""
    try:
        message = parse_json(line)
    except ValueError as error:
        raise BrokenProtocolError(f"{_shown(line)} is no JSON: {error}") from None
    if not isinstance(message, dict):
        raise BrokenProtocolError(f"{_shown(line)}: expected an object")
    if "trimtab_trial" in message:
        if message["trimtab_trial"] != PROTOCOL:
            raise BrokenProtocolError(
                f"its trimtab_trial.py speaks version {message['trimtab_trial']!r} of the protocol,"
                f" expected {PROTOCOL}: take the one of this trimtab"
            )
        late = message.get("training_s") is not None
        return Hello(_seconds(message, "training_s") if late else None)
    epoch = message.get("epoch")
    if type(epoch) is not int:
        raise BrokenProtocolError(f"epoch: {epoch!r}: expected a whole number")
    metrics = _object(message, "metrics")
    not_set = _object(message, "not_set")
    return EpochReport(
        epoch,
        _seconds(message, "wall_s"),
        {_name(name): _number(f"metrics.{name}", value) for name, value in metrics.items()},
        {_name(name): str(reason)[:_LONGEST_REASON] for name, reason in not_set.items()},
    )


def go(settings: Mapping[str, int]) -> bytes:
    """Return the answer that starts the next epoch with `settings`, whole numbers."""
    return " ".join(["go", *(f"{name}={value}" for name, value in settings.items())]).encode() + (
        b"\n"
    )


def stop() -> bytes:
    """Return the answer that ends the program."""
    return _STOP


class Channel:
    """The tuner's ends of the two pipes, created in `folder`.

    `fileno()` is readable when the program has written. `closed` becomes true when no process, such
    as a forked child, has the program's end open any more.
    """

    def __init__(self, folder: Path) -> None:
        new_folder(folder)
        self.folder = folder
        self.paths = (folder / "reports", folder / "answers")
        for path in self.paths:
            os.mkfifo(path, 0o600)
        self._reports = os.open(self.paths[0], os.O_RDONLY | os.O_NONBLOCK)
        # Read and write, so opening does not wait for the program.
        self._answers = os.open(self.paths[1], os.O_RDWR | os.O_NONBLOCK)
        self._loaded = folder / "loaded"
        self._poll = select.poll()
        self._poll.register(self._reports, select.POLLIN)
        self._unfinished = bytearray()
        self.closed = False

    def fileno(self) -> int:
        """Return the descriptor to wait for."""
        return self._reports

    @property
    def is_expected(self) -> bool:
        """Whether the program has loaded its end, and so will send messages."""
        return self._loaded.exists()

    def read(self) -> Hello | EpochReport | None:
        """Return the message that has arrived, or None; never waits.

        Raises BrokenProtocolError for an invalid or too long message, and for bytes after a
        message, whose writer has to wait for the answer.
        """
        if self.closed:
            return None
        for _, event in self._poll.poll(0):
            if event & select.POLLIN:
                self._unfinished += os.read(self._reports, LONGEST_LINE_BYTES + 1)
            elif event & select.POLLHUP:
                self.closed = True
        line, end, behind = self._unfinished.partition(b"\n")
        if len(line) > LONGEST_LINE_BYTES:
            raise BrokenProtocolError(f"a line of more than {LONGEST_LINE_BYTES} bytes")
        if not end:
            return None
        if behind:
            raise BrokenProtocolError("it wrote on before it was answered")
        self._unfinished.clear()
        return parsed(bytes(line))

    def write(self, answer: bytes) -> None:
        """Send an answer; raises BrokenProtocolError where the program reads none."""
        try:
            os.write(self._answers, answer)  # whole or not at all, below PIPE_BUF
        except BlockingIOError:
            raise BrokenProtocolError("it does not read its answers") from None

    def close(self) -> None:
        """Close our ends and remove the pipes: later writers get an error."""
        self.closed = True
        for descriptor in (self._reports, self._answers):
            os.close(descriptor)
        for path in self.paths:
            with suppress(OSError):
                path.unlink()


def _object(message: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = message.get(key)
    if not isinstance(found, dict) or len(found) > MOST_METRICS:
        raise BrokenProtocolError(f"{key}: expected an object of at most {MOST_METRICS} entries")
    return found


def _name(name: str) -> str:
    if not 0 < len(name) <= _LONGEST_NAME or not name.isprintable():
        raise BrokenProtocolError(
            f"{name[:_LONGEST_NAME]!r}: expected a name of 1 to {_LONGEST_NAME} characters that"
            " can be seen"
        )
    return name


def _number(key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BrokenProtocolError(f"{key}: {str(value)[:_LONGEST_NAME]!r}: expected a number")
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _seconds(message: Mapping[str, Any], key: str) -> float:
    seconds = _number(key, message.get(key))
    if not 0 <= seconds < float("inf"):
        raise BrokenProtocolError(f"{key}: {seconds}: expected seconds")
    return seconds


def _shown(line: bytes) -> str:
    return repr(line[:_LONGEST_NAME].decode(errors="replace"))
