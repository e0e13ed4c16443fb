"""The frames of a zstd layer from which a node can read parts of it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from trimtab.cold_store.index import MOST_OVERHEAD_BYTES, MOST_SKIPPED_BYTES, Checkpoint
from trimtab.cold_store.node.zstd.decoder import MOST_WINDOW_LOG
from trimtab.debloating.shipping.checkpoints import Checkpoints
from trimtab.zstd import zstd

_SPACING_BYTES = 256 << 10  # of text between frames: without windows, they take little of an index
_SLICE_BYTES = 1 << 14  # of a chunk at once: what is left of one is copied at the end of each frame
_TEXT_BYTES = 1 << 18  # decoded at once
_MOST_FRAMES = 2048  # of them: as many as `most_frames_of` allows a node
_MOST_OVERHEAD_BYTES = MOST_OVERHEAD_BYTES // 2  # the other half is for the block that ends a read


@dataclass(frozen=True)
class _Frame:
    """Frame `number` [begin, end) of a layer, and where its text is in the layer's text."""

    number: int
    begin: int
    end: int
    text_begin: int
    text_end: int

    @property
    def text_bytes(self) -> int:
        return self.text_end - self.text_begin


def frame_checkpoints(chunks: Iterable[bytes]) -> Checkpoints | None:
    """Return where frames of a layer begin, _SPACING_BYTES of text apart, and where the last ends.

    Returns None for a layer that a node cannot read in parts. It can if each frame has at most
    MOST_SKIPPED_BYTES of text and a window of 1 << MOST_WINDOW_LOG bytes, and needs no dictionary.
    What is more than twice the text of its frame, as skippable frames, may be 8 MiB in all; and of
    2,048 frames, some have to hold _SPACING_BYTES of text.
    """
    kept: list[_Frame] = []
    last, overhead_bytes = None, 0
    try:
        for frame in _frames_with_text(chunks):
            if last is not None:
                overhead_bytes += max(0, frame.begin - last.begin - 2 * last.text_bytes)
            if not kept or frame.text_end - kept[-1].text_begin > _SPACING_BYTES:
                kept.append(frame)
            if frame.number - kept[-1].number > _MOST_FRAMES:
                return None
            last = frame
    except (_UnreadableError, zstd.ZstdError):
        return None
    if last is None or overhead_bytes > _MOST_OVERHEAD_BYTES:
        return None
    places = [(frame.text_begin, frame.begin) for frame in kept]
    places.append((last.text_end, last.end))
    return Checkpoints(last.text_end, tuple((Checkpoint(*place), b"") for place in places))


class _UnreadableError(ValueError):
    """A frame that a node does not read, or that is cut off."""


def _frames_with_text(chunks: Iterable[bytes]) -> Iterator[_Frame]:
    """Yield the frames that hold text. Raises _UnreadableError, and ZstdError for damaged ones."""
    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: MOST_WINDOW_LOG}
    decoder, number, begin, text_begin, place, text_place = None, 0, 0, 0, 0, 0
    for data in _sliced(chunks):
        place += len(data)
        while data:
            if decoder is None:
                decoder = zstd.ZstdDecompressor(options=options)
                begin, text_begin = place - len(data), text_place
            while not decoder.eof and (data or not decoder.needs_input):
                text_place += len(decoder.decompress(data, _TEXT_BYTES))
                data = b""
                if text_place - text_begin > MOST_SKIPPED_BYTES:
                    raise _UnreadableError
            if decoder.eof:
                data, decoder, number = decoder.unused_data, None, number + 1
                if text_place > text_begin:
                    yield _Frame(number, begin, place - len(data), text_begin, text_place)
    if decoder is not None:
        raise _UnreadableError


def _sliced(chunks: Iterable[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        for start in range(0, len(chunk), _SLICE_BYTES):
            yield chunk[start : start + _SLICE_BYTES]
