"""Members of tar archives: what GNU tar wrote, and what is damaged."""

import io
import os
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path

import handmade
import pytest
from handmade import entry, gnu_tar, hard_link, layer
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.images.errors import DamagedError
from trimtab.images.node import FileType, Folder, Inode
from trimtab.images.tar import pax
from trimtab.images.tar.header import parse_header, with_checksum
from trimtab.images.tar.reader import TarMember, read_members
from trimtab.images.tar.stream import ByteStream, FileStream
from trimtab.images.tar.writer import END_OF_ARCHIVE, member_header, padding

KINDS = {
    stat.S_IFREG: FileType.FILE,
    stat.S_IFDIR: FileType.FOLDER,
    stat.S_IFLNK: FileType.LINK,
    stat.S_IFIFO: FileType.PIPE,
    stat.S_IFCHR: FileType.CHARACTER_DEVICE,
}
LONG = "d" * 120 + "/" + "e" * 200
SPARSE_PARTS = ((65536, b"a" * 4096), (1 << 20, b"b" * 8192))
SPARSE_BYTES = 3 << 20


def members(data: bytes, chunk_bytes: int = 1000) -> list[TarMember]:
    chunks = (data[start : start + chunk_bytes] for start in range(0, len(data), chunk_bytes))
    return list(read_members(ByteStream(lambda: next(chunks, b""))))


def content(data: bytes, node: Inode) -> bytes:
    stored = data[node.offset : node.offset + node.stored_bytes]
    if node.segments is None:
        return stored
    made = bytearray(node.size_bytes)
    for offset, length in node.segments:
        made[offset : offset + length], stored = stored[:length], stored[length:]
    return bytes(made)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    top = tmp_path / "tree"
    (top / "usr/bin").mkdir(parents=True)
    (top / "usr/bin/program").write_bytes(os.urandom(100_001))
    (top / "usr/bin/program").chmod(0o4755)
    os.utime(top / "usr/bin/program", ns=(5, 1_234_567_890_123_456_789))
    os.link(top / "usr/bin/program", top / "usr/other name")
    (top / "link").symlink_to("usr/" + "x" * 150)
    (top / "empty").touch()
    (top / "grüße").write_text("é")
    with open(os.fsencode(top) + b"/no-utf8-\xff", "wb"):
        pass
    os.mkfifo(top / "pipe")
    return top


def long_names(top: Path) -> None:
    (top / LONG).parent.mkdir()
    (top / LONG).write_bytes(b"long")


@pytest.mark.parametrize("form", ["v7", "oldgnu", "gnu", "ustar", "posix"])
def test_what_gnu_tar_wrote(tree: Path, form: str) -> None:
    if form in ("oldgnu", "gnu", "posix"):
        long_names(tree)
    else:
        (tree / "link").unlink()
    if form == "v7":
        (tree / "pipe").unlink()
    data = gnu_tar("-C", tree, f"--format={form}", "--sort=name", "-c", ".")
    found = {member.name: member for member in members(data)}
    on_disk = {path.relative_to(tree).as_posix(): path for path in tree.rglob("*")}
    assert found.keys() == {"", *on_disk}
    for name, path in on_disk.items():
        _, node, target = found[name]
        if node is None:
            node, twin = found[target].node, tree / target
            assert twin.samefile(path) and node is not None
        status = path.lstat()
        assert node.kind is KINDS[stat.S_IFMT(status.st_mode)]
        assert node.kind is FileType.LINK or node.mode == stat.S_IMODE(status.st_mode)
        assert (node.uid, node.gid) == (status.st_uid, status.st_gid)
        exact = status.st_mtime_ns if form == "posix" else status.st_mtime_ns // 10**9 * 10**9
        assert node.mtime_ns == exact
        if node.kind is FileType.FILE:
            assert content(data, node) == path.read_bytes()
        if node.kind is FileType.LINK:
            assert node.target == os.readlink(path)


@pytest.mark.parametrize("form", ["gnu", "0.0", "0.1", "1.0"])
@pytest.mark.parametrize("parts", [SPARSE_PARTS, (), tuple((at << 14, b"x") for at in range(150))])
def test_sparse_files(tmp_path: Path, form: str, parts: tuple[tuple[int, bytes], ...]) -> None:
    name = "n" * 150
    with (tmp_path / name).open("wb") as file:
        for offset, data in parts:
            file.seek(offset)
            file.write(data)
        file.truncate(SPARSE_BYTES)
    words = ["--format=gnu"] if form == "gnu" else ["--format=posix", f"--sparse-version={form}"]
    data = gnu_tar("-C", tmp_path, *words, "--hole-detection=raw", "-S", "-c", name, name)
    first, second = members(data)
    assert first.node and first.name == name
    assert first.node.stored_bytes < 1 << 20  # it is sparse
    assert content(data, first.node) == (tmp_path / name).read_bytes()
    assert second.hard_link == name or second.name == name  # what follows is found


def test_attributes_are_bytes(tmp_path: Path) -> None:
    capability = b"\x01\0\0\x02\0\x04\0\0\0\0\0\0\n=\xff\0\0\0\0\0"
    text = capability.decode("utf-8", "surrogateescape")
    data = layer(entry("f", pax_headers={"SCHILY.xattr.security.capability": text}))
    node = members(data)[0].node
    assert node and node.xattrs == (("security.capability", capability),)


def test_numbers_beyond_octal_digits() -> None:
    data = layer(entry("f", uid=3_000_000_000, mtime=-5, devmajor=0), form=tarfile.GNU_FORMAT)
    node = members(data)[0].node
    assert node and (node.uid, node.mtime_ns) == (3_000_000_000, -5_000_000_000)


def test_long_gnu_name_before_pax_path() -> None:
    long_name = layer(entry("g" * 200), form=tarfile.GNU_FORMAT)[:1024]
    both = long_name + layer(entry("é" * 90))
    assert members(both)[0].name == "g" * 200


def test_names_are_relative() -> None:
    data = layer(entry("./a//b/."), entry("/c"), hard_link("d", "/./c"), entry("./"))
    assert [(name, target) for name, _, target in members(data)] == [
        ("a/b", ""), ("c", ""), ("d", "c"), ("", "")]  # fmt: skip


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (entry("../x"), "leads out"),
        (entry("a/../../x"), "leads out"),
        (hard_link("a", "../../etc/passwd"), "leads out"),
        (entry("x" * 300), "too long"),
        (entry("/".join(["x"] * 3000)), "longer than"),
        (entry("x", pax_headers={"path": "a\0b"}), "NUL"),
        (entry("x", kind=b"2"), "is no path"),
        (entry("x", kind=b"M"), "engines refuse"),
        (entry("x", uid=-1), "cannot be"),
        (entry("x", pax_headers={"uid": "99999999999"}), "cannot be"),
        (entry("x", pax_headers={"uid": "1_0"}), "no number"),
        (entry("x", pax_headers={"mtime": "1e9"}), "seconds"),
        (entry("x", pax_headers={"mtime": "9" * 18}), "cannot be"),
        (entry("x", pax_headers={"size": str(1 << 64)}), "cannot be"),
        (entry("x", pax_headers={"SCHILY.xattr.a\0b": "1"}), "attribute"),
        (entry("x", pax_headers={"k": "v" * (1 << 20)}), "more than"),
        (entry("x", pax_headers={"GNU.sparse.size": "5", "GNU.sparse.map": "0,3,2,3"}), "overlap"),
        (entry("x", pax_headers={"GNU.sparse.size": "5", "GNU.sparse.map": "0,9"}), "overlap"),
        (entry("x", pax_headers={"GNU.sparse.size": "5", "GNU.sparse.map": "0,3"}), "stored"),
        (entry("x", pax_headers={"GNU.sparse.size": "5", "GNU.sparse.map": "0"}), "offset"),
        (entry("x", pax_headers={"GNU.sparse.major": "1", "GNU.sparse.realsize": "9"}), "cut off"),
    ],
)  # fmt: skip
def test_what_no_engine_takes(made: handmade.Entry, words: str) -> None:
    with pytest.raises(DamagedError, match=words):
        members(layer(made, form=tarfile.GNU_FORMAT if made[0].uid < 0 else tarfile.PAX_FORMAT))


def test_an_endless_sparse_map() -> None:
    numbers = b"99999999\n" + b"1\n" * (1 << 20)
    made = entry("x", numbers, pax_headers={"GNU.sparse.major": "1", "GNU.sparse.realsize": "9"})
    with pytest.raises(DamagedError, match="map has more"):
        members(layer(made))


def whole() -> bytes:
    with_target = entry("l" * 180, kind=tarfile.SYMTYPE, linkname="t" * 120)
    return layer(entry("a", b"x" * 700), with_target, entry("é", b"y"), form=tarfile.PAX_FORMAT)


def test_wherever_it_is_cut_off() -> None:
    """Python's tarfile takes an archive that ends within a later header for a shorter one."""
    data = whole()
    every = members(data)
    at_ends = 0
    for length in range(len(data)):
        try:
            found = members(data[:length])
        except DamagedError as error:
            assert "cut off" in str(error)
        else:
            assert len(found) == len(every) or length % 512 == 0
            at_ends += length % 512 == 0
    assert at_ends < 20


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 8 * (len(whole()) - 1024) - 1))
def test_wherever_a_bit_is_wrong(bit: int) -> None:
    data = bytearray(whole())
    data[bit // 8] ^= 1 << bit % 8
    try:
        members(bytes(data))
    except DamagedError:
        return
    with tarfile.open(fileobj=io.BytesIO(whole())) as archive:
        headers = [info.offset for info in archive]
    block, byte = divmod(bit // 8, 512)
    assert block * 512 not in headers or 148 <= byte < 156  # a sum guards each header


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=3000))
def test_any_bytes(data: bytes) -> None:
    block = with_checksum(data.ljust(512, b"\0")[:512])
    try:
        parse_header(block)
        members(block + data)
    except DamagedError:
        pass


def test_a_file_is_not_read_where_it_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "large.tar"
    header = layer(entry("large"))[:512]
    number = (0x80 << 88 | 1 << 40).to_bytes(12, "big")
    with path.open("wb") as file:
        file.write(with_checksum(header[:124] + number + header[136:]))
        file.seek(1 << 40, os.SEEK_CUR)
        file.write(layer(entry("behind", b"data")))
    with path.open("rb") as file:
        first, second = read_members(FileStream(file, 0, path.stat().st_size))
        assert first.node and first.node.size_bytes == 1 << 40
        assert second.node and second.name == "behind"
        file.seek(second.node.offset)
        assert file.read(4) == b"data"


NAMES = st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1, max_size=60)
PATHS = (
    st.lists(NAMES.filter(lambda name: name not in (".", "..")), min_size=1, max_size=5)
    .map("/".join)
)  # fmt: skip


@st.composite
def nodes(draw: st.DrawFn) -> Inode:
    kind = draw(st.sampled_from(sorted(set(FileType) - {FileType.OTHER})))
    node = Folder(kind, 0) if kind is FileType.FOLDER else Inode(kind, 0)
    node.mode = draw(st.integers(0, 0o7777))
    node.uid, node.gid = draw(st.integers(0, (1 << 32) - 2)), draw(st.integers(0, 9_000_000))
    node.mtime_ns = draw(st.integers(-(10**18), 10**20))
    if kind is FileType.FILE:
        node.size_bytes = draw(st.sampled_from([0, 1, 511, 512, 513, 8**11]))
    elif kind is FileType.LINK:
        node.target = draw(PATHS)
    elif kind in (FileType.BLOCK_DEVICE, FileType.CHARACTER_DEVICE):
        node.device = draw(st.integers(0, 4095)), draw(st.integers(0, (1 << 20) - 1))
    keys = st.text("abc.é", min_size=1, max_size=20).map("user.".__add__)
    node.xattrs = tuple(sorted(draw(st.dictionaries(keys, st.binary(max_size=50),
                                                    max_size=3)).items()))  # fmt: skip
    return node


def same(one: Inode, other: Inode) -> bool:
    keys = ("kind", "mode", "uid", "gid", "mtime_ns", "size_bytes", "target", "device", "xattrs")
    return all(getattr(one, key) == getattr(other, key) for key in keys)


def first_of(data: bytes) -> Iterator[TarMember]:
    return read_members(ByteStream(iter([data, b""]).__next__))


@settings(max_examples=300, deadline=None)
@given(PATHS, nodes())
def test_what_was_written_is_read(name: str, node: Inode) -> None:
    header = member_header(name, node)
    assert len(header) % 512 == 0 and header == member_header(name, node)
    member = next(first_of(header))
    assert member.name == name and member.node and same(member.node, node)
    with tarfile.open(fileobj=io.BytesIO(header + bytes(1 << 14))) as archive:
        info = archive.next()
        assert info and info.name == name and info.linkname == node.target
        assert (info.mode, info.uid, info.gid) == (node.mode, node.uid, node.gid)
        assert info.size == node.size_bytes and int(info.mtime * 10**9 - node.mtime_ns) < 10**6


def test_gnu_tar_reads_what_was_written(tmp_path: Path) -> None:
    sparse = Inode(
        FileType.FILE, 0o600, size_bytes=SPARSE_BYTES, mtime_ns=1_500_000_000_250_000_000
    )
    sparse.segments = tuple((offset, len(data)) for offset, data in SPARSE_PARTS)
    stored = b"".join(data for _, data in SPARSE_PARTS)
    data = member_header(LONG, sparse) + stored + padding(len(stored))
    data += member_header("twin", sparse, LONG) + END_OF_ARCHIVE
    gnu_tar("-C", tmp_path, "-x", data=data)
    made = (tmp_path / LONG).read_bytes()
    assert len(made) == SPARSE_BYTES
    assert all(made[offset : offset + len(part)] == part for offset, part in SPARSE_PARTS)
    assert made.count(0) == SPARSE_BYTES - len(stored)
    assert (tmp_path / "twin").samefile(tmp_path / LONG)
    assert (tmp_path / LONG).stat().st_mtime_ns == sparse.mtime_ns
    found = next(first_of(data)).node
    assert found and content(data, found) == made


@given(st.text(min_size=1, max_size=20).filter(lambda key: "=" not in key), st.binary(max_size=120))
def test_records(key: str, value: bytes) -> None:
    try:
        key.encode()
    except UnicodeEncodeError:
        return
    assert pax.parse_records(pax.format_record(key, value)) == [(key, value)]


@given(st.integers(-(10**26), 10**26))
def test_times(time_ns: int) -> None:
    assert pax.parse_time_ns(pax.format_time_ns(time_ns)) == time_ns
