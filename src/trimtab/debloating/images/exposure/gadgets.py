"""Gadgets in executable code, as `native/gadget_counter` counts them."""

import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Self

from trimtab.binaries.elf.headers import PF_X
from trimtab.binaries.elf.reader import Elf
from trimtab.errors import TrimtabError
from trimtab.native import native_path

COUNTER = "trimtab-gadget-counter"
KINDS = ("return", "jump", "call", "system call")
PRACTICAL, PRACTICAL_WITH_ASLR, TURING_COMPLETE = 11, 35, 17  # classes that there are
_SIZE = struct.Struct("<Q")


@dataclass(frozen=True)
class Gadgets:
    """The gadgets of a file, or of several.

    `all` counts every place where one begins. `usable` counts, by KINDS, those that an intruder can
    use, alike ones of a file once, and `twice_scores` adds up their scores, which are low for good
    ones. The other three are sets of classes of which there is one, as bits.
    """

    all: int = 0
    usable: tuple[int, ...] = (0,) * len(KINDS)
    twice_scores: tuple[int, ...] = (0,) * len(KINDS)
    practical: int = 0
    practical_with_aslr: int = 0
    turing_complete: int = 0

    @classmethod
    def parse(cls, line: str) -> Self:
        """Return what a line of the counter says. Raises ValueError for another line."""
        count, *numbers = map(int, line.split())
        parts, classes = numbers[:-3], numbers[-3:]
        if len(parts) != 2 * len(KINDS):
            raise ValueError(f"{len(numbers) + 1} numbers")
        return cls(count, tuple(parts[::2]), tuple(parts[1::2]), *classes)

    def __add__(self, other: Self) -> "Gadgets":
        """Return both, with the classes that either has."""
        return Gadgets(
            self.all + other.all,
            tuple(map(sum, zip(self.usable, other.usable, strict=True))),
            tuple(map(sum, zip(self.twice_scores, other.twice_scores, strict=True))),
            self.practical | other.practical,
            self.practical_with_aslr | other.practical_with_aslr,
            self.turing_complete | other.turing_complete,
        )

    @property
    def mean_score(self) -> float | None:
        """The mean over the usable ones but system calls, which have none; None without any."""
        scored = sum(self.usable[:-1])
        return sum(self.twice_scores) / 2 / scored if scored else None

    @property
    def is_sufficient(self) -> bool:
        """Whether there is one of each practical class."""
        return self.practical.bit_count() == PRACTICAL


@dataclass
class GadgetCounter:
    """A running counter: files go in one after another."""

    process: "subprocess.Popen[bytes]" = field(repr=False)

    def count(self, elf: Elf) -> Gadgets:
        """Return the gadgets of the executable segments of `elf`, as they lie in the file.

        Raises TrimtabError where the counter ended.
        """
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            for start, end in _executable(elf):
                self.process.stdin.write(_SIZE.pack(end - start))
                self.process.stdin.write(elf.data[start:end].data)
            self.process.stdin.write(_SIZE.pack(0))
            self.process.stdin.flush()
            return Gadgets.parse(self.process.stdout.readline().decode("ascii"))
        except (BrokenPipeError, ValueError) as error:
            exit_code = self.process.wait()
            raise TrimtabError(f"{COUNTER}: ended with exit code {exit_code} ({error})") from None


def _executable(elf: Elf) -> list[tuple[int, int]]:
    """Return where executable bytes lie in the file, each once however often it is mapped."""
    ranges: list[tuple[int, int]] = []
    mapped = (load for load in elf.loads if load.flags & PF_X and load.file_bytes)
    for start, end in sorted((load.offset, min(load.end, elf.size_bytes)) for load in mapped):
        if ranges and start < ranges[-1][1]:
            ranges[-1] = ranges[-1][0], max(end, ranges[-1][1])
        elif start < end:
            ranges.append((start, end))
    return ranges


@contextmanager
def gadget_counter() -> Iterator[GadgetCounter]:
    """Start a counter for the block. Raises UserError where it was not built."""
    process = subprocess.Popen(
        [native_path(COUNTER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        yield GadgetCounter(process)
    finally:
        process.kill()  # it has nothing to finish
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()
        process.wait()
