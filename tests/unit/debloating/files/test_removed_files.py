"""What goes, by package and kind, each size once."""

import json
from pathlib import Path

import pandas as pd
from hand_made_root import Content, Link, root_of, used

from trimtab.cli.summary import removed_files_in
from trimtab.debloating.files.closure import kept_paths
from trimtab.debloating.files.kinds_of_files import FileKind, kind_of_file
from trimtab.debloating.files.packages import packages_of
from trimtab.debloating.files.removed_files import CountedFile, selection
from trimtab.debloating.files.tree import FileTree
from trimtab.images.node import FileType, Inode
from trimtab.records.manifest import Environment, Manifest, RemovedFiles, Timings
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import FILES

SITE = "/opt/lib/python3.11/site-packages"
ROOT: dict[str, Content] = {
    "/lib": Link("usr/lib"),
    "/usr/lib/libc.so.6": "c" * 10,
    "/usr/lib/python3/dist-packages/apt/__init__.py": "",
    "/usr/lib/python3/dist-packages/apt-1.egg-info": "Name: apt\n",
    "/var/lib/dpkg/info/libc6:amd64.list": "/.\n/lib\n/lib/libc.so.6\n/usr/share/man/man1/x.1\n",
    "/var/lib/dpkg/info/python3-apt.list": "/usr/lib/python3/dist-packages/apt/__init__.py\n",
    "/var/lib/dpkg/info/libc6:amd64.md5sums": "/lib/libc.so.6\n",
    "/usr/share/man/man1/x.1": "m",
    f"{SITE}/numpy/core.py": "p",
    f"{SITE}/numpy/__pycache__/core.cpython-311.pyc": "p",
    f"{SITE}/numpy-2.0.dist-info/RECORD": (
        'numpy/core.py,,\n"../../../bin/f2py",,\n../../../../../../../../etc/passwd,,\n'
        '/usr/lib/libc.so.6.gone,,\n"unfinished'
    ),
    "/opt/bin/f2py": "f",
    "/opt/bin/pip": "",
    "/opt/conda-meta/pip-24.json": json.dumps({"name": "pip", "files": ["bin/pip", "../x", 3]}),
    "/opt/conda-meta/bad.json": "{" * 20_000,
    "/etc/passwd": "",
}


def test_packages_are_those_of_their_databases() -> None:
    packages = packages_of(root_of(ROOT))
    assert packages["/usr/lib/libc.so.6"] == packages["/usr/share/man/man1/x.1"] == "dpkg:libc6"
    assert packages["/usr/lib/python3/dist-packages/apt/__init__.py"] == "dpkg:python3-apt"
    assert packages[f"{SITE}/numpy/core.py"] == packages["/opt/bin/f2py"] == "pip:numpy"
    assert packages[f"{SITE}/numpy/__pycache__/core.cpython-311.pyc"] == "pip:numpy"
    assert packages[f"{SITE}/numpy-2.0.dist-info/RECORD"] == "pip:numpy"
    assert packages["/opt/bin/pip"] == "conda:pip"
    assert "/opt/conda-meta/bad.json" not in packages


def test_packages_of_alpine_and_what_pip_put_beside_debian_s() -> None:
    ours = "/usr/lib/python3/dist-packages"
    packages = packages_of(
        root_of(
            ROOT
            | {
                f"{ours}/torch/__init__.py": "",
                f"{ours}/torch-2.dist-info/RECORD": "torch/__init__.py,,\n",
                "/bin/busybox": "",
                "/top": "",
                "/usr/lib/apk/db/installed": (
                    "P:busybox\nV:1\nF:bin\nR:busybox\nR:gone\nF:\nR:top\n"
                ),
            }
        )
    )
    assert packages[f"{ours}/torch/__init__.py"] == "pip:torch"
    assert packages[f"{ours}/apt/__init__.py"] == "dpkg:python3-apt"
    assert packages["/bin/busybox"] == packages["/top"] == "apk:busybox"
    assert "/bin/gone" not in packages


def test_a_file_with_several_names_goes_once_and_only_with_its_last() -> None:
    two, single = (Inode(FileType.FILE, 0o644, size_bytes=size) for size in (100, 7))
    nodes = {"/": Inode(FileType.FOLDER, 0o755), "/a": two, "/b": two, "/c": single}
    tree = FileTree(nodes, root_of({"/a": "", "/b": "", "/c": ""}).open_file)
    none = selection(tree, kept_paths(tree, []))
    assert [file.size_bytes for file in none.removed] == [100, 0, 7]
    assert (none.kept_files, none.kept_bytes, none.removed_bytes) == (0, 0, 107)
    one = selection(tree, kept_paths(tree, [used("/b")]))
    assert one.removed == (
        CountedFile("/a", "", FileKind.OTHER, 0, counts=False),
        CountedFile("/c", "", FileKind.OTHER, 7),
    )
    assert (one.kept_files, one.kept_bytes) == (1, 100)
    assert none.removed_by_kind() == {FileKind.OTHER: (2, 107)}
    assert one.removed_by_package() == {"": (1, 7)}


def test_tables_count_files_and_not_their_names(tmp_path: Path) -> None:
    """As the summary of a debloating shows them, from its documents."""
    row = {
        "target": "t", "hardware": "h", "type": "file", "package": "dpkg:git", "kind": "programs",
        "group": "", "kept": False, "reason": "",
    }  # fmt: skip
    rows = [
        row | {"path": name, "size_bytes": size, "counts": size > 0}
        for name, size in (("a", 3_000_000), ("b", 0), ("c", 0))
    ]
    write_table(tmp_path / "files.parquet", FILES, pd.DataFrame(rows))
    Manifest(
        target="t", hardware="h", workloads=["w"], environment=Environment("root_folder", "/r"),
        mode="compact", symbols="strip", timings=Timings(1, 1, 1), files={},
        removed_files=RemovedFiles(0, 0, 1, 3_000_000),
    ).write(tmp_path / "manifest.json")  # fmt: skip
    table = removed_files_in(tmp_path)
    assert table is not None
    cells = [list(map(str, column.cells)) for column in table.columns]
    assert list(zip(*cells, strict=True)) == [
        ("dpkg:git", "1", "3.0 MB"), ("programs", "1", "3.0 MB"),
        ("all that went", "1", "3.0 MB"), ("all that stay", "0", "0.0 MB"),
    ]  # fmt: skip


def test_kinds() -> None:
    kinds = {
        "/usr/share/doc/x/README": FileKind.DOCUMENTATION,
        "/usr/share/man/man1/x.1.gz": FileKind.DOCUMENTATION,
        "/usr/share/locale/de/LC_MESSAGES/x.mo": FileKind.LOCALE,
        "/usr/share/zoneinfo/UTC": FileKind.TIME_ZONE,
        f"{SITE}/numpy/tests/test_core.py": FileKind.TESTS,
        f"{SITE}/torch/include/ATen/ATen.h": FileKind.HEADERS,
        "/usr/lib/libz.a": FileKind.STATIC_LIBRARY,
        "/usr/lib/libz.so.1.2": FileKind.SHARED_LIBRARY,
        f"{SITE}/a/__pycache__/b.cpython-311.pyc": FileKind.BYTE_CODE,
        f"{SITE}/a/b.py": FileKind.PYTHON,
        f"{SITE}/a-1.dist-info/METADATA": FileKind.METADATA,
        "/var/lib/dpkg/status": FileKind.DATABASE,
        "/var/cache/apt/archives/x.deb": FileKind.CACHE,
        "/etc/ssl/certs/x.pem": FileKind.CERTIFICATES,
        "/etc/motd": FileKind.CONFIGURATION,
        "/usr/bin/awk": FileKind.PROGRAM,
        "/srv/page": FileKind.OTHER,
    }
    assert {path: kind_of_file(path) for path in kinds} == kinds
