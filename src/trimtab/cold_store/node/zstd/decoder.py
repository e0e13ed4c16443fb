"""What decodes a zstd frame, and what may be wrong with one."""

from collections.abc import Generator, Iterator
from typing import Protocol

MOST_WINDOW_LOG = 25  # 32 MiB: several are decoded at once, each in so much memory
TEXT_BYTES = 1 << 18  # decoded at once


class DamagedFrameError(ValueError):
    """Bytes that are no zstd frame of a window of at most 1 << MOST_WINDOW_LOG bytes."""


class NoZstdError(RuntimeError):
    """This node has no zstd; the message says what to install."""


class FrameDecoder(Protocol):
    """Decodes frames one after the other."""

    def frame(self, data: bytes, pieces: Iterator[bytes]) -> Generator[bytes, None, bytes]:
        """Yield the text of the frame at the beginning of `data` and `pieces`.

        Returns what of a piece comes behind the frame. Each text has at most TEXT_BYTES. Raises
        DamagedFrameError.
        """
