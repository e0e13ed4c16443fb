"""What libraries do when they are loaded and called, each in a process of its own."""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

SOURCE = Path(__file__).with_name("exercise.c")


class Exercise:
    """A fork server that loads libraries and calls `functions` (NAME or NAME=ARGUMENT) of them.

    With `watched`, part of a path, the pages of code that such a library touched are noted.
    """

    def __init__(self, folder: Path, functions: Sequence[str], watched: str = "") -> None:
        program, audit = folder / "exercise", folder / "watch.so"
        if not program.exists():
            build(program, "-ldl")
            build(audit, "-shared", "-fPIC", "-DWATCH")
        self._pages = tempfile.TemporaryFile() if watched else None  # noqa: SIM115
        environment = dict(os.environ)
        if self._pages:
            environment |= {
                "LD_AUDIT": str(audit), "WATCHED": watched, "PAGES": str(self._pages.fileno())
            }  # fmt: skip
        self._process = subprocess.Popen(
            [program, *functions],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=environment, pass_fds=[self._pages.fileno()] if self._pages else [],
            text=True, errors="backslashreplace",
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
        if self._pages:
            self._pages.close()

    def of(self, path: Path) -> list[str]:
        """Return the words of the process that loaded `path`, its path in them as LIBRARY."""
        self._process.stdin.write(f"{path}\n")
        self._process.stdin.flush()
        lines = []
        while not lines or not lines[-1].startswith("end "):
            line = self._process.stdout.readline()
            if not line:
                raise RuntimeError(f"the fork server ended at {path}")
            words = line.rstrip("\n").replace(str(path), "LIBRARY")
            lines.append(words.replace(str(path.parent), "FOLDER"))
        return lines

    def pages_of(self, path: Path) -> np.ndarray:
        """Return the addresses of the pages of code that `path` touched."""
        self._pages.seek(0)
        self._pages.truncate()
        self.of(path)
        self._pages.seek(0)
        words = self._pages.read()
        return np.unique(np.frombuffer(words, np.int64, len(words) // 8))


def build(path: Path, *flags: str) -> None:
    subprocess.run(["gcc", "-O1", "-o", path, SOURCE, *flags], check=True)
