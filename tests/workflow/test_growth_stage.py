"""The growth stage counts a real repository, nothing twice, and goes on where it has grown."""

import shutil
from collections import Counter
from pathlib import Path

import pytest
from git_repository import BEGIN, YEAR_S, GitRepository, numbered
from project import NOTHING_TO_DO, PROJECT, TINY, WORKFLOW, Project

from trimtab.records.parquet.files import read_table
from trimtab.records.tables import LINES_BY_YEAR

COMMAND = ("snakemake", "--cores", "1", "evaluate", "--config", 'overrides=["experiment=grown"]')
EXPERIMENT = "name: grown\ntitle: How it grew\ngrowth: [it]\n"
LINES = "results/growth/it/lines.parquet"


@pytest.fixture
def grown(tmp_path: Path) -> tuple[Project, GitRepository]:
    """A workflow without any environment, whose experiment counts a repository beside it."""
    folder = tmp_path / "project"
    for name in WORKFLOW:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(PROJECT / name)
    shutil.copytree(TINY, folder, dirs_exist_ok=True)
    (folder / "conf/experiment/grown.yaml").write_text(EXPERIMENT)
    (folder / "conf/code_base/it.yaml").write_text("name: it\nlocation: code\n")
    code = GitRepository(folder / "code")
    code.commit(BEGIN, {"old.py": numbered(*range(10)), "notes.txt": "no code\n"})
    code.commit(BEGIN + YEAR_S, {"old.py": numbered(*range(3, 10)), "b.c": numbered(20)})
    return Project(folder), code


@pytest.mark.nightly
def test_it_counts_once_and_again_after_a_commit(grown: tuple[Project, GitRepository]) -> None:
    project, code = grown
    project.succeed(*COMMAND)
    assert at_the_tip(project, code) == code.blamed("old.py", "b.c") == {2001: 7, 2002: 1}
    assert samples(project) == code.git("log", "--reverse", "--format=%H").split()
    page = (project.folder / "results/evaluate/grown/report.html").read_text()
    assert "Growth of code bases" in page

    counted = (project.folder / LINES).stat().st_mtime_ns
    assert NOTHING_TO_DO in project.succeed(*COMMAND)
    assert (project.folder / LINES).stat().st_mtime_ns == counted

    before = samples(project)
    code.commit(BEGIN + 2 * YEAR_S, {"b.c": numbered(20, 21), "new.py": numbered(30)})
    project.succeed(*COMMAND[:3], "growth", *COMMAND[4:])
    assert at_the_tip(project, code) == code.blamed("old.py", "b.c", "new.py")
    assert samples(project) == [*before, code.git("rev-parse", "HEAD").strip()]


def test_a_repository_that_is_not_there_is_told(grown: tuple[Project, GitRepository]) -> None:
    project, code = grown
    shutil.rmtree(code.folder)
    done = project.run(*COMMAND)
    assert done.returncode != 0 and "code: not a git repository" in done.stdout


def at_the_tip(project: Project, code: GitRepository) -> Counter[int]:
    """The lines by year that were counted at the last commit of the repository."""
    frame = read_table(project.folder / LINES, LINES_BY_YEAR)
    assert set(frame["code_base"]) == {"it"}
    last = frame[frame["commit"] == code.git("rev-parse", "HEAD").strip()]
    return Counter(dict(zip(last["year"].tolist(), last["lines"].tolist(), strict=True)))


def samples(project: Project) -> list[str]:
    frame = read_table(project.folder / LINES, LINES_BY_YEAR)
    return list(dict.fromkeys(frame.sort_values("at_s")["commit"]))
