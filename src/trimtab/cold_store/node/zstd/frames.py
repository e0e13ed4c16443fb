"""The text of zstd frames (RFC 8878)."""

from collections.abc import Iterator

from trimtab.cold_store.node.zstd.decoder import DamagedFrameError, FrameDecoder

_MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPABLE_MAGIC_END = b"\x2a\x4d\x18"  # after a byte from 0x50 to 0x5f
_SKIPPABLE_HEAD_BYTES = 8
_FEW_FRAMES, _LEAST_TEXT_BYTES = 1 << 16, 64


def most_frames_of(text_bytes: int) -> int:
    """Return how many frames are read for so much text: many short ones take much time.

    `trimtab.debloating.shipping.zstd_frames` makes checkpoints such that fewer are needed.
    """
    return _FEW_FRAMES + text_bytes // _LEAST_TEXT_BYTES


def text_of_frames(
    pieces: Iterator[bytes], decoder: FrameDecoder, most_frames: int
) -> Iterator[bytes]:
    """Yield the text of the frames in `pieces`; skippable ones are passed over.

    No other format is decoded, as libzstd would its formats before version 0.8. Raises
    DamagedFrameError, also for more than `most_frames`.
    """
    rest = longer(b"", len(_MAGIC), pieces)
    while len(rest) >= len(_MAGIC):
        most_frames -= 1
        if most_frames < 0:
            raise DamagedFrameError("too many frames for so much text")
        if rest.startswith(_MAGIC):
            rest = yield from decoder.frame(rest, pieces)
        elif rest[1 : len(_MAGIC)] == _SKIPPABLE_MAGIC_END and rest[0] >> 4 == 5:
            rest = _behind_skippable(rest, pieces)
        else:
            raise DamagedFrameError("no zstd frame")
        rest = longer(rest, len(_MAGIC), pieces)


def longer(data: bytes, least_bytes: int, pieces: Iterator[bytes]) -> bytes:
    """Return `data` with as many `pieces` behind it as make `least_bytes`, or all that come."""
    while len(data) < least_bytes and (more := next(pieces, b"")):
        data += more
    return data


def _behind_skippable(rest: bytes, pieces: Iterator[bytes]) -> bytes:
    rest = longer(rest, _SKIPPABLE_HEAD_BYTES, pieces)
    size_bytes = int.from_bytes(rest[len(_MAGIC) : _SKIPPABLE_HEAD_BYTES], "little")
    left_bytes = _SKIPPABLE_HEAD_BYTES + size_bytes
    while rest and len(rest) <= left_bytes:
        left_bytes -= len(rest)
        rest = next(pieces, b"")
    return rest[left_bytes:]
