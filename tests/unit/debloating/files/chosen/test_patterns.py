"""Patterns of paths mean what they mean to shells, and one that nothing matches is a mistake."""

import glob
from pathlib import Path

import pytest
from hand_made_root import FOLDER, Content, root_of
from hypothesis import given
from hypothesis import strategies as st

from trimtab.debloating.files.chosen.patterns import compiled, paths_matching
from trimtab.debloating.files.folder_tree import root_tree
from trimtab.errors import UserError

ROOT: dict[str, Content] = {
    "/app/main.py": "m",
    "/app/lib/a.so": "a",
    "/app/lib/deep/b.so": "b",
    "/app/lib/a[1]^.txt": "t",
    "/apple/x": "x",
    "/empty": FOLDER,
}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("/app/main.py", {"/app/main.py"}),
        ("/app/*.py", {"/app/main.py"}),
        ("/app/l*/?.so", {"/app/lib/a.so"}),
        ("/app/**/*.so", {"/app/lib/a.so", "/app/lib/deep/b.so"}),
        ("**/*.so", {"/app/lib/a.so", "/app/lib/deep/b.so"}),
        ("/app/lib/**", {"/app/lib/a.so", "/app/lib/deep", "/app/lib/deep/b.so",
                         "/app/lib/a[1]^.txt"}),
        ("app/lib/deep/", {"/app/lib/deep", "/app/lib/deep/b.so"}),
        ("/app/lib/[a-b].so", {"/app/lib/a.so"}),
        ("/app/lib/[!b].so", {"/app/lib/a.so"}),
        ("/app/lib/a[[]1]^.txt", {"/app/lib/a[1]^.txt"}),
        ("/empty", {"/empty"}),
    ],
)  # fmt: skip
def test_what_a_pattern_means(pattern: str, expected: set[str]) -> None:
    assert paths_matching(root_of(ROOT), pattern) == expected


@pytest.mark.parametrize("pattern", ["/ap", "/app/*.so", "/App/main.py", "[b-a]", "a" * 5000])
def test_a_pattern_that_names_nothing_is_a_mistake(pattern: str) -> None:
    with pytest.raises(UserError, match=r"keep_paths: .* given, expected a "):
        paths_matching(root_of(ROOT), pattern)


def test_of_an_environment_paths_are_those_of_any_of_its_names() -> None:
    tree = root_of({"/lib/x.py": "x"}, "/real/env", "/link/env")
    for pattern in ("lib/*.py", "/real/env/lib/x.py", "/link/env/**/x.py", "/real/env"):
        assert "/real/env/lib/x.py" in paths_matching(tree, pattern)
    with pytest.raises(UserError, match=r"'/lib/x\.py' given"):
        paths_matching(tree, "/lib/x.py")


@given(st.text("ab*?/[]!-.\\^$+(", max_size=12))
def test_whatever_is_written_it_is_a_pattern_or_a_mistake(pattern: str) -> None:
    try:
        found = paths_matching(root_of(ROOT), pattern)
    except UserError:
        return
    assert found


@given(st.lists(st.text("ab", min_size=1, max_size=2), min_size=1, max_size=3),
       st.text("ab*?/", max_size=8))  # fmt: skip
def test_as_the_standard_library_does(names: list[str], pattern: str) -> None:
    """Where both know a form; `glob.translate`, which says so too, is newer than Python 3.11."""
    path, pattern = "/" + "/".join(names), "/" + "/".join(filter(None, pattern.split("/")))
    if "**" in pattern:
        return
    found = bool(compiled(pattern).fullmatch(path))
    parts = pattern.split("/")
    expected = len(parts) == path.count("/") + 1 and all(
        glob.fnmatch.fnmatchcase(name, part)  # type: ignore[attr-defined]
        for name, part in zip(path.split("/"), parts, strict=True)
    )
    assert found == expected


def test_against_a_folder_on_disk(tmp_path: Path) -> None:
    """What pathlib finds, with all that is below, is what is kept."""
    for path, content in ROOT.items():
        (tmp_path / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        if content is FOLDER:
            (tmp_path / path[1:]).mkdir()
        else:
            (tmp_path / path[1:]).write_text(str(content))
    for pattern in ("app/*", "app/**/*.so", "*/lib/?.so", "**/deep", "app/l[!x]b"):
        named = set(tmp_path.glob(pattern))
        expected = {f"/{path.relative_to(tmp_path)}" for path in named}
        expected |= {f"/{inner.relative_to(tmp_path)}" for top in named for inner in top.rglob("*")}
        assert paths_matching(root_tree(tmp_path), pattern) == expected
