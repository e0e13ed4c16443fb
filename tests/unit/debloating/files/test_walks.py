"""Paths are followed as the kernel follows them."""

import os
from pathlib import Path

import pytest
from hand_made_root import FOLDER, Link, root_of
from hypothesis import example, given
from hypothesis import strategies as st

from trimtab.debloating.files.folder_tree import prefix_tree, root_tree
from trimtab.debloating.files.tree import Walk
from trimtab.errors import UserError
from trimtab.images.node import FileType

TREE = root_of(
    {
        "/usr/lib/libz.so.1": Link("libz.so.1.2"),
        "/usr/lib/libz.so.1.2": "z",
        "/lib": Link("usr/lib"),
        "/etc/link": Link("/lib/../lib/libz.so.1"),
        "/etc/loop": Link("loop"),
        "/etc/gone": Link("/nowhere/x"),
        "/etc/high": Link("../../../../usr"),
        "/empty": FOLDER,
    }
)


@pytest.mark.parametrize(
    ("path", "walk"),
    [
        ("/", Walk((), "/")),
        ("/usr/lib", Walk((), "/usr/lib")),
        ("/lib/libz.so.1", Walk(("/lib", "/usr/lib/libz.so.1"), "/usr/lib/libz.so.1.2")),
        ("/etc/high", Walk(("/etc/high", "/etc", "/", "/", "/"), "/usr")),
        ("/empty/x/y", Walk(("/empty",), None)),
        ("/usr/lib/libz.so.1.2/x", Walk(("/usr/lib",), None)),
        ("/etc/gone", Walk(("/etc/gone", "/"), None)),
    ],
)
def test_a_way(path: str, walk: Walk) -> None:
    assert TREE.walk(path) == walk


def test_a_link_through_links_passes_all_of_them() -> None:
    walk = TREE.walk("/etc/link")
    assert walk.end == "/usr/lib/libz.so.1.2"
    assert set(walk.passed) == {"/etc/link", "/lib", "/usr/lib", "/usr/lib/libz.so.1"}


def test_a_link_to_itself_leads_nowhere() -> None:
    assert TREE.walk("/etc/loop").end is None


def test_links_out_of_a_prefix_lead_out() -> None:
    tree = root_of(
        {
            "/bin/python": Link("/usr/bin/python3"),
            "/bin/python3": Link("/home/me/env/bin/python"),
            "/bin/up": Link("../../x"),
            "/lib64": Link("lib"),
            "/lib/x": "x",
        },
        "/home/me/env",
        "/spelled/env",
    )
    assert tree.walk("/home/me/env/bin/python") == Walk(("/bin/python",), None, True)
    assert tree.walk("/spelled/env/bin/python3") == Walk(
        ("/bin/python3", "/bin/python"), None, True
    )
    assert tree.walk("/home/me/env/bin/up").leaves
    assert tree.walk("/home/me/env/lib64/x").end == "/lib/x"
    assert tree.walk("/home/me/environment") == Walk((), None, True)


def test_a_folder_on_disk(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/file").write_text("text")
    (tmp_path / "a/hard").hardlink_to(tmp_path / "a/b/file")
    (tmp_path / "link").symlink_to("/a/b")
    os.mkfifo(tmp_path / "pipe")
    tree = root_tree(tmp_path)
    assert sorted(tree.nodes) == ["/", "/a", "/a/b", "/a/b/file", "/a/hard", "/link", "/pipe"]
    assert tree.nodes["/a/b/file"] is tree.nodes["/a/hard"]
    assert tree.nodes["/pipe"].kind is FileType.PIPE
    assert tree.file_at("/link/file") == "/a/b/file"
    assert tree.text("/a/b/file") == "text"
    assert prefix_tree(tmp_path).file_at(f"{tmp_path}/a/b/file") == "/a/b/file"
    with pytest.raises(UserError, match="not a folder"):
        root_tree(tmp_path / "a/b/file")


NAMES = st.sampled_from(["a", "b", "c"])
TARGETS = st.lists(st.sampled_from(["a", "b", "c", "..", "."]), min_size=1, max_size=4)


@given(
    folders=st.lists(st.lists(NAMES, min_size=1, max_size=3), max_size=4),
    links=st.dictionaries(st.lists(NAMES, min_size=1, max_size=3).map(tuple), TARGETS, max_size=5),
    path=st.lists(st.sampled_from(["a", "b", "c", ".."]), min_size=1, max_size=4),
)
@example(folders=[], links={("b",): ["b"], ("a",): ["."], ("a", "b"): ["a"]}, path=["a"])
def test_the_kernel_agrees(
    tmp_path_factory: pytest.TempPathFactory,
    folders: list[list[str]],
    links: dict[tuple[str, ...], list[str]],
    path: list[str],
) -> None:
    """Relative links that stay inside: whatever leads above the folder is told to lead out."""
    top = tmp_path_factory.mktemp("walk")
    for folder in folders:
        (top / "/".join(folder)).mkdir(parents=True, exist_ok=True)
    for place, target in links.items():
        at = top / "/".join(place)
        if os.path.lexists(at) or not at.parent.is_dir():
            continue  # a link to itself, by another way, cannot be resolved
        if at.resolve().is_relative_to(top):
            at.symlink_to("/".join(target))
    tree = prefix_tree(top)
    asked = top / "/".join(path)
    walk = tree.walk(str(asked))
    if walk.end is not None:
        assert Path(str(top) + walk.end).samefile(asked)
    elif asked.exists():  # out of the folder, at some place on the way
        above = [*("/".join(target) for target in links.values()), "/".join(path)]
        assert any(".." in text for text in above)
