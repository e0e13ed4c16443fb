"""Text of zstd layers from any frame on, by Python's decoder and by the system's library."""

import ctypes
import gzip
import hashlib
import json
import random
import resource
import struct
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from fake_registry import FakeRegistry
from handmade_zstd import index_of, skippable, streamed
from hypothesis import given, settings
from hypothesis import strategies as st
from reading_layers import read

from trimtab.cold_store.credentials import Credentials
from trimtab.cold_store.index import (
    HEAD,
    MAGIC,
    Checkpoint,
    ColdIndex,
    ColdLayer,
    DamagedIndexError,
)
from trimtab.cold_store.node import layers
from trimtab.cold_store.node.allowed import Allowed
from trimtab.cold_store.node.cache import Cache
from trimtab.cold_store.node.layers import DamagedLayerError, text_of
from trimtab.cold_store.node.registries import Registries
from trimtab.cold_store.node.store import Request, Store
from trimtab.cold_store.node.zstd.decoder import MOST_WINDOW_LOG, NoZstdError
from trimtab.cold_store.node.zstd.decoders import frame_decoder
from trimtab.zstd import zstd

MOST_TEXT = 64 << 20
SOURCE = random.Random(11)
TEXTS = [
    b"",
    b"x",
    b"removed piece " * 3000,
    SOURCE.randbytes(40_000),
    bytes(600_000),
    SOURCE.randbytes(300) * 1000,
]


def has_library() -> bool:
    try:
        ctypes.CDLL("libzstd.so.1")
    except OSError:
        return False
    return True


@pytest.fixture(params=["python", "library"])
def decoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which decoder a node has; that of Python 3.14 is also in the package for earlier ones."""
    if request.param == "library" and not has_library():
        pytest.skip("no libzstd.so.1: apt-get install libzstd1")
    found = zstd if request.param == "python" else None  # None: as if there were no such module
    monkeypatch.setitem(sys.modules, "compression.zstd", found)
    return str(request.param)


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as executor:
        yield executor


def layer_of(size_bytes: int, text_bytes: int, *places: tuple[int, int]) -> ColdIndex:
    points = tuple(Checkpoint(*place) for place in places or [(0, 0)])
    layer = ColdLayer("sha256:" + "0" * 64, size_bytes, text_bytes, "zstd", points)
    return ColdIndex("", "", (layer,), {})


@st.composite
def frames(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A frame and its text, of any writer; some have none."""
    text = draw(st.sampled_from(TEXTS))
    match draw(st.sampled_from(["known", "streamed", "checked", "wide", "skippable", "pzstd"])):
        case "known":
            return zstd.compress(text, 1), text
        case "streamed":
            return streamed(text, draw(st.integers(-5, 9))), text
        case "checked":
            return streamed(text, checksum_flag=1), text
        case "wide":
            return streamed(text, window_log=MOST_WINDOW_LOG), text
        case "skippable":
            return skippable(text[:50_000], draw(st.integers(0, 15))), b""
        case _:
            frame = zstd.compress(text)
            return skippable(struct.pack("<I", len(frame))) + frame, text


@pytest.mark.parametrize("piece_bytes", [7, 1000, 1 << 20])
def test_any_piece_of_any_frames(decoder: str, piece_bytes: int, pool: ThreadPoolExecutor) -> None:
    """The whole, decoded at once, is the oracle."""

    @settings(max_examples=20 if piece_bytes == 7 else 100)
    @given(st.lists(frames(), min_size=1, max_size=8), st.data())
    def pieces(made: list[tuple[bytes, bytes]], data: st.DataObject) -> None:
        text = b"".join(each for _, each in made)
        kept = data.draw(st.sets(st.integers(0, len(made) - 1)))
        index, blob = index_of(made, {}, sorted(kept))
        assert zstd.decompress(blob) == text
        if not text:
            return
        index = ColdIndex.parse(index.to_bytes())
        start = data.draw(st.integers(0, len(text) - 1))
        longest = len(text) if piece_bytes > 7 else 30
        end = min(len(text), start + data.draw(st.integers(1, longest)))
        assert read(index, blob, start, end, pool)[0] == text[start:end]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layers, "_PIECE_BYTES", piece_bytes)
        pieces()


def test_only_the_frames_of_a_piece_are_fetched(decoder: str, pool: ThreadPoolExecutor) -> None:
    parts = [SOURCE.randbytes(20_000) for _ in range(50)]
    index, blob = index_of([(streamed(part), part) for part in parts], {})
    text, fetched = read(index, blob, 410_000, 435_000, pool)
    assert text == b"".join(parts)[410_000:435_000]
    assert fetched == sum(len(streamed(part)) for part in parts[20:22])


def test_what_cli_tools_write(decoder: str, tmp_path: Path, pool: ThreadPoolExecutor) -> None:
    """pzstd has a skippable frame before each frame; --rsyncable has blocks within one."""
    text = b"".join(TEXTS) * 3
    (tmp_path / "text").write_bytes(text)
    for words in (["pzstd", "-p", "2"], ["zstd", "-T2", "--rsyncable"], ["zstd", "-T2", "-B512K"]):
        try:
            packed = tmp_path / "packed"
            command = [*words, "-q", "-f", "-o", packed, tmp_path / "text"]
            subprocess.run(command, check=True)
        except FileNotFoundError:
            pytest.skip("no zstd and pzstd: apt-get install zstd")
        blob = packed.read_bytes()
        first = 12 if words[0] == "pzstd" else 0
        index = layer_of(len(blob), len(text), (0, first))
        assert read(index, blob, 1000, len(text), pool)[0] == text[1000:]


@given(st.data())
def test_damage_ends_with_an_error_or_the_same_length(data: st.DataObject) -> None:
    """What came is checked by digest: here only that nothing hangs, crashes or grows."""
    made = [(streamed(text), text) for text in TEXTS] + [(skippable(b"toc"), b"")]
    index, good = index_of(made, {}, [3])
    blob = bytearray(good)
    for _ in range(data.draw(st.integers(1, 5))):
        blob[data.draw(st.integers(0, len(blob) - 1))] = data.draw(st.integers(0, 255))
    text_bytes = index.layers[0].uncompressed_bytes
    start = data.draw(st.integers(0, text_bytes - 1))
    with ThreadPoolExecutor(1) as pool:
        try:
            text, _ = read(index, bytes(blob), start, text_bytes, pool)
        except DamagedLayerError:
            return
        assert len(text) == text_bytes - start


FRAME = streamed(b"text " * 100)
DICTIONARY = zstd.ZstdDict(b"a dictionary" * 20, is_raw=True)


def of_dictionary() -> bytes:
    """A frame whose header names a dictionary: one byte more of the header, with its number."""
    whole = bytearray(FRAME)
    whole[4] |= 1
    return bytes(whole[:6]) + b"\x07" + bytes(whole[6:])


@pytest.mark.parametrize(
    ("blob", "said"),
    [
        (FRAME[:-5], "ends before"),
        (FRAME[:3], "ends before"),
        (FRAME[:9] + b"\xff\xff\xff" + FRAME[12:], "(?i)corrupt"),
        (b"", "ends before"),
        (of_dictionary(), "(?i)dictionary"),
        (gzip.compress(b"text", mtime=0), "no zstd frame"),
        (b"\x25\xb5\x2f\xfd" + FRAME[4:], "no zstd frame"),  # of version 0.5, which libzstd has
        (b"\x1e\xb5\x2f\xfd" + FRAME[4:], "no zstd frame"),
        (skippable(b"a")[:6], "ends before"),
        (skippable(bytes(100))[:50], "ends before"),
        (b"\x50\x2a\x4d\x18\xff\xff\xff\xff" + bytes(1000), "ends before"),
        (streamed(b"short"), "ends before"),
        (streamed(bytes(500), window_log=MOST_WINDOW_LOG + 1), "(?i)memory|window"),
        # A window of 2 TB, and a text of 2**64 - 1 bytes in one segment.
        (b"\x28\xb5\x2f\xfd\x00\xff" + FRAME[6:], "(?i)memory|window"),
        (b"\x28\xb5\x2f\xfd\xe0" + b"\xff" * 8 + FRAME[6:], "(?i)memory|window|corrupt"),
    ],
)
def test_hostile_frames(decoder: str, blob: bytes, said: str, pool: ThreadPoolExecutor) -> None:
    index = layer_of(max(1, len(blob)), 500)

    def fetch(begin: int, stop: int) -> bytes:
        return blob[begin:stop]

    with pytest.raises(DamagedLayerError, match=said):
        list(text_of(index, index.layers[0], 0, 500, fetch, pool))


def test_a_bomb_takes_no_memory(decoder: str, pool: ThreadPoolExecutor) -> None:
    """A frame of 100 GB: as much of it is decoded as the index names, and no more is held."""
    block = b"\x02\x00\x10\x00"  # 128 KiB of one byte
    bomb = b"\x28\xb5\x2f\xfd\x00\x70" + block * 800_000
    index = layer_of(len(bomb), 1 << 37)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    text, fetched = read(index, bomb, MOST_TEXT, MOST_TEXT + 1000, pool)
    assert text == bytes(1000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 150 << 10
    assert fetched <= len(bomb)
    with pytest.raises(DamagedIndexError, match="no checkpoint close"):
        read(index, bomb, MOST_TEXT + 1, MOST_TEXT + 2, pool)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", [skippable(b""), zstd.compress(b""), skippable(bytes(5000))])
def test_frames_without_text_come_to_an_end(
    decoder: str, unit: bytes, pool: ThreadPoolExecutor
) -> None:
    size_bytes = 1 << 40
    index = layer_of(size_bytes, size_bytes)
    fetched = []

    def fetch(begin: int, stop: int) -> bytes:
        fetched.append(stop - begin)
        phase = begin % len(unit)
        return (unit * ((stop - begin) // len(unit) + 2))[phase : phase + stop - begin]

    said = "it ends before" if len(unit) > 5000 else "too many frames"
    with pytest.raises(DamagedLayerError, match=said):
        list(text_of(index, index.layers[0], 0, 1000, fetch, pool))
    assert sum(fetched) < 32 << 20


def test_a_node_without_any_decoder(
    monkeypatch: pytest.MonkeyPatch, pool: ThreadPoolExecutor
) -> None:
    """One message names what is missing, and nothing is fetched for naught."""

    def fetch(begin: int, stop: int) -> bytes:
        raise AssertionError("it asked the registry")

    def fails(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setattr(ctypes, "CDLL", fails)
    index = layer_of(1000, 1000)
    with pytest.raises(NoZstdError, match=r"libzstd\.so\.1: cannot.*Python 3\.14.*apt-get install"):
        list(text_of(index, index.layers[0], 0, 10, fetch, pool))
    monkeypatch.setitem(sys.modules, "trimtab.cold_store.node.zstd.libzstd", None)
    with pytest.raises(NoZstdError, match=r"libzstd\.so\.1"):
        frame_decoder()


def test_a_piece_that_no_decoder_brings_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The container hears of a failure, not of a piece that does not exist; the log says why."""
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, "trimtab.cold_store.node.zstd.libzstd", None)
    content = b"text text "
    index, blob = index_of([(FRAME, b"text " * 100)], {(5, 10): content})
    registry = FakeRegistry()
    registry.add("team/app", blob)
    digest = registry.add("team/app", index.to_bytes())
    name = f"{hashlib.sha256(content).hexdigest()[:32]}-000000"
    with registry.serving() as host:
        cache = Cache(tmp_path, 1 << 20)
        store = Store(Registries(Credentials()), cache, Allowed([f"{host}/team"]))
        asked = {"trimtab-index": f"{host}/team/app@{digest}"}
        answer = store.answer(Request(f"/{name[:2]}/{name}", asked))
        metrics = store.answer(Request("/metrics", {})).head.decode()
        store.close()
        cache.close()
    assert answer.status == 502 and b"Python 3.14" in answer.head
    assert 'requests_total{outcome="failed"} 1' in metrics
    assert capfd.readouterr().err.count("this node cannot decode") == 1


def table_of(index: ColdIndex) -> dict[str, object]:
    data = index.to_bytes()
    return dict(json.loads(gzip.decompress(data[HEAD.size :])))


def test_versions_of_the_index() -> None:
    """Version 2 is for layers of zstd alone, so that earlier nodes read all others."""
    index, _ = index_of([(FRAME, b"text " * 100)], {(5, 10): b"text text "})
    data = index.to_bytes()
    assert HEAD.unpack_from(data)[:2] == (MAGIC, 2)
    assert ColdIndex.parse(data) == index and ColdIndex.parse(data).to_bytes() == data
    [layer] = index.layers
    plain = replace(layer, compression="none", size_bytes=500, checkpoints=())
    of_one = replace(index, layers=(plain,)).to_bytes()
    assert HEAD.unpack_from(of_one)[:2] == (MAGIC, 1)
    rest = data[HEAD.size :]
    for version, said in (
        (1, "unknown compression 'zstd'"),
        (3, "version 3; expected 1 to 2.*newer"),
    ):
        with pytest.raises(DamagedIndexError, match=said):
            ColdIndex.parse(HEAD.pack(MAGIC, version, len(rest)) + rest)
    with pytest.raises(DamagedIndexError, match="cut off"):
        ColdIndex.parse(data[:-1])


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([[0, 0, 0, 0, 0]], "without 2 numbers"),
        ([[0]], "without 2 numbers"),
        ([[0, 0], [5, 0]], "ascend"),
        ([[9, 0], [5, 3]], "ascend"),
        ([[0, 10**6]], "outside"),
        ([[501, 0]], "ascend"),
        ([[20, 0]], "no checkpoint before"),
        ([], "no checkpoint before"),
        ([[-1, 0]], "no number"),
        ([5], "no cold index"),
    ],
)
def test_frames_that_an_index_cannot_have(points: list[list[int]], said: str) -> None:
    index, _ = index_of([(FRAME, b"text " * 100)], {(5, 10): b"text text "})
    table = table_of(index)
    table["layers"][0]["checkpoints"] = points  # type: ignore[index]
    packed = gzip.compress(json.dumps(table).encode())
    with pytest.raises(DamagedIndexError, match=said):
        ColdIndex.parse(HEAD.pack(MAGIC, 2, len(packed)) + packed)
