"""What an environment weighs compressed: against one stream that is made here."""

import os
from pathlib import Path

from trimtab.debloating.copies.compressed_size import LEVEL, compressed_bytes
from trimtab.debloating.copies.layout import EnvironmentLayout
from trimtab.zstd import zstd


def test_each_file_once_and_by_its_path(tmp_path: Path) -> None:
    top = tmp_path / "env"
    (top / "lib/deep").mkdir(parents=True)
    noise = os.urandom(3_000_000)
    (top / "lib/b.so").write_bytes(noise)
    (top / "a").write_bytes(b"text " * 400_000)
    os.link(top / "lib/b.so", top / "lib/deep/b.so.1")
    (top / "lib/c.so").symlink_to("b.so")
    names = ["", "a", "lib", "lib/b.so", "lib/c.so", "lib/deep", "lib/deep/b.so.1"]
    contents = {"a": b"text " * 400_000, "lib/b.so": noise}
    stream = b"".join(name.encode() + b"\0" + contents.get(name, b"") for name in names)
    one_worker = {
        zstd.CompressionParameter.compression_level: LEVEL,
        zstd.CompressionParameter.nb_workers: 1,
    }
    compressor = zstd.ZstdCompressor(options=one_worker)
    expected = len(compressor.compress(stream)) + len(compressor.flush())
    found = compressed_bytes(EnvironmentLayout.of_root(top))
    assert abs(found - expected) < 200  # how it is handed over may move a block's end
    assert found == compressed_bytes(EnvironmentLayout.of(top), threads=2)
    assert 3_000_000 < found < 3_010_000
