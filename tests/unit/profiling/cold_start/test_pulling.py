"""What is pulled is what the registry has, no faster than the line; all else is an error."""

import http.client
import os
import time
from pathlib import Path

import pytest
from handmade import entry, layer, oci_image

from trimtab.errors import TrimtabError, UserError
from trimtab.images.archives.opening import open_image
from trimtab.images.compression import Compression
from trimtab.images.errors import DamagedError
from trimtab.images.merging import merged_view
from trimtab.images.writing.repacking import repack
from trimtab.profiling.cold_start.pulling import pull, registry, transfer_s

SIZE_BYTES = 1 << 20


@pytest.fixture
def layout(tmp_path: Path) -> Path:
    """An image of two layers that no compression makes smaller."""
    data = os.urandom(SIZE_BYTES)
    path = oci_image(tmp_path / "image.tar", layer(entry("a", data)), layer(entry("b", b"b")))
    image = open_image(path)
    merged_view(image)
    repack(image, tmp_path / "layout", Compression.GZIP)
    return tmp_path / "layout"


def test_all_of_it_comes(layout: Path, tmp_path: Path) -> None:
    with registry(layout, 10.0) as (host, port):
        pull(host, port, tmp_path / "pulled")
    original, pulled = open_image(layout), open_image(tmp_path / "pulled")
    assert pulled.config == original.config
    for before, after in zip(original.layers, pulled.layers, strict=True):
        assert b"".join(before.region.chunks()) == b"".join(after.region.chunks())
        assert before.digest == after.digest
    assert [path for path, _ in merged_view(pulled).walk()] == ["/", "/a", "/b"]


def test_it_takes_no_less_than_the_line(layout: Path, tmp_path: Path) -> None:
    """But for what a buffer of the kernel takes at once."""
    gbit_per_s = 0.05
    with registry(layout, gbit_per_s) as (host, port):
        began_s = time.perf_counter()
        pull(host, port, tmp_path / "pulled")
        pulled_s = time.perf_counter() - began_s
    modelled_s = transfer_s(SIZE_BYTES, gbit_per_s)
    assert modelled_s == pytest.approx(8 * SIZE_BYTES / 0.05e9)
    assert pulled_s > 0.5 * modelled_s


@pytest.mark.parametrize("gbit_per_s", [0.0, -1.0, 1e-12, 1e6, float("nan"), float("inf")])
def test_no_bandwidth(layout: Path, gbit_per_s: float) -> None:
    with (
        pytest.raises(UserError, match="expected a bandwidth above 0"),
        registry(layout, gbit_per_s),
    ):
        pass


def test_a_blob_that_is_damaged_or_away(layout: Path, tmp_path: Path) -> None:
    blob = open_image(layout).layers[1].region.path
    blob.write_bytes(b"other")
    with registry(layout, 10.0) as (host, port):
        with pytest.raises(DamagedError, match="has the digest"):
            pull(host, port, tmp_path / "pulled")
        blob.unlink()
        with pytest.raises(TrimtabError, match="404"):
            pull(host, port, tmp_path / "again")


def test_nothing_else_is_served(layout: Path) -> None:
    with registry(layout, 10.0) as (host, port):
        for path in ("/", "/v2/image/blobs/sha256:..", "/v2/image/blobs/../../index.json"):
            connection = http.client.HTTPConnection(host, port, timeout=10)
            connection.request("GET", path)
            assert connection.getresponse().status == 404
            connection.close()
