"""Text of layers from any place to any other, whatever the form of the gzip stream."""

import gzip
import random
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import zran
from hypothesis import given, settings
from hypothesis import strategies as st
from reading_layers import read

from trimtab.cold_store.index import Checkpoint, ColdIndex, ColdLayer, DamagedIndexError
from trimtab.cold_store.node import layers
from trimtab.cold_store.node.layers import DamagedLayerError, text_of

WORDS = [b"removed", b"piece", b"layer", b"\0" * 40, bytes(range(200))]
_SOURCE = random.Random(7)
# What does not compress is in blocks as it is, which begin at a byte.
TEXT = b"".join(
    b"".join(_SOURCE.choices(WORDS, k=800)) + _SOURCE.randbytes(4000) for _ in range(10)
)


def members(text: bytes, sizes: list[int]) -> bytes:
    """The text as gzip members; headers with names and without."""
    data, at = b"", 0
    for size in [*sizes, len(text)]:
        named = gzip.compress(text[at : at + size], mtime=0)
        if size % 2:
            named = named[:3] + b"\x08" + named[4:10] + b"name\0" + named[10:]
        data, at = data + named, at + size
    return data


def packed(level: int) -> bytes:
    packing = zlib.compressobj(level, zlib.DEFLATED, 31, 1)
    return packing.compress(TEXT) + packing.flush()


BLOBS = {
    "one": packed(6),
    "fast": packed(1),
    "stored": packed(0),
    "several": members(TEXT, [1, 100, 70_000, 3, 150_000]),
    "many": members(TEXT, [5000] * 60),
    "padded": packed(9) + bytes(1000),
}


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as executor:
        yield executor


@pytest.fixture(scope="module")
def indexes() -> dict[str, ColdIndex]:
    made = {name: zran.index_of([(blob, TEXT, 3000)], {}) for name, blob in BLOBS.items()}
    return {name: ColdIndex.parse(index.to_bytes()) for name, index in made.items()}


@pytest.mark.parametrize("piece_bytes", [1, 1000, 1 << 20])
@pytest.mark.parametrize("name", sorted(BLOBS.keys() - {"stored"}))
def test_any_span(
    name: str,
    piece_bytes: int,
    indexes: dict[str, ColdIndex],
    pool: ThreadPoolExecutor,
) -> None:
    longest = len(TEXT) if piece_bytes > 1 else 30

    @settings(max_examples=20 if piece_bytes == 1 else 50)
    @given(st.integers(0, len(TEXT) - 1), st.integers(1, longest))
    def spans(start: int, size: int) -> None:
        end = min(len(TEXT), start + size)
        text, _ = read(indexes[name], BLOBS[name], start, end, pool)
        assert text == TEXT[start:end]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layers, "_PIECE_BYTES", piece_bytes)
        spans()


def test_checkpoints_are_within_bytes(indexes: dict[str, ColdIndex]) -> None:
    points = [each for index in indexes.values() for each in index.layers[0].checkpoints]
    assert {each.bits for each in points} == set(range(8))


def test_blocks_as_they_are(indexes: dict[str, ColdIndex], pool: ThreadPoolExecutor) -> None:
    assert read(indexes["stored"], BLOBS["stored"], 9, 400_000, pool)[0] == TEXT[9:400_000]


def test_little_more_than_the_place_is_fetched(
    indexes: dict[str, ColdIndex], pool: ThreadPoolExecutor
) -> None:
    _, fetched = read(indexes["one"], BLOBS["one"], 200_000, 201_000, pool)
    assert fetched < len(BLOBS["one"]) / 5


def test_a_checkpoint_at_a_header(pool: ThreadPoolExecutor) -> None:
    blob = BLOBS["several"]
    index = zran.index_of([(blob, TEXT, 1 << 30)], {})
    [layer] = index.layers
    at_header = replace(layer.checkpoints[0], compressed_offset=0)
    index = replace(index, layers=(replace(layer, checkpoints=(at_header,)),))
    assert read(index, blob, 50, 200_000, pool)[0] == TEXT[50:200_000]


def test_a_layer_without_compression(pool: ThreadPoolExecutor) -> None:
    index = zran.index_of([(TEXT, TEXT, 0)], {})
    assert read(index, TEXT, 5, 100_000, pool) == (TEXT[5:100_000], 99_995)


@given(st.data())
def test_damage_ends_with_an_error_or_the_same_length(data: st.DataObject) -> None:
    """What came is checked by digest: here only that nothing hangs, crashes or grows."""
    index = zran.index_of([(BLOBS["several"], TEXT, 3000)], {})
    blob = bytearray(BLOBS["several"])
    for _ in range(data.draw(st.integers(1, 5))):
        blob[data.draw(st.integers(0, len(blob) - 1))] = data.draw(st.integers(0, 255))
    start = data.draw(st.integers(0, len(TEXT) - 1))
    with ThreadPoolExecutor(1) as pool:
        try:
            text, _ = read(index, bytes(blob), start, len(TEXT), pool)
        except (DamagedLayerError, DamagedIndexError):
            return
        assert len(text) == len(TEXT) - start


def test_a_bomb_is_not_inflated(pool: ThreadPoolExecutor) -> None:
    size = 1 << 40
    bomb = gzip.compress(bytes(1 << 20)) * 200
    [layer] = zran.index_of([(bomb[:2000], b"", 1 << 30)], {}).layers
    index = ColdIndex("", "", (replace(layer, size_bytes=size, uncompressed_bytes=size),), {})
    with pytest.raises(DamagedIndexError, match="no checkpoint close"):
        read(index, bomb, 100 << 20, (100 << 20) + 1, pool)


def test_blocks_without_text_come_to_an_end(pool: ThreadPoolExecutor) -> None:
    """A stream of empty blocks, as long as one likes."""
    first = zran.index_of([(BLOBS["one"], TEXT, 1 << 30)], {}).layers[0].checkpoints
    size = 1 << 40
    layer = ColdLayer("sha256:" + "0" * 64, size, size, "gzip", first)
    index = ColdIndex("", "", (layer,), {})
    fetched = []

    def fetch(begin: int, stop: int) -> bytes:
        fetched.append(stop - begin)
        return (b"\0\0\0\xff\xff" * (stop - begin))[: stop - begin]

    with pytest.raises(DamagedLayerError):
        list(text_of(index, layer, 0, 1000, fetch, pool))
    assert sum(fetched) < 32 << 20


@pytest.mark.timeout(20)
def test_members_without_text_take_little_time(pool: ThreadPoolExecutor) -> None:
    """Each is as short as it can be; copying what follows at each would take minutes."""
    blob = gzip.compress(b"") * 500_000
    layer = ColdLayer(
        "sha256:" + "0" * 64, len(blob), 1 << 30, "gzip", (Checkpoint(0, 0, 0, 0, 0),)
    )
    with pytest.raises(DamagedLayerError, match="it ends before"):
        read(ColdIndex("", "", (layer,), {}), blob, 0, 10, pool)
