"""Layers that are damaged, cut off or bombs: one clear error, and little memory."""

import gzip
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from handmade import Blobs, config_of, entry, folder, layer, link, save, sha256
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.images.archives.opening import open_image
from trimtab.images.compression import (
    PIECE_BYTES,
    Compression,
    compression_of,
    compressor,
    decompressed,
)
from trimtab.images.errors import DamagedError, ImageError
from trimtab.images.limits import ImageLimit
from trimtab.images.merging import merged_view

PLAIN = layer(entry("a", b"x" * 5000), entry("b", os.urandom(3000)))
PACKED = [Compression.GZIP, Compression.ZSTD]


def packed(data: bytes, compression: Compression) -> bytes:
    made = compressor(compression)
    return made.compress(data) + made.flush()


def image_of(path: Path, plain: bytes, stored: bytes) -> Path:
    blobs = Blobs()
    blobs.index(blobs.manifest([plain], packed=[stored], config=config_of([plain])))
    return save(path, blobs.files)


def said(path: Path) -> str:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ImageError) as caught:
        merged_view(open_image(path))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 16  # KiB
    text = str(caught.value)
    assert text.startswith(f"{path}: layer 1 of 1") and len(text) < 1000 and "\n" not in text
    return text


@pytest.mark.parametrize("compression", Compression)
def test_what_is_not_what_its_digest_says(tmp_path: Path, compression: Compression) -> None:
    stored = packed(PLAIN, compression)
    path = image_of(tmp_path / "image", PLAIN, stored)
    merged_view(open_image(path))
    blob = path / "blobs" / sha256(stored).replace(":", "/")
    blob.write_bytes(stored[:600] + bytes([stored[600] ^ 1]) + stored[601:])
    assert "digest" in said(path) or compression is not Compression.NONE
    wrong = image_of(tmp_path / "wrong", PLAIN + bytes(512), stored)
    assert f"but {sha256(PLAIN + bytes(512))} was expected" in said(wrong)


def test_packed_bytes_have_their_own_digest(tmp_path: Path) -> None:
    """Also where they hold the same."""
    stored = gzip.compress(PLAIN, mtime=0)
    path = image_of(tmp_path / "image", PLAIN, stored)
    blob = path / "blobs" / sha256(stored).replace(":", "/")
    blob.write_bytes(gzip.compress(PLAIN, mtime=1))
    assert sha256(stored) in said(path)


@pytest.mark.parametrize("compression", PACKED)
def test_layers_that_are_cut_off(tmp_path: Path, compression: Compression) -> None:
    stored = packed(PLAIN, compression)
    for length in range(6, len(stored), 401):
        assert "cut off" in said(image_of(tmp_path / f"{length}", PLAIN, stored[:length]))


def test_a_layer_that_shrinks_when_it_is_known(tmp_path: Path) -> None:
    path = image_of(tmp_path / "image.tar", PLAIN, PLAIN)
    image = open_image(path)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(ImageError, match="written to"):
        merged_view(image)


@pytest.mark.parametrize("compression", PACKED)
def test_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: Compression) -> None:
    """Zeros in several parts; where it may grow to a GiB in ordinary life, it takes as long."""
    monkeypatch.setattr("trimtab.images.limits.ALWAYS_BYTES", 1 << 22)
    stored = packed(bytes(1 << 23), compression) * 8
    assert "grows to more than" in said(image_of(tmp_path / "image", PLAIN, stored))
    entries = packed(layer(entry("zeros", bytes(1 << 23))), compression) * 8
    assert "grows to more than" in said(image_of(tmp_path / "other", PLAIN, entries))


def test_all_layers_grow_together() -> None:
    limit = ImageLimit(1000)
    block = bytes(1 << 20)
    for _ in range(2):
        for _ in limit.bounded([block] * 512):  # what a file of zeros may be
            pass
    with pytest.raises(DamagedError, match="grows"):
        list(limit.bounded([block]))


def test_links_without_use(tmp_path: Path) -> None:
    """Entries in folders behind chains of links: each would take milliseconds."""
    entries = [folder("0")]
    for number in range(1, 40):
        entries.append(link(str(number), "./" * 1000 + str(number - 1)))
    entries += [entry(f"39/{number}") for number in range(20_000)]
    plain = layer(*entries)
    assert "links" in said(image_of(tmp_path / "image", plain, gzip.compress(plain)))


@pytest.mark.parametrize("compression", PACKED)
def test_pieces_are_small(compression: Compression) -> None:
    stored = packed(bytes(1 << 25), compression)
    assert len(stored) < 1 << 16
    assert max(map(len, decompressed([stored], compression))) <= PIECE_BYTES


@pytest.mark.parametrize(
    ("stored", "words"),
    [(b"BZh91AY" + bytes(99), "bzip2"), (b"\xfd7zXZ\0" + bytes(99), "xz"),
     (gzip.compress(PLAIN, mtime=0) + b"garbage", "no gzip"),
     (packed(PLAIN, Compression.ZSTD) + b"garbage", "no zstd"),
     (b"\x28\xb5\x2f\xfd" + b"\xff" * 50, "no zstd"), (b"\x1f\x8b" + bytes(50), "no gzip"),
     (b"text" * 999, "number"), (b"t", "digest")],
    # Not by their bytes: each worker of a run makes others.
    ids=["bzip2", "xz", "gzip_and_more", "zstd_and_more", "zstd_cut", "gzip_cut", "text", "letter"],
)  # fmt: skip
def test_what_is_no_layer(tmp_path: Path, stored: bytes, words: str) -> None:
    assert words in said(image_of(tmp_path / "image", PLAIN, stored))


def test_a_window_of_gigabytes(tmp_path: Path) -> None:
    frame = b"\x28\xb5\x2f\xfd" + bytes([0x00, (31 - 10) << 3]) + b"\x01\0\0"
    assert "no zstd" in said(image_of(tmp_path / "image", b"", frame))


def test_members_and_frames_behind_one_another(tmp_path: Path) -> None:
    """As eStargz, pigz and zstd:chunked write them, with parts that say nothing."""
    half = len(PLAIN) // 2
    skipped = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"abcde"
    for number, stored in enumerate([
        gzip.compress(PLAIN[:half]) + gzip.compress(b"") + gzip.compress(PLAIN[half:]),
        skipped + packed(PLAIN[:half], Compression.ZSTD) + skipped
        + packed(PLAIN[half:], Compression.ZSTD) + skipped,
    ]):  # fmt: skip
        path = image_of(tmp_path / str(number), PLAIN, stored)
        assert set(merged_view(open_image(path)).root.children) == {"a", "b"}


def test_zstd_of_the_program(tmp_path: Path) -> None:
    """And it reads ours."""
    try:
        run = subprocess.run(["zstd", "-c", "-19"], input=PLAIN, check=True, stdout=-1, timeout=60)
    except FileNotFoundError:
        pytest.skip("there is no zstd")
    assert b"".join(decompressed([run.stdout], Compression.ZSTD)) == PLAIN
    ours = packed(PLAIN, Compression.ZSTD)
    back = subprocess.run(["zstd", "-dc"], input=ours, check=True, stdout=-1, timeout=60).stdout
    assert back == PLAIN


@settings(max_examples=100, deadline=None)
@given(st.data(), st.sampled_from(PACKED))
def test_any_damage(data: st.DataObject, compression: Compression) -> None:
    """Whatever comes in whatever pieces is what it was, or an error."""
    stored = bytearray(packed(PLAIN, compression))
    cut = data.draw(st.integers(1, 500))
    chunks = [bytes(stored[start : start + cut]) for start in range(0, len(stored), cut)]
    assert b"".join(decompressed(chunks, compression)) == PLAIN
    stored[data.draw(st.integers(0, len(stored) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        found = compression_of(bytes(stored[:8]))
        b"".join(decompressed([bytes(stored)], found))
    except DamagedError:
        pass


def test_what_lies_behind_the_end_counts_for_the_digest(tmp_path: Path) -> None:
    plain = PLAIN + b"\0" * 5 + b"rest"
    path = image_of(tmp_path / "image", plain, gzip.compress(plain))
    assert set(merged_view(open_image(path)).root.children) == {"a", "b"}


def test_memory_of_a_large_layer(tmp_path: Path) -> None:
    """Files of 70 MiB are read, extracted and written in less than one of them has."""
    program = f"""
import resource, sys
sys.path[:0] = {sys.path!r}
from pathlib import Path
from trimtab.images.archives.opening import open_image
from trimtab.images.compression import Compression
from trimtab.images.extracting import extract
from trimtab.images.merging import merged_view
from trimtab.images.writing.image import write_image
top = Path({str(tmp_path)!r})
image = open_image(top / "image")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
view = merged_view(image)
extract(image, view, top / "out")
write_image(image, view, top / "slim.tar", name="a", compression=Compression.NONE)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    block = os.urandom(1 << 20)
    plain = layer(entry("large", block * 50), entry("b", block * 20))
    image_of(tmp_path / "image", plain, packed(plain, Compression.ZSTD))
    run = subprocess.run([sys.executable, "-c", program], check=True, stdout=-1, timeout=60)
    assert int(run.stdout) < 40_000  # KiB
