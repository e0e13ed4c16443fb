"""The length of zstd frames, and what they hold, against the library that made them."""

import pytest

from trimtab.binaries.gpu.compression import (
    CompressionError,
    Expansion,
    WorkLimit,
    decompress_zstd,
    walk_zstd,
    zstd_beginning,
)
from trimtab.zstd import zstd

PARAMETER = zstd.CompressionParameter
LENGTHS = [0, 1, 255, 256, 65_791, 65_792, 300_000]  # where the header's fields change size


@pytest.mark.parametrize("sized", [0, 1])
@pytest.mark.parametrize("checksum", [0, 1])
@pytest.mark.parametrize("length", LENGTHS)
def test_a_frame_ends_where_zstd_says(length: int, checksum: int, sized: int) -> None:
    content = bytes(number * number % 251 for number in range(length))
    options = {PARAMETER.checksum_flag: checksum, PARAMETER.content_size_flag: sized}
    frame = zstd.compress(content, options=options)
    walked = walk_zstd(memoryview(b"xx" + frame + b"behind"), 2, WorkLimit(1 << 30))
    assert walked.end == 2 + zstd.get_frame_size(frame)
    assert walked.content_bytes == zstd.get_frame_info(frame).decompressed_size
    assert walked.most_bytes >= length
    assert content.startswith(zstd_beginning(memoryview(b"xx" + frame), 2, walked))
    assert decompress_zstd(frame, length, Expansion(1 << 30)) == content
    for wrong in {length - 1, length + 1} - {-1}:
        with pytest.raises(CompressionError):
            decompress_zstd(frame, wrong, Expansion(1 << 30))


def test_what_is_no_frame_of_its_own() -> None:
    skippable = b"\x50\x2a\x4d\x18" + bytes(4)
    with pytest.raises(CompressionError, match="no zstd frame"):
        walk_zstd(memoryview(skippable * 4), 0, WorkLimit(1 << 30))
    dictionary = zstd.train_dict([bytes([number % 7]) * 500 for number in range(400)], 2000)
    needing = zstd.compress(b"\1" * 500, zstd_dict=dictionary)
    with pytest.raises(CompressionError, match="dictionary"):
        walk_zstd(memoryview(needing), 0, WorkLimit(1 << 30))


def test_a_checksum_that_is_wrong() -> None:
    content = bytes(range(256)) * 40
    frame = zstd.compress(content, options={PARAMETER.checksum_flag: 1})
    damaged = frame[:-1] + bytes([frame[-1] ^ 1])
    with pytest.raises(CompressionError, match="does not decompress"):
        decompress_zstd(damaged, len(content), Expansion(1 << 30))
