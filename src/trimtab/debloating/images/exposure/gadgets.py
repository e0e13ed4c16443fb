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
PRACTICAL, PRACTICAL_WITH_ASLR, TURING_COMPLETE = 11, 35, 17  # numbers of classes
_SIZE = struct.Struct("<Q")


@dataclass(frozen=True)
class Gadgets:
    """The gadgets of one or several files.

    `all` counts every offset where a gadget begins. `usable` counts, by KINDS, gadgets that an
    intruder can use, equal ones of a file once. `twice_scores` are the sums of their doubled
    scores; lower is better for the intruder. The other three are bit sets of the classes that
    occur.
    """

    all: int = 0
    usable: tuple[int, ...] = (0,) * len(KINDS)
    twice_scores: tuple[int, ...] = (0,) * len(KINDS)
    practical: int = 0
    practical_with_aslr: int = 0
    turing_complete: int = 0

    @classmethod
    def parse(cls, line: str) -> Self:
        """Parse a line of the counter. Raises ValueError for any other line."""
        count, *numbers = map(int, line.split())
        parts, classes = numbers[:-3], numbers[-3:]
        if len(parts) != 2 * len(KINDS):
            raise ValueError(f"{len(numbers) + 1} numbers")
        return cls(count, tuple(parts[::2]), tuple(parts[1::2]), *classes)

    def __add__(self, other: Self) -> "Gadgets":
        """Return the sums, and the union of the classes."""
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
        """The mean score of usable gadgets, without system calls, which have none; None without
        any.
        """
        scored = sum(self.usable[:-1])
        return sum(self.twice_scores) / 2 / scored if scored else None

    @property
    def is_sufficient(self) -> bool:
        """Whether every practical class occurs."""
        return self.practical.bit_count() == PRACTICAL


@dataclass
class GadgetCounter:
    """A running counter; files are counted one after another."""

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
    """Return the file ranges that are executable, each once even if mapped several times."""
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
        process.kill()  # it holds no state to write
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()
        process.wait()
