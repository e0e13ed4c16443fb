"""What goes, by package and kind, each size once."""

import json

from hand_made_root import Content, Link, root_of, used

from trimtab.debloating.files.closure import kept_paths
from trimtab.debloating.files.kinds_of_files import FileKind, kind_of_file
from trimtab.debloating.files.packages import packages_of
from trimtab.debloating.files.removed_files import CountedFile, selection
from trimtab.debloating.files.tree import Node, NodeKind, Tree

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


def test_a_file_with_several_names_goes_once_and_only_with_its_last() -> None:
    two, single = Node(NodeKind.FILE, 100, file_id=(1, 2)), Node(NodeKind.FILE, 7)
    nodes = {"/": Node(NodeKind.FOLDER), "/a": two, "/b": two, "/c": single}
    tree = Tree(nodes, root_of({"/a": "", "/b": "", "/c": ""}).open_file)
    none = selection(tree, kept_paths(tree, []))
    assert [file.size_bytes for file in none.removed] == [100, 0, 7]
    assert (none.kept_files, none.kept_bytes, none.removed_bytes) == (0, 0, 107)
    one = selection(tree, kept_paths(tree, [used("/b")]))
    assert one.removed == (
        CountedFile("/a", "", FileKind.OTHER, 0),
        CountedFile("/c", "", FileKind.OTHER, 7),
    )
    assert (one.kept_files, one.kept_bytes) == (1, 100)


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
