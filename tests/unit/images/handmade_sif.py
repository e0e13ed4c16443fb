"""SIFs made by hand from the format's description, by none of the code under test."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

DEFINITION, LABELS, PARTITION, SIGNATURE, GENERIC, SBOM = (
    0x4001, 0x4003, 0x4004, 0x4005, 0x4007, 0x4009,
)  # fmt: skip
SQUASHFS, EXT3, ENCRYPTED = 1, 2, 5
PRIMARY, DATA, OVERLAY = 2, 3, 4
ID = bytes(range(16))
CREATED_S, MODIFIED_S = 1_700_000_000, 1_700_000_001
Object = tuple[int, bytes, bytes]  # type, own fields, content

needs_squashfs = pytest.mark.skipif(
    any(shutil.which(name) is None for name in ("sqfs2tar", "tar2sqfs", "rdsquashfs")),
    reason="squashfs-tools-ng is missing: make deps-sif",
)


def partition(content: bytes, part: int = PRIMARY, file_system: int = SQUASHFS) -> Object:
    return PARTITION, struct.pack("<ii3s", file_system, part, b"02\0"), content


def sif(*objects: Object, total: int = 5, architecture: bytes = b"02\0") -> bytes:
    table = b""
    data = b""
    start = 128 + total * 585
    for number, (kind, extra, content) in enumerate(objects, 1):
        padding = -(start + len(data)) % 64
        data += bytes(padding)
        table += struct.pack(
            "<i?IIIqqqqqqq128s384s", kind, True, number, 0xF0000001, 0, start + len(data),
            len(content), padding + len(content), CREATED_S, MODIFIED_S, 1000, 1000,
            f"object {number}".encode(), extra,
        )  # fmt: skip
        data += content
    header = struct.pack(
        "<32s10s3s3s16sqqqqqqqq", b"#!/usr/bin/env run-singularity\n", b"SIF_MAGIC\0", b"01\0",
        architecture, ID, CREATED_S, MODIFIED_S, total - len(objects), total, 128, total * 585,
        start, len(data),
    )  # fmt: skip
    return header + table.ljust(total * 585, b"\0") + data


def squashfs(tar: bytes, folder: Path) -> bytes:
    """Return the squashfs of a tar archive; `folder` is for what is between."""
    made = folder / "made.squashfs"
    subprocess.run(["tar2sqfs", "--quiet", "--force", made], input=tar, check=True)
    return made.read_bytes()
