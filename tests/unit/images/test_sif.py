"""SIFs: what others wrote is read, what is damaged is said, what is written is read again."""

import hashlib
import lzma
import struct
from pathlib import Path

import pytest
from handmade import entry, folder, hard_link, layer, link, oci_image
from handmade_sif import (
    CREATED_S,
    DATA,
    DEFINITION,
    ENCRYPTED,
    EXT3,
    GENERIC,
    ID,
    LABELS,
    OVERLAY,
    SBOM,
    SIGNATURE,
    Object,
    needs_squashfs,
    partition,
    sif,
    squashfs,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from view_facts import facts

from trimtab.errors import UserError
from trimtab.images.archives.opening import open_image
from trimtab.images.compression import Compression
from trimtab.images.contents import contents_of
from trimtab.images.errors import ImageError
from trimtab.images.merging import merged_view
from trimtab.images.sif import squashfs as programs
from trimtab.images.sif.container import Sif, is_sif
from trimtab.images.sif.conversion import write_archive_of
from trimtab.images.sif.start_up import paths_of_apptainer
from trimtab.images.sif.writing import write_sif

# test/images/one-group-signed-pgp.sif of github.com/apptainer/sif (its commit e306d8b), which is
# (c) Sylabs Inc. and contributors to the Apptainer project, under the BSD-3-Clause licence.
OTHERS = Path(__file__).parent / "data/one_group_signed_pgp.sif.xz"
TIME_NS = 1_600_000_000 * 10**9
CAPABILITY = b"\1\0\0\2\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
TREE = layer(
    folder("."), folder("bin"), folder(".singularity.d"), folder(".singularity.d/env"),
    folder("tmp"),
    entry("bin/sh", b"shell", mode=0o4755, uid=7, gid=8),
    hard_link("bin/dash", "bin/sh"),
    link("bin/ash", "sh"),
    entry("bin/ping", b"p" * 300_000, pax_headers={
        "SCHILY.xattr.security.capability": CAPABILITY.decode("latin-1")}),
    entry(".singularity.d/runscript", b"#!/bin/sh\n", mode=0o755),
    entry(".singularity.d/labels.json", b'{"author": "me", "year": 2024}'),
    link("singularity", ".singularity.d/runscript"), link("elsewhere", "/bin/sh"),
    folder("etc"), entry("etc/hosts"), entry("data", bytes(2_000_000)),
)  # fmt: skip


def others(tmp_path: Path) -> Path:
    path = tmp_path / "others.sif"
    path.write_bytes(lzma.decompress(OTHERS.read_bytes()))
    return path


def test_what_the_formats_own_library_wrote(tmp_path: Path) -> None:
    """The positions are those that its `siftool list` prints of the same file."""
    path = others(tmp_path)
    found = Sif.open(path)
    assert is_sif(path) and found.is_signed
    assert found.header.architecture == "386" and found.header.descriptors == 48
    assert [(each.number, each.group & 0xFFFFFFF, each.offset, each.offset + each.size_bytes)
            for each, _ in found.objects] == [
        (1, 1, 32768, 32772), (2, 1, 36864, 40960), (3, 0, 40960, 42008),
    ]  # fmt: skip
    assert found.objects[2][0].linked & 0xFFFFFFF == 1
    root, region = found.root()
    assert root.number == 2 and region.read(4096).startswith(b"hsqs")


@needs_squashfs
def test_its_files(tmp_path: Path) -> None:
    write_archive_of(Sif.open(others(tmp_path)), tmp_path / "image.tar")
    image = open_image(tmp_path / "image.tar")
    view = merged_view(image)
    assert [path for path, _ in view.walk()] == ["/", "/hello.txt"]
    assert (view.root.uid, view.root.mode) == (1000, 0o775)
    [content] = [b"".join(it) for _, it in contents_of(image, [view.root.children["hello.txt"]])]
    assert len(content) == 19
    assert str(image.config.platform()) == "linux/386"


def written(tmp_path: Path, *objects: Object, **facts: bytes) -> Path:
    path = tmp_path / "made.sif"
    path.write_bytes(sif(*objects, **facts))
    return path


@pytest.mark.parametrize(
    ("objects", "match"),
    [
        ([], "has 0 primary system partitions"),
        ([partition(b"", DATA)], "has 0 primary"),
        ([partition(b""), partition(b"")], "has 2 primary"),
        ([partition(b""), partition(b"", OVERLAY, EXT3)], "has a writable overlay, .* `apptainer"),
        (
            [partition(b"", file_system=ENCRYPTED)],
            "has an encrypted file system; expected squashfs",
        ),
        ([partition(b"", file_system=EXT3)], "ext3 file system, as Singularity 2"),
        ([partition(b"", file_system=99)], "of the kind 99"),
        ([(0x400A, b"", b"{}")], "OCI-SIF"),
    ],
)
def test_what_is_refused(tmp_path: Path, objects: list[Object], match: str) -> None:
    path = written(tmp_path, *objects)
    with pytest.raises(ImageError, match=match) as error:
        Sif.open(path).root()
    assert str(error.value).startswith(f"{path}: ")


def test_descriptors_beyond_all_measure(tmp_path: Path) -> None:
    whole = bytearray(sif(partition(b"x" * 100)))
    for offset, value, match in [
        (88, 1 << 62, "descriptors; expected 1 to"),
        (88, -1, "descriptors; expected 1 to"),
        (96, len(whole), "end beyond"),
        (96, -5, "end beyond"),
        (128 + 17, 1 << 62, "its object 1 has 100 bytes"),
        (128 + 17, -1, "its object 1"),
        (128 + 25, 101, "its object 1 has 101 bytes"),
        (128 + 25, -1, "its object 1 has -1 bytes"),
        (42, 0x3230, "version"),
    ]:  # fmt: skip
        path = tmp_path / "changed.sif"
        changed = bytearray(whole)
        struct.pack_into("<q" if offset != 42 else "<H", changed, offset, value)
        path.write_bytes(changed)
        with pytest.raises(ImageError, match=match):
            Sif.open(path)


@settings(max_examples=200)
@given(data=st.data())
def test_hostile_bytes(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    whole = bytearray(sif((LABELS, b"", b"{}"), partition(b"x" * 100), total=3))
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(whole) - 8))
        whole[at : at + 8] = data.draw(st.binary(min_size=8, max_size=8))
    path = tmp_path_factory.getbasetemp() / "hostile.sif"
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    try:
        found = Sif.open(path)
        _, region = found.root()
    except ImageError:
        return
    assert b"".join(region.chunks()) == bytes(whole[region.offset :][: region.size_bytes])


def test_without_the_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    path = written(tmp_path, partition(b"hsqs"))
    with pytest.raises(UserError, match="make deps-sif"):
        write_archive_of(Sif.open(path), tmp_path / "image.tar")
    assert list(tmp_path.iterdir()) == [path]


@needs_squashfs
@pytest.mark.parametrize("damage", ["no squashfs", "cut off", "zeros"])
def test_a_damaged_file_system(tmp_path: Path, damage: str) -> None:
    content = squashfs(TREE, tmp_path)
    contents = {"no squashfs": b"hsqs" * 300, "cut off": content[:-5000],
                "zeros": content[:96] + bytes(len(content) - 96)}  # fmt: skip
    path = written(tmp_path, partition(contents[damage]))
    with pytest.raises(ImageError, match="SIF: squashfs: sqfs2tar failed: ") as error:
        write_archive_of(Sif.open(path), tmp_path / "image.tar")
    assert "\n" not in str(error.value) and str(tmp_path / ".trimtab") not in str(error.value)
    assert {each.name for each in tmp_path.iterdir()} == {"made.sif", "made.squashfs"}


@needs_squashfs
def test_a_file_system_that_grows_beyond_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, partition(squashfs(TREE, tmp_path)))
    monkeypatch.setattr("trimtab.images.limits.ALWAYS_BYTES", 1000)
    monkeypatch.setattr("trimtab.images.limits.MOST_GROWTH", 1)
    with pytest.raises(ImageError, match="grows to more than"):
        write_archive_of(Sif.open(path), tmp_path / "image.tar")
    assert not (tmp_path / "image.tar").exists()


@needs_squashfs
def test_what_a_container_sees(tmp_path: Path) -> None:
    path = written(tmp_path, partition(squashfs(TREE, tmp_path)))
    write_archive_of(Sif.open(path), tmp_path / "image.tar")
    image = open_image(tmp_path / "image.tar")
    view = merged_view(image)
    assert facts(open_image(tmp_path / "image.tar")) == facts(
        open_image(oci_image(tmp_path / "tree.tar", TREE))
    )
    run = image.config.run()
    assert (
        run.entrypoint[:2] == ("/bin/sh", "-c") and "/.singularity.d/runscript" in run.entrypoint[2]
    )
    assert run.labels == {"author": "me"} and str(image.config.platform()) == "linux/amd64"
    assert image.config.document.text("created") == "2023-11-14T22:13:20Z"
    assert paths_of_apptainer(view) == {
        "/.singularity.d", "/.singularity.d/env", "/.singularity.d/runscript",
        "/.singularity.d/labels.json", "/singularity", "/tmp", "/etc/hosts",
    }  # fmt: skip


@needs_squashfs
@pytest.mark.parametrize("compression", [Compression.GZIP, Compression.ZSTD])
def test_a_new_sif(tmp_path: Path, compression: Compression) -> None:
    original = Sif.open(written(
        tmp_path, (DEFINITION, b"", b"Bootstrap: docker"), partition(squashfs(TREE, tmp_path)),
        (SIGNATURE, b"", b"signed"), (SBOM, b"", b"all packages"), (GENERIC, b"e" * 384, b"mine"),
    ))  # fmt: skip
    fewer = layer(folder("."), folder("bin"), entry("bin/sh", b"shell", mode=0o755))
    image = open_image(oci_image(tmp_path / "slim.tar", fewer))
    merged_view(image)
    digests = set()
    for name in ("one.sif", "two.sif"):
        write_sif(original, image, tmp_path / name, compression)
        digests.add(hashlib.sha256((tmp_path / name).read_bytes()).hexdigest())
    assert len(digests) == 1
    new = Sif.open(tmp_path / "one.sif")
    assert not new.is_signed and new.header.launch_script.startswith(b"#!/usr/bin/env run-")
    assert (new.header.created_s, new.header.architecture) == (CREATED_S, "amd64")
    assert new.header.identity != ID and new.header.identity[6] >> 4 == 5  # a UUID of content
    stayed = [(each.number, region.read(1 << 20)) for each, region in new.objects]
    assert [stayed[0], stayed[2]] == [(1, b"Bootstrap: docker"), (5, b"mine")]
    assert new.objects[2][0].extra == b"e" * 384 and new.objects[1][0].number == 2
    for number, (each, _) in enumerate(new.objects):
        assert each.offset % 4096 == 0
        end = new.objects[number - 1][0] if number else None
        before = end.offset + end.size_bytes if end else 4096 + 48 * 585
        assert each.offset + each.size_bytes == before + each.padded_bytes
    write_archive_of(new, tmp_path / "again.tar")
    assert facts(open_image(tmp_path / "again.tar")) == facts(open_image(tmp_path / "slim.tar"))


@needs_squashfs
def test_a_new_sif_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Sif.open(written(tmp_path, partition(squashfs(TREE, tmp_path))))
    image = open_image(oci_image(tmp_path / "slim.tar", TREE))
    monkeypatch.setattr(programs, "WRITES", "false")
    with pytest.raises(ImageError, match=r"new\.sif: SIF: squashfs: false failed: exit code 1"):
        write_sif(original, image, tmp_path / "new.sif")
    assert {each.name for each in tmp_path.iterdir()} == {"made.sif", "made.squashfs", "slim.tar"}
