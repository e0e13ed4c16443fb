"""What holds of the closure of any root and any trace."""

from hand_made_root import Content, Link, Program, elf, missing, root_of, used
from hypothesis import given
from hypothesis import strategies as st

from trimtab.debloating.files.closure import PathUse, kept_paths
from trimtab.debloating.files.removed_files import selection
from trimtab.debloating.files.tree import FileTree, joined, parents
from trimtab.images.node import FileType

SITE = "/usr/lib/python3.11/site-packages"
LOADER = "/lib64/ld-linux-x86-64.so.2"
CONTENTS: dict[str, Content] = {
    "/bin": Link("usr/bin"),
    "/lib64": Link("usr/lib64"),
    "/usr/bin/sh": Program(elf("liba.so", interpreter=LOADER)),
    "/usr/bin/env": Program(elf("liba.so", interpreter=LOADER)),
    "/usr/bin/tool": Program(b"#!/usr/bin/env python3\n"),
    "/usr/bin/python3": Link("../../etc/alternatives/python"),
    "/etc/alternatives/python": Link("/usr/bin/python3.11"),
    "/usr/bin/python3.11": Program(elf("libb.so", interpreter=LOADER)),
    "/usr/lib64/ld-linux-x86-64.so.2": Program(elf()),
    "/usr/lib64/liba.so": elf("libb.so", runpath="$ORIGIN"),
    "/usr/lib64/libb.so": Link("libb.so.1"),
    "/usr/lib64/libb.so.1": elf("libnowhere.so"),
    "/etc/ld.so.conf": "include ld.so.conf.d/*",
    "/etc/ld.so.conf.d/a": "/opt",
    "/etc/gone": Link("/nowhere"),
    "/etc/loop": Link("loop"),
    "/etc/passwd": "me:x:1:1::/home/me:/bin/sh",
    "/home/me/notes": "n",
    f"{SITE}/one/__init__.py": "",
    f"{SITE}/one/part.py": "",
    f"{SITE}/one/__pycache__/part.cpython-311.pyc": "p",
    f"{SITE}/one/data/table": "t",
    f"{SITE}/one-1.dist-info/RECORD": "one/part.py,,\none/data/table,,",
    f"{SITE}/one-1.dist-info/METADATA": "Name: one",
    "/var/lib/dpkg/info/sh:amd64.list": "/.\n/bin/sh\n/usr/lib64/liba.so\n/gone/x\n",
}
TREE = root_of(CONTENTS)
PATHS = sorted({*TREE.nodes, "/bin/sh", "/bin/python3", "/lib64/libb.so", "/usr/gone", "/x/y"})
USES = ("read", "stat", "list", "execute", "map_execute", "read list", "link", "missing")
TRACES = st.lists(
    st.tuples(st.sampled_from(PATHS), st.sampled_from(USES)).map(
        lambda use: (missing(use[0]) if use[1] == "missing" else used(use[0], uses=use[1]))[0]
    ),
    max_size=5,
)


def only(tree: FileTree, paths: set[str]) -> FileTree:
    """The slim copy: nothing but these paths."""
    nodes = {path: node for path, node in tree.nodes.items() if path in paths}
    return FileTree(nodes, tree.open_file, tree.tops)


@given(TRACES)
def test_what_stays_leads_to_what_stays(trace: list[PathUse]) -> None:
    kept = set(kept_paths(TREE, [trace]))
    slim = only(TREE, kept)
    assert kept <= TREE.nodes.keys()
    for path in kept:
        assert kept.issuperset(parents(path))
        if TREE.nodes[path].kind is FileType.LINK:
            assert slim.follow(path).end == TREE.follow(path).end
    for use in trace:
        was, now = TREE.walk(use.path).end, slim.walk(use.path).end
        assert now == was or (set(use.uses) == {"missing"} and now is None)


@given(TRACES)
def test_the_closure_of_what_stays_is_what_stays(trace: list[PathUse]) -> None:
    kept = set(kept_paths(TREE, [trace]))
    assert set(kept_paths(only(TREE, kept), [trace])) == kept


@given(TRACES, TRACES)
def test_whoever_profiles_more_keeps_more(one: list[PathUse], other: list[PathUse]) -> None:
    both = set(kept_paths(TREE, [one, other]))
    assert both >= set(kept_paths(TREE, [one])) | set(kept_paths(TREE, [other]))
    assert both == set(kept_paths(TREE, [other, one]))


@given(TRACES)
def test_every_path_has_a_reason_that_stays_as_well(trace: list[PathUse]) -> None:
    kept = kept_paths(TREE, [trace])
    for path, reasons in kept.reasons.items():
        assert reasons
        assert all(because in kept for because in reasons.values() if because), path


@given(TRACES)
def test_the_parts_add_up(trace: list[PathUse]) -> None:
    kept = kept_paths(TREE, [trace])
    result = selection(TREE, kept)
    files = {path: node for path, node in TREE.nodes.items() if node.kind is FileType.FILE}
    total = sum(node.size_bytes for node in files.values())
    assert result.kept_bytes + result.removed_bytes == total
    assert result.kept_files + len(result.removed) == len(files)
    for groups in (result.removed_by_kind().values(), result.removed_by_package().values()):
        assert sum(number for number, _ in groups) == result.removed_files
        assert sum(size_bytes for _, size_bytes in groups) == result.removed_bytes
    assert not {file.path for file in result.removed} & set(kept)


def test_joined_and_parents_agree() -> None:
    for path in TREE.nodes.keys() - {"/"}:
        folder, name = next(parents(path)), path.rpartition("/")[2]
        assert joined(folder, name) == path
