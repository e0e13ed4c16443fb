"""Which zstd layers a node reads in parts, and from where: each of these is then read."""

import itertools
import struct
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from handmade import entry, layer
from handmade_zstd import chunked, skippable, streamed
from hypothesis import given
from hypothesis import strategies as st

from trimtab.cold_store.index import MOST_SKIPPED_BYTES, ColdIndex, ColdLayer
from trimtab.cold_store.node.layers import text_of
from trimtab.cold_store.node.zstd.decoder import MOST_WINDOW_LOG
from trimtab.debloating.shipping.checkpoints import Checkpoints
from trimtab.debloating.shipping.zstd_frames import frame_checkpoints
from trimtab.zstd import zstd

SPACING_BYTES = 256 << 10
ARCHIVE = layer(*(entry(f"srv/{number}", bytes([number]) * 9000 * number) for number in range(90)))


def chunks_of(data: bytes, chunk_bytes: int = 1 << 20) -> Sequence[bytes]:
    return [data[at : at + chunk_bytes] for at in range(0, len(data), chunk_bytes)]


def read(blob: bytes, found: Checkpoints, start: int, end: int) -> bytes:
    """The text as a node reads it."""
    points = tuple(point for point, _ in found.points)
    cold = ColdLayer("sha256:" + "0" * 64, len(blob), found.text_bytes, "zstd", points)
    index = ColdIndex.parse(ColdIndex("", "", (cold,), {}).to_bytes())
    with ThreadPoolExecutor(1) as pool:
        pieces = text_of(index, index.layers[0], start, end, lambda a, b: blob[a:b], pool)
        return b"".join(pieces)


def places_of(found: Checkpoints) -> list[tuple[int, int]]:
    return [(point.uncompressed_offset, point.compressed_offset) for point, _ in found.points]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0, 1, 700, 90_000, SPACING_BYTES, SPACING_BYTES + 1]),
            st.sampled_from(["known", "streamed", "skippable"]),
        ),
        max_size=30,
    ),
    st.sampled_from([1000, 1 << 20]),
    st.data(),
)
def test_each_checkpoint_is_a_frame(
    made: list[tuple[int, str]], chunk_bytes: int, data: st.DataObject
) -> None:
    """No more than 256 KiB are skipped, but for what is before a place in its frame."""
    blob, text, frames = b"", b"", {}
    for number, (size, kind) in enumerate(made):
        part = bytes([number]) * size
        if kind == "skippable":
            blob += skippable(part)
            continue
        if part:
            frames[len(text)] = len(blob)
        blob += zstd.compress(part) if kind == "known" else streamed(part)
        text += part
    found = frame_checkpoints(chunks_of(blob, chunk_bytes))
    if not text:
        assert found is None
        return
    assert found is not None and found.text_bytes == len(text)
    assert not any(window for _, window in found.points)
    *begins, (text_end, end) = places_of(found)
    assert begins[0] == next(iter(frames.items())) and set(begins) <= set(frames.items())
    assert text_end == len(text) and zstd.decompress(blob[:end]) == text
    offsets = [*frames, len(text)]
    for (one, _), (other, _) in itertools.pairwise(begins):
        longest = max(b - a for a, b in itertools.pairwise(offsets) if one <= a < other)
        assert other - one <= max(SPACING_BYTES, longest)
    start = data.draw(st.integers(0, len(text) - 1))
    stop = data.draw(st.integers(start + 1, len(text)))
    assert read(blob, found, start, stop) == text[start:stop]


def test_a_layer_of_podman(tmp_path: Path) -> None:
    """What leads to its files is behind the last frame of the archive, and is not read."""
    blob = chunked(ARCHIVE)
    found = frame_checkpoints(chunks_of(blob))
    assert found is not None and found.text_bytes == len(ARCHIVE)
    assert found.points[-1][0].compressed_offset == blob.index(struct.pack("<I", 0x184D2A50))
    assert 100 < len(found.points) < 200
    assert read(blob, found, 12_000_000, 13_000_000) == ARCHIVE[12_000_000:13_000_000]


def test_a_layer_of_pzstd(tmp_path: Path) -> None:
    (tmp_path / "layer").write_bytes(ARCHIVE)
    try:
        subprocess.run(["pzstd", "-q", "-p", "4", tmp_path / "layer"], check=True)
    except FileNotFoundError:
        pytest.skip("no pzstd: apt-get install zstd")
    blob = (tmp_path / "layer.zst").read_bytes()
    found = frame_checkpoints(chunks_of(blob))
    assert found is not None and len(found.points) > 2
    assert read(blob, found, 7_000_000, 30_000_000) == ARCHIVE[7_000_000:30_000_000]


@pytest.mark.parametrize("size_bytes", [MOST_SKIPPED_BYTES, MOST_SKIPPED_BYTES + 1])
@pytest.mark.parametrize("before", [b"", b"x"])
@pytest.mark.parametrize("pack", [zstd.compress, streamed])
def test_the_text_of_a_frame_at_its_bound(size_bytes: int, before: bytes, pack: object) -> None:
    """The last byte of the longest frame is read; one more byte makes it another's."""
    assert callable(pack)
    blob = (pack(before) if before else b"") + pack(bytes(size_bytes - 1) + b"e") + pack(b"last")
    found = frame_checkpoints(chunks_of(blob))
    if size_bytes > MOST_SKIPPED_BYTES:
        assert found is None
        return
    end = len(before) + size_bytes
    assert found is not None and found.text_bytes == end + 4
    assert read(blob, found, end - 1, end + 2) == b"ela"


@pytest.mark.parametrize("window_log", [MOST_WINDOW_LOG, MOST_WINDOW_LOG + 1])
def test_the_window_of_a_frame_at_its_bound(window_log: int) -> None:
    blob = streamed(b"a") + streamed(bytes(1000), window_log=window_log)
    found = frame_checkpoints(chunks_of(blob))
    assert (found is None) == (window_log > MOST_WINDOW_LOG)
    if found:
        assert read(blob, found, 500, 1001) == bytes(501)


@pytest.mark.parametrize(("beyond", "is_read"), [(0, True), (1, False)])
def test_what_is_no_text_at_its_bound(beyond: int, is_read: bool) -> None:
    """Skippable frames of 8 MiB, whose frame has no text to set against."""
    first = streamed(b"first")
    gap = skippable(bytes((8 << 20) + 2 * len(b"first") - len(first) - 8 + beyond))
    blob = first + gap + streamed(b"second")
    found = frame_checkpoints(chunks_of(blob))
    assert (found is not None) == is_read
    if found:
        assert read(blob, found, 3, 8) == b"stsec"


@pytest.mark.parametrize("frame", [skippable(b""), streamed(b""), streamed(b"x")])
@pytest.mark.parametrize(("count", "is_read"), [(2047, True), (2048, False)])
def test_many_short_frames_at_their_bound(frame: bytes, count: int, is_read: bool) -> None:
    blob = streamed(b"first") + frame * count + streamed(b"last")
    found = frame_checkpoints(chunks_of(blob))
    assert (found is not None) == is_read
    if found:
        assert read(blob, found, found.text_bytes - 5, found.text_bytes)[1:] == b"last"


def test_as_many_short_frames_as_there_may_be_are_read() -> None:
    """Of the least text that is allowed; a node reads it from the first to the last."""
    frames = (streamed(bytes(200_000)) + skippable(b"") * 2040) * 60
    found = frame_checkpoints(chunks_of(frames))
    assert found is not None
    assert read(frames, found, 0, found.text_bytes) == bytes(12_000_000)


@pytest.mark.parametrize(
    "blob",
    [
        b"",
        skippable(b"only"),
        streamed(b"text") + b"\0\0\0\0",
        streamed(b"text")[:-1],
        streamed(b"text") + streamed(b"more")[:-2],
        b"\x28\xb5\x2f\xfd\x01\x50\x07" + b"\x01\x00\x00",  # of a dictionary
    ],
)
def test_what_is_damaged_is_not_read(blob: bytes) -> None:
    assert frame_checkpoints(chunks_of(blob)) is None
