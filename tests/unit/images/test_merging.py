"""Layers on top of one another, and what a path leads to in what they make."""

import ctypes
import errno
import os
import random
import shutil
import stat
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from handmade import entry, folder, hard_link, layer, link, oci_image

from trimtab.images.archives.opening import open_image
from trimtab.images.errors import ImageError
from trimtab.images.extracting import extract
from trimtab.images.merging import merged_view
from trimtab.images.node import FileType, Folder
from trimtab.images.view import View

RESOLVE_IN_ROOT, OPENAT2, O_PATH = 0x10, 437, 0x200000


def view_of(tmp_path: Path, *layers: bytes) -> View:
    return merged_view(open_image(oci_image(tmp_path / "image", *layers)))


def paths(view: View) -> dict[str, str]:
    """What is there, with the first letter of its kind and the sizes of files."""
    return {
        path: f"{node.kind[:2]}{node.size_bytes or ''}" for path, node in view.walk() if path != "/"
    }


BASE = layer(
    folder("a", mode=0o700, uid=5),
    entry("a/one", b"1"),
    entry("a/two", b"22"),
    folder("a/b"),
    entry("a/b/three", b"333"),
    link("l", "a"),
    entry("f", b"4444"),
)
ALL = {"/a": "fo", "/a/b": "fo", "/a/b/three": "fi3", "/a/one": "fi1", "/a/two": "fi2",
       "/f": "fi4", "/l": "sy"}  # fmt: skip


def but(*gone: str, **more: str) -> dict[str, str]:
    kept = {
        path: kind
        for path, kind in ALL.items()
        if not any(path == name or path.startswith(f"{name}/") for name in gone)
    }
    return {**kept, **{f"/{name}".replace("__", "/"): kind for name, kind in more.items()}}


@pytest.mark.parametrize(
    ("upper", "expected"),
    [
        ([], ALL),
        ([entry("a/.wh.one")], but("/a/one")),
        ([entry("./a/.wh.one"), entry("a/.wh.absent"), entry("x/.wh.y")],
         but("/a/one", x="fo")),
        ([entry(".wh.a")], but("/a")),
        ([entry("a/.wh..wh..opq")], but("/a/one", "/a/two", "/a/b")),
        # A whiteout hides what lies below its layer, wherever it stands.
        ([entry("a/new", b"1"), entry("a/.wh..wh..opq")], but("/a/one", "/a/two", "/a/b",
                                                              a__new="fi1")),
        ([entry("a/one", b"55555"), entry("a/.wh.one")], but(a__one="fi5")),
        ([entry("a/b/.wh.three"), entry("a/.wh..wh..opq")], but("/a/one", "/a/two", "/a/b",
                                                                a__b="fo")),
        ([entry(".wh.a"), entry("a/one", b"1")], but("/a/two", "/a/b")),
        ([entry("a/one", b"666666")], but(a__one="fi6")),
        ([entry("a/one", b"1"), entry("a/one", b"22")], but(a__one="fi2")),  # the last counts
        ([entry("a", b"1")], but("/a", a="fi1")),
        ([folder("f"), entry("f/in", b"1")], but(f="fo", f__in="fi1")),
        ([entry("f/in", b"1")], but(f="fo", f__in="fi1")),  # a folder hides what is none
        ([entry("l/in", b"1")], but(l="fo", l__in="fi1")),
        ([folder("l")], but(l="fo")),
        ([link("m", "./a"), entry("m/in", b"1")], but(m="sy", a__in="fi1")),
        ([link("m", "/../../a/b/.."), entry("m/b/in", b"1")], but(m="sy", a__b__in="fi1")),
        ([entry("/x//y/./z", b"1")], but(x="fo", x__y="fo", x__y__z="fi1")),
        ([hard_link("h", "a/one")], but(h="fi1")),  # across layers
        ([hard_link("h", "./l")], but(h="sy")),
        ([hard_link("a/one", "a/one")], ALL),
        ([entry("f", b"1"), hard_link("h", "f"), entry("f", b"22")], but(f="fi2", h="fi1")),
        ([entry(".wh..wh.plnk/1.2", b"1"), hard_link("h", ".wh..wh.plnk/1.2"),
          entry(".wh..wh.aufs")], but(h="fi1")),
    ],
)  # fmt: skip
def test_a_layer_on_top(tmp_path: Path, upper: list, expected: dict[str, str]) -> None:  # type: ignore[type-arg]
    assert paths(view_of(tmp_path, BASE, layer(*upper))) == expected


def random_layer(draw: random.Random) -> dict[str, str]:
    """What a layer does with each of a few names, none of which lies in what is no folder."""
    made: dict[str, str] = {}
    for name in sorted(
        "/".join(parts) for depth in (1, 2, 3) for parts in product("ab", repeat=depth)
    ):
        above = [made.get(name[:end]) for end in range(1, len(name), 2)]
        if draw.random() < 0.4 and not {"file", "gone"}.intersection(above):
            made[name] = draw.choice(["file", "folder", "opaque", "gone"])
    return made


def in_a_layer(layer_of: dict[str, str], draw: random.Random) -> bytes:
    """Its entries in any order."""
    entries = []
    for name, what in layer_of.items():
        above, _, base = name.rpartition("/")
        if what == "file":
            entries.append(entry(name, str(layer_of).encode()))
        elif what == "gone":
            entries.append(entry(f"{above}/.wh.{base}".lstrip("/")))
        else:
            entries.append(folder(name))
            if what == "opaque":
                entries.append(entry(f"{name}/.wh..wh..opq"))
    draw.shuffle(entries)
    return layer(*entries)


def in_an_overlay(layer_of: dict[str, str], top: Path) -> None:
    for name, what in layer_of.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if what == "file":
            path.write_text(str(layer_of))
        elif what == "gone":
            os.mknod(path, stat.S_IFCHR)
        else:
            path.mkdir(exist_ok=True)
            if what == "opaque":
                os.setxattr(path, "trusted.overlay.opaque", b"y")


# Where a whiteout hides nothing the system lists its name, but has nothing of that name.
_LIST_OVERLAY = """mount -t overlay x -o "ro,lowerdir=$0" "$1" || exit 1
find "$1" -mindepth 1 -printf "/%P %y %s\\n" 2> /dev/null || true"""


def test_as_an_overlay_file_system(tmp_path: Path) -> None:
    """The kernel's own, where it may be mounted."""
    (tmp_path / "merged").mkdir()
    for seed in range(40):
        draw = random.Random(seed)
        layers = [random_layer(draw) for _ in range(4)]
        tops = [tmp_path / f"{seed}-{number}" for number in range(4)]
        try:
            for made, top in zip(layers, tops, strict=True):
                top.mkdir()
                in_an_overlay(made, top)
            lower = ":".join(str(top) for top in reversed(tops))
            run = subprocess.run(
                ["unshare", "--mount", "sh", "-c", _LIST_OVERLAY, lower, tmp_path / "merged"],
                check=True,
                stdout=subprocess.PIPE,
                timeout=60,
            )
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"no overlay can be mounted here ({error})")
        words = [line.split() for line in run.stdout.decode().splitlines()]
        expected = {path: "fo" if kind == "d" else f"fi{size}" for path, kind, size in words}
        shutil.rmtree(tmp_path / "image", ignore_errors=True)
        found = paths(view_of(tmp_path, *(in_a_layer(made, draw) for made in layers)))
        assert found == expected, layers


def test_a_folder_keeps_what_it_is_unless_its_entry_comes_again(tmp_path: Path) -> None:
    view = view_of(tmp_path, BASE, layer(entry("a/new")), layer(folder("n/o")))
    a, n = view.root.children["a"], view.root.children["n"]
    assert (a.mode, a.uid, n.mode) == (0o700, 5, 0o755)
    view = view_of(tmp_path, BASE, layer(folder("a", mode=0o711), folder("./", mode=0o1777)))
    a = view.root.children["a"]
    assert (a.mode, a.uid, view.root.mode) == (0o711, 0, 0o1777)
    assert "/a/b/three" in paths(view)


def test_hard_links_are_one_file(tmp_path: Path) -> None:
    """Also when the name that had the content goes."""
    view = view_of(tmp_path, BASE, layer(hard_link("h", "a/one")), layer(entry(".wh.a")))
    assert paths(view) == {"/f": "fi4", "/h": "fi1", "/l": "sy"}
    image = open_image(tmp_path / "image")
    extract(image, view, tmp_path / "out")
    assert (tmp_path / "out/h").read_bytes() == b"1"


@pytest.mark.parametrize(
    ("upper", "words"),
    [
        ([hard_link("h", "absent")], "missing"),
        ([hard_link("h", "a")], "a folder"),
        ([entry("n", b"1"), entry("n/in")], "no folder"),
        ([link("n", "absent"), entry("n/in")], "no folder"),
        ([link("n", "n"), entry("n/in")], "no folder"),
        ([entry("a/.wh...")], "no name"),
        ([entry("a/.wh.")], "no name"),
        ([entry("./")], "top folder"),
    ],
)
def test_what_no_engine_takes_in(tmp_path: Path, upper: list, words: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(ImageError, match=words) as caught:
        view_of(tmp_path, BASE, layer(*upper))
    assert "layer 2 of 2" in str(caught.value)


def as_the_kernel(top: Path, path: str, follow: bool) -> str | None:
    """The real path that a program inside would come to, by openat2(2)."""
    how = (ctypes.c_uint64 * 3)(O_PATH | (0 if follow else os.O_NOFOLLOW), 0, RESOLVE_IN_ROOT)
    root = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        call = ctypes.CDLL(None, use_errno=True).syscall
        words = root, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how)
        # Whoever mounts or renames something anywhere makes it give up on `..`, with EAGAIN.
        while (found := call(OPENAT2, *words)) < 0 and ctypes.get_errno() == errno.EAGAIN:
            pass
        if found < 0:
            if ctypes.get_errno() in (errno.ENOSYS, errno.EPERM):
                pytest.skip("the system has no openat2")
            return None
        real = os.readlink(f"/proc/self/fd/{found}")
        os.close(found)
    finally:
        os.close(root)
    return "/" + os.path.relpath(real, os.path.realpath(top)) if real != str(top) else "/."


def random_links(seed: int) -> tuple[bytes, list[str]]:
    draw = random.Random(seed)
    names = ["a", "b", "c", "a/a", "a/b", "b/c", "a/b/c", "b/c/a"]

    def some_path() -> str:
        parts = draw.choices(["a", "b", "c", "..", ".", ""], k=draw.randint(1, 5))
        return draw.choice(["", "/"]) + "/".join(parts) or "/"

    entries = []
    kinds: dict[str, str] = {"": "folder"}
    for name in names:
        if kinds.get(name.rpartition("/")[0]) == "folder":
            kinds[name] = draw.choice(["folder", "folder", "link", "file"])
            make = {"folder": folder, "file": entry}.get(kinds[name])
            entries.append(make(name) if make else link(name, some_path()))
    return layer(*entries), [some_path() for _ in range(60)]


@pytest.mark.parametrize("seed", range(25))
def test_paths_lead_where_they_lead_inside(tmp_path: Path, seed: int) -> None:
    data, asked = random_links(seed)
    view = view_of(tmp_path, data)
    extract(open_image(tmp_path / "image"), view, tmp_path / "out")
    for path in asked:
        for follow in (True, False):
            found = view.find(path, follow=follow)
            real = as_the_kernel(tmp_path / "out", path, follow)
            assert (found.path if found else None) == (real and real.replace("/.", "/")), path


def test_the_links_on_the_way(tmp_path: Path) -> None:
    data = layer(folder("usr"), folder("usr/lib"), entry("usr/lib/x.so.1"), link("lib", "usr/lib"),
                 link("usr/lib/x.so", "/lib/x.so.1"), link("loop", "loop"))  # fmt: skip
    view = view_of(tmp_path, data)
    found = view.find("/lib/x.so")
    assert found and found.path == "/usr/lib/x.so.1"
    assert found.links == ("/lib", "/usr/lib/x.so", "/lib")
    unfollowed = view.find("/lib/x.so", follow=False)
    assert unfollowed and unfollowed.path == "/usr/lib/x.so" and unfollowed.links == ("/lib",)
    assert view.find("/loop") is None and view.find("/lib/x.so.1/y") is None
    root = view.find("../../..//")
    assert root and root.path == "/" and root.node is view.root


def deep(count: int) -> Iterator[str]:
    for number in range(count):
        yield f"{number}/" + "/".join(["d"] * 1900)


def test_deep_folders(tmp_path: Path) -> None:
    view = view_of(tmp_path, layer(*(entry(name) for name in deep(3))))
    assert sum(isinstance(node, Folder) for _, node in view.walk()) == 1 + 3 * 1900
    assert max(len(path) for path, _ in view.walk()) > 3800


def test_as_many_entries_as_there_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders that only names imply count too: a small layer may imply millions."""
    monkeypatch.setattr("trimtab.images.limits.MOST_ENTRIES", 5000)
    with pytest.raises(ImageError, match="more than"):
        view_of(tmp_path, layer(*(entry(name) for name in deep(3))))


def test_kinds(tmp_path: Path) -> None:
    devices = layer(
        entry("c", kind=b"3", devmajor=1, devminor=3), entry("b", kind=b"4", devmajor=7),
        entry("p", kind=b"6"), entry("v7", b"x", kind=b"\0"), entry("seven", b"x", kind=b"7"),
    )  # fmt: skip
    found = dict(view_of(tmp_path, devices).walk())
    assert found["/c"].kind is FileType.CHARACTER_DEVICE and found["/c"].device == (1, 3)
    assert found["/b"].kind is FileType.BLOCK_DEVICE and found["/p"].kind is FileType.PIPE
    assert found["/v7"].kind is found["/seven"].kind is FileType.FILE
