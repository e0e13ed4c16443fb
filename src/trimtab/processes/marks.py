"""Find in a program's output when its first iteration and its epochs are done."""

import os
import re
import threading
import time
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import IO

from trimtab.config.groups.workload import Marks
from trimtab.errors import TrimtabError
from trimtab.processes.as_user import User, open_written
from trimtab.untrusted import UntrustedFileError

_LONGEST_LINE_BYTES = 1 << 20
_LONGEST_SCORE = 400  # characters; more digits do not change the float
MOST_EPOCHS = 100_000
_MOST_FILE_BYTES = 1 << 28  # that a file may grow between two reads
_LARGEST_FILE_BYTES = 1 << 62
_PIPE_PATIENCE_S = 5.0
_CHUNK_BYTES = 1 << 16
_FILE_POLL_S = 0.005


class MarkLog:
    """The marks in the lines so far: their times in seconds, their scores.

    An epoch's scores are the named groups of `marks.epoch`, as text. `too_many`: epochs after the
    first 100,000 were left out.
    """

    def __init__(self, marks: Marks) -> None:
        self.first_iteration_s: float | None = None
        self.epoch_ends_s: list[float] = []
        self.epoch_scores: list[dict[str, str]] = []
        self._first = re.compile(marks.first_iteration) if marks.first_iteration else None
        self._epoch = re.compile(marks.epoch) if marks.epoch else None
        self.too_many = False
        self._unfinished = bytearray()

    def feed(self, data: bytes, time_s: float) -> None:
        """Search the lines completed by `data`, which arrived at `time_s`.

        Only the last one or two MiB of an incomplete line are searched.
        """
        end = data.rfind(b"\n") + 1
        lines = (self._unfinished + data[:end]).split(b"\n")[:-1] if end else []
        if end:
            self._unfinished.clear()
        self._unfinished += data[end:]
        if len(self._unfinished) > 2 * _LONGEST_LINE_BYTES:
            del self._unfinished[:-_LONGEST_LINE_BYTES]
        for line in lines:
            text = line.decode(errors="replace")
            if self.first_iteration_s is None and self._first and self._first.search(text):
                self.first_iteration_s = time_s
            if self._epoch and (mark := self._epoch.search(text)):
                if len(self.epoch_ends_s) == MOST_EPOCHS:
                    self.too_many, self._epoch = True, None
                    continue
                scores = mark.groupdict().items()
                captured = {name: score[:_LONGEST_SCORE] for name, score in scores if score}
                self.epoch_scores.append(captured)
                self.epoch_ends_s.append(time_s)


class PipeReader(threading.Thread):
    """Copies a pipe to a file until its last writer closes it, and passes each piece on."""

    def __init__(self, pipe: IO[bytes], copy: FileIO, on_data: Callable[[bytes], None]) -> None:
        super().__init__(daemon=True)
        self._pipe, self._copy, self._on_data = pipe, copy, on_data
        self._failure: OSError | None = None

    def run(self) -> None:
        """Read until the end; a full disk stops the copy, but must not stop the program."""
        while data := os.read(self._pipe.fileno(), _CHUNK_BYTES):
            self._on_data(data)
            try:
                if self._failure is None:
                    self._copy.write(data)
            except OSError as error:
                self._failure = error

    def close(self) -> None:
        """Wait for the end of the pipe; raise TrimtabError if the copy is incomplete.

        All processes of the run have ended; any other writer got the pipe from one of them.
        """
        self.join(_PIPE_PATIENCE_S)
        if self.is_alive():
            raise TrimtabError(
                f"{self._copy.name}: a process that is not of the run holds its standard output"
                f" open, {_PIPE_PATIENCE_S:g} s after its end"
            )
        if self._failure is not None:
            raise TrimtabError(f"{self._copy.name}: standard output not saved: {self._failure}")


class FileFollower(threading.Thread):
    """Passes on what a program, as `user`, appends to a file after this object is made.

    Earlier content is skipped, unless the program empties the file first. The file is read every 5
    ms. Only regular files have marks. If more than 256 MiB are appended between two reads, reading
    stops.
    """

    def __init__(
        self, path: Path, on_data: Callable[[bytes], None], user: User | None = None
    ) -> None:
        super().__init__(daemon=True)
        self._path, self._on_data, self._user = path, on_data, user
        self._offset = path.stat().st_size if path.is_file() else 0
        self._ended = threading.Event()
        self._too_much = False

    def run(self) -> None:
        """Follow the file until `close`."""
        while not self._ended.wait(_FILE_POLL_S):
            self._read()
        self._read()

    def close(self) -> None:
        """Read the rest and stop."""
        self._ended.set()
        self.join()
        if self._too_much:
            raise TrimtabError(
                f"marks.file: {self._path}: grew by more than {_MOST_FILE_BYTES} bytes at once"
            )

    def _read(self) -> None:
        try:
            with open_written(self._path, _LARGEST_FILE_BYTES, self._user) as file:
                size = os.fstat(file.fileno()).st_size
                if size < self._offset:
                    self._offset = 0
                self._too_much |= size > self._offset + _MOST_FILE_BYTES
                if size == self._offset or self._too_much:
                    return
                file.seek(self._offset)
                data = file.read(size - self._offset)
        except FileNotFoundError:
            self._offset = 0
            return
        except UntrustedFileError:
            return
        self._offset += len(data)
        self._on_data(data)


class ExitWatcher(threading.Thread):
    """Notes when a child of this process ends, without reaping it."""

    def __init__(self, pid: int, on_end: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self.ended_at: float | None = None
        self._pid, self._on_end = pid, on_end

    def run(self) -> None:
        """Block until the child has ended."""
        os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT)
        self.ended_at = time.monotonic()
        self._on_end()
