"""A repacked image is the same image: its config, and its layers once they are unpacked."""

from pathlib import Path

import pytest
from handmade import entry, layer, oci_image, sha256

from trimtab.images.archives.opening import open_image
from trimtab.images.compression import Compression
from trimtab.images.errors import ImageError
from trimtab.images.layers import compression_at, open_layer
from trimtab.images.merging import merged_view
from trimtab.images.writing.repacking import repack

LAYERS = [layer(entry("a", b"a" * 100_000)), layer(entry("b", b"b"))]


def image_at(tmp_path: Path) -> Path:
    first, second = LAYERS
    more = {"config": {"Cmd": ["/a"], "Labels": {"é": "ü"}}, "unknown": [1, {"x": None}]}
    return oci_image(tmp_path / "image.tar", first, second, first, **more)


@pytest.mark.parametrize("compression", [Compression.GZIP, Compression.ZSTD, Compression.NONE])
def test_the_same_in_another_compression(compression: Compression, tmp_path: Path) -> None:
    original = open_image(image_at(tmp_path))
    merged_view(original)
    repack(original, tmp_path / "layout", compression)
    repacked = open_image(tmp_path / "layout")
    assert repacked.config == original.config
    assert [path for path, _ in merged_view(repacked).walk()] == ["/", "/a", "/b"]
    for number, (before, after) in enumerate(zip(original.layers, repacked.layers, strict=True)):
        assert compression_at(after) is compression
        assert sha256(b"".join(after.region.chunks())) == after.digest
        with open_layer(repacked, number) as stream:
            assert sha256(stream.take(1 << 20)) == after.diff_id
        if compression is Compression.GZIP:  # as it was
            assert after.digest == before.digest


def test_an_image_that_was_changed_since(tmp_path: Path) -> None:
    path = image_at(tmp_path)
    original = open_image(path)
    path.write_bytes(path.read_bytes() + bytes(512))
    with pytest.raises(ImageError, match="was written to"):
        repack(original, tmp_path / "layout", Compression.ZSTD)
    assert not (tmp_path / "layout").exists()
