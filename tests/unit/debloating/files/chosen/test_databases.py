"""What scanners find: the packages of which a file stays, or nothing where that is the choice."""

import io
import json
import re
from contextlib import nullcontext
from pathlib import Path

import pytest
from hand_made_root import Content, Link, root_of, used

from trimtab.debloating.files.closure import kept_paths
from trimtab.debloating.files.dpkg import add_package_list
from trimtab.debloating.files.tree import FileTree
from trimtab.images.node import FileType, Inode

SITE = "/opt/lib/python3.11/site-packages"
ROOT: dict[str, Content] = {
    "/usr/lib/libz.so": "z",
    "/lib/apk/db/installed": "P:musl\n",
    "/var/lib/rpm/rpmdb.sqlite": "r",
    "/var/lib/dpkg/status.d/base": "Package: base\n",
    f"{SITE}/one/__init__.py": "",
    f"{SITE}/one-1.dist-info/METADATA": "Name: one\n",
    f"{SITE}/one-1.dist-info/RECORD": "one/__init__.py,,\n",
    f"{SITE}/one-1.dist-info/entry_points.txt": "[x]\n",
    f"{SITE}/two/__init__.py": "",
    f"{SITE}/two-2.dist-info/METADATA": "Name: two\n",
    f"{SITE}/two-2.dist-info/RECORD": "two/__init__.py,,\n",
    f"{SITE}/old.py": "",
    f"{SITE}/old-3.egg-info": "Name: old\n",
    "/opt/conda-meta/z-1.json": json.dumps({"name": "z", "files": ["lib/libz.so"]}),
    "/opt/conda-meta/y-1.json": json.dumps({"name": "y", "files": ["lib/liby.so"]}),
    "/opt/lib/libz.so": "z",
    "/opt/lib/liby.so": "y",
}
SYSTEM = {"/lib/apk/db/installed", "/var/lib/rpm/rpmdb.sqlite", "/var/lib/dpkg/status.d/base"}


def databases(*names: str, keep: bool) -> set[str]:
    kept = kept_paths(root_of(ROOT), [used(*names)], databases=keep)
    return {
        path
        for path in kept
        if path in SYSTEM or "-info" in path or "conda-meta/" in path
        if path in ROOT
    }


def test_of_packages_of_which_a_file_stays_the_metadata_do() -> None:
    assert databases(keep=True) == SYSTEM
    assert databases(f"{SITE}/one/__init__.py", keep=True) - SYSTEM == {
        f"{SITE}/one-1.dist-info/{name}" for name in ("METADATA", "RECORD", "entry_points.txt")
    }
    assert databases("/opt/lib/libz.so", keep=True) - SYSTEM == {"/opt/conda-meta/z-1.json"}
    assert databases(f"{SITE}/old.py", keep=True) - SYSTEM <= {f"{SITE}/old-3.egg-info"}


def test_dropped_nothing_names_a_package() -> None:
    every = databases(f"{SITE}/one/__init__.py", f"{SITE}/old.py", "/opt/lib/libz.so", keep=False)
    assert every == {f"{SITE}/one-1.dist-info/entry_points.txt"}


def test_what_a_run_used_stays_in_any_case() -> None:
    assert "/lib/apk/db/installed" in databases("/lib/apk/db/installed", keep=False)
    assert f"{SITE}/two-2.dist-info/METADATA" in databases(
        f"{SITE}/two-2.dist-info/METADATA", keep=False
    )


STATUS = """Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.36-9
Description: C library
 with Package: tar in its text

Package: tar
Status: install ok installed
Version: 1.34

Package: libc6
Architecture: i386
Version: 2.36-9


Package: ../../escape
Version: 1
"""


def listed(copy: Path, packages: set[str] | None, **more: Content) -> dict[str, str]:
    tree = root_of({"/var/lib/dpkg/status": STATUS, **more})
    add_package_list(copy, tree, packages)
    return {path.name: path.read_text() for path in copy.rglob("*") if path.is_file()}


def test_packages_that_stay_are_listed_as_distroless_images_do(tmp_path: Path) -> None:
    found = listed(tmp_path, {"libc6", "../../escape", "unknown"})
    assert set(found) == {"libc6"}
    assert (tmp_path / "var/lib/dpkg/status.d/libc6").is_file()
    assert re.findall("^Architecture: (.*)", found["libc6"], re.M) == ["amd64", "i386"]
    assert re.findall("^Package: (.*)", found["libc6"], re.M) == ["libc6", "libc6"]
    assert found["libc6"].count("\n\n") == 1 and found["libc6"].endswith("2.36-9\n")


def test_a_packed_store_has_files_of_all(tmp_path: Path) -> None:
    assert set(listed(tmp_path, None)) == {"libc6", "tar"}


def test_a_database_that_stays_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "var/lib/dpkg").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").write_text(STATUS)
    assert listed(tmp_path, {"tar"}) == {"status": STATUS}


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    """The copy may have been changed by whoever runs in it."""
    (tmp_path / "copy/var/lib").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "copy/var/lib/dpkg").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="dpkg"):
        listed(tmp_path / "copy", {"tar"})
    assert not list((tmp_path / "elsewhere").iterdir())


def test_where_the_folder_is_behind_a_link_it_is_where_that_leads(tmp_path: Path) -> None:
    tree = root_of({"/var/lib/dpkg": Link("/data/dpkg"), "/data/dpkg/status": STATUS})
    add_package_list(tmp_path, tree, {"tar"})
    assert (tmp_path / "data/dpkg/status.d/tar").is_file()


@pytest.mark.parametrize("data", [b"", b"\xff\xfe\x00", b"Package:\n\n", b"Package: tar"])
def test_a_damaged_database_lists_what_it_can(data: bytes, tmp_path: Path) -> None:
    nodes = {path: Inode(FileType.FOLDER, 0o755) for path in ("/", "/var")}
    nodes |= {path: Inode(FileType.FOLDER, 0o755) for path in ("/var/lib", "/var/lib/dpkg")}
    nodes["/var/lib/dpkg/status"] = Inode(FileType.FILE, 0o644, size_bytes=len(data))
    add_package_list(tmp_path, FileTree(nodes, lambda path: nullcontext(io.BytesIO(data))), {"tar"})
    assert [path.name for path in tmp_path.rglob("tar")] == (["tar"] if b"tar" in data else [])
