"""The lines of a code base by year: `git blame` is the oracle."""

from collections import Counter
from pathlib import Path

import pytest
from git_repository import BEGIN, YEAR_S, GitRepository, numbered
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trimtab.config.groups.code_base import CodeBase
from trimtab.errors import UserError
from trimtab.growth.history import open_repository, tip_of
from trimtab.growth.measure import measure_growth
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import LINES_BY_YEAR


@pytest.fixture
def repo(tmp_path: Path) -> GitRepository:
    return GitRepository(tmp_path / "repo")


def measured(repo: GitRepository, out: Path, **keys: object) -> list[tuple[str, int, int, int]]:
    wanted = CodeBase("it", str(repo.folder), **keys)  # type: ignore[arg-type]
    measure_growth(wanted, tip_of(open_repository(repo.folder), wanted.revision), out)
    frame = read_table(out / "lines.parquet", LINES_BY_YEAR)
    assert set(frame["code_base"]) == {"it"}
    return list(frame[["commit", "at_s", "year", "lines"]].itertuples(index=False, name=None))


def last_of(rows: list[tuple[str, int, int, int]]) -> Counter[int]:
    return Counter({year: lines for commit, _, year, lines in rows if commit == rows[-1][0]})


def test_lines_keep_their_year_through_changes_and_new_names(
    repo: GitRepository, tmp_path: Path
) -> None:
    repo.commit(BEGIN, {"a.py": numbered(*range(10)), "notes.txt": "not code\n"})
    repo.commit(BEGIN + YEAR_S, {"a.py": numbered(0, 1, 77, *range(3, 10)), "b.c": "int x;\n"})
    repo.git("mv", "a.py", "moved.py")
    repo.commit(BEGIN + 2 * YEAR_S, {"b.c": None, "c.h": "a\nno newline at the end"})
    rows = measured(repo, tmp_path / "out")
    assert [year for _, _, year, _ in rows] == [2001, 2001, 2002, 2001, 2002, 2003]
    assert [lines for _, _, _, lines in rows] == [10, 9, 2, 9, 1, 2]
    assert last_of(rows) == repo.blamed("moved.py", "c.h")


def test_what_is_no_line_of_code(repo: GitRepository, tmp_path: Path) -> None:
    repo.commit(BEGIN, {"picture.py": b"\0\1\2\n\n", "empty.py": "", "a.md": "text\n"})
    (repo.folder / "link.py").symlink_to("a.md")
    repo.commit(BEGIN + 1, {})
    assert last_of(measured(repo, tmp_path / "none")) == Counter({2001: 0})
    repo.commit(BEGIN + YEAR_S, {"picture.py": "now = 1\n"})
    assert last_of(measured(repo, tmp_path / "out")) == Counter({2002: 1})
    assert last_of(measured(repo, tmp_path / "md", files=["*.md"])) == Counter({2001: 1})


def test_names_that_are_swapped(repo: GitRepository, tmp_path: Path) -> None:
    repo.commit(BEGIN, {"a.py": numbered(*range(20))})
    repo.commit(BEGIN + YEAR_S, {"b.py": numbered(*range(100, 130))})
    (repo.folder / "a.py").rename(repo.folder / "c.py")
    (repo.folder / "b.py").rename(repo.folder / "a.py")
    (repo.folder / "c.py").rename(repo.folder / "b.py")
    repo.commit(BEGIN + 2 * YEAR_S, {})
    total = sum(last_of(measured(repo, tmp_path / "out")).values())
    assert total == 50


def test_a_branch_comes_when_it_is_merged(repo: GitRepository, tmp_path: Path) -> None:
    repo.commit(BEGIN, {"a.py": "a\n"})
    repo.git("checkout", "-q", "-b", "side")
    repo.commit(BEGIN + 10, {"b.py": "b\n"})
    repo.git("checkout", "-q", "main")
    at_s = BEGIN + YEAR_S
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "side", at_s=at_s)
    assert last_of(measured(repo, tmp_path / "out")) == Counter({2001: 1, 2002: 1})


def test_a_clock_that_goes_back(repo: GitRepository, tmp_path: Path) -> None:
    repo.commit(BEGIN + YEAR_S, {"a.py": "a\n"})
    repo.commit(BEGIN, {"a.py": "a\nb\n"})
    rows = measured(repo, tmp_path / "out")
    assert last_of(rows) == Counter({2002: 2})


CHANGES = st.lists(
    st.tuples(
        st.integers(0, 400),  # days since the last commit
        st.lists(st.tuples(st.sampled_from(["a.py", "b.py", "d/c.py"]), st.integers(0, 30)),
                 max_size=3),
    ),
    min_size=1, max_size=8,
)  # fmt: skip


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(CHANGES, st.integers(1, 8), st.sampled_from([1, 30, 200]))
def test_any_history_as_blame_has_it_and_the_same_when_it_goes_on(
    tmp_path_factory: pytest.TempPathFactory,
    changes: list[tuple[int, list[tuple[str, int]]]],
    stop: int,
    interval_days: int,
) -> None:
    """Every line is written once, so that there is one answer."""
    folder = tmp_path_factory.mktemp("any")
    repo, at_s, number = GitRepository(folder / "repo"), BEGIN, 0
    contents: dict[str, list[str]] = {}
    for step, (days, edits) in enumerate(changes):
        at_s += days * 86_400
        for name, where in edits:
            lines = contents.setdefault(name, [])
            at = where % (len(lines) + 1)
            lines[at : at + where % 3] = [f"line {number + new}\n" for new in range(3)]
            number += 3
        repo.commit(at_s, {name: "".join(lines) for name, lines in contents.items()})
        if step + 1 == stop:
            measured(repo, folder / "on", interval_days=interval_days)
    rows = measured(repo, folder / "on", interval_days=interval_days)
    assert rows == measured(repo, folder / "anew", interval_days=interval_days)
    assert +last_of(rows) == repo.blamed(*sorted(contents))


def test_a_count_goes_on_only_from_one_of_the_same(repo: GitRepository, tmp_path: Path) -> None:
    for year in range(3):
        repo.commit(BEGIN + year * YEAR_S, {f"{year}.py": numbered(year)})
    out = tmp_path / "out"
    rows = measured(repo, out)
    assert measured(repo, out, files=["1.py"])[-1][2:] == (2002, 1)
    assert measured(repo, out) == rows
    (out / "progress.npz").write_bytes((out / "progress.npz").read_bytes()[:100])
    assert measured(repo, out) == rows
    repo.git("reset", "-q", "--hard", "HEAD~2")
    repo.commit(BEGIN + 3 * YEAR_S, {"other.py": "x\n"})
    assert last_of(measured(repo, out)) == Counter({2001: 1, 2004: 1})


def test_a_tip_is_counted_though_the_branch_went_on(repo: GitRepository, tmp_path: Path) -> None:
    repo.commit(BEGIN, {"a.py": numbered(1)})
    tip = repo.git("rev-parse", "HEAD").strip()
    repo.commit(BEGIN + YEAR_S, {"a.py": numbered(1, 2)})
    measure_growth(CodeBase("it", str(repo.folder)), tip, tmp_path / "out")
    frame = read_table(tmp_path / "out/lines.parquet", LINES_BY_YEAR)
    assert set(frame["commit"]) == {tip} and list(frame["lines"]) == [1]


def test_what_is_refused(repo: GitRepository, tmp_path: Path) -> None:
    repo.commit(BEGIN, {"a.py": "a\n"})
    repo.commit(BEGIN + 1, {"a.py": "b\n"})
    with pytest.raises(UserError, match=r"not a git repository .* git clone --bare"):
        measure_growth(CodeBase("it", str(tmp_path)), "HEAD", tmp_path / "out")
    with pytest.raises(UserError, match="revision: 'nowhere' given"):
        measured(repo, tmp_path / "out", revision="nowhere")
    with pytest.raises(UserError, match=f"revision: '{'0' * 40}' given"):
        measure_growth(CodeBase("it", str(repo.folder)), "0" * 40, tmp_path / "out")
    shallow = GitRepository(tmp_path / "other")
    shallow.git("fetch", "-q", "--depth", "1", f"file://{repo.folder}", "main")
    shallow.git("reset", "-q", "--hard", "FETCH_HEAD")
    with pytest.raises(UserError, match="git fetch --unshallow"):
        measured(shallow, tmp_path / "out")
    assert not (tmp_path / "out").exists()
