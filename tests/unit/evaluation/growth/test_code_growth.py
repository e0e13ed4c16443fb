"""The chapter about growth, of a repository of which git itself tells what is old and stayed."""

import json
from pathlib import Path

import pytest
from experiment_files import inputs
from git_repository import BEGIN, YEAR_S, GitRepository, numbered

from trimtab.config.groups.code_base import CodeBase
from trimtab.errors import UserError
from trimtab.evaluation.evaluate import evaluate
from trimtab.evaluation.growth.code_growth import CodeGrowth
from trimtab.evaluation.inputs.read import load
from trimtab.growth.measure import measure_growth


def counted(repository: GitRepository, name: str, out: Path) -> Path:
    tip = repository.git("rev-parse", "HEAD").strip()
    measure_growth(CodeBase(name, str(repository.folder)), tip, out / name)
    return out / name / "lines.parquet"


@pytest.fixture
def grown(tmp_path: Path) -> GitRepository:
    """Ten lines of 2001, of which three went in 2002 and one changed in 2004; 20 more came."""
    repository = GitRepository(tmp_path / "repository")
    repository.commit(BEGIN, {"old.py": numbered(*range(10))})
    repository.commit(BEGIN + YEAR_S, {"old.py": numbered(*range(3, 10)), "b.py": numbered(50)})
    repository.commit(
        BEGIN + 3 * YEAR_S,
        {"old.py": numbered(99, *range(4, 10)), "new.c": numbered(*range(200, 219))},
    )
    return repository


def test_a_row_says_what_git_says(grown: GitRepository, tmp_path: Path) -> None:
    section = CodeGrowth(load(inputs([], [], growth=(counted(grown, "it", tmp_path),))))
    assert section.applies
    [table] = section.tables
    [row] = table.rows
    years = grown.blamed("old.py", "b.py", "new.c")
    older = sum(lines for year, lines in years.items() if year <= 2002)
    then = sum(grown.blamed("old.py", "b.py", revision="HEAD~1").values())
    assert (row["code_base"], row["since"], row["lines"]) == ("it", 2001, years.total())
    assert row["older_pct"] == pytest.approx(100 * older / years.total())
    assert row["stayed_pct"] == pytest.approx(100 * older / then) == 87.5
    assert row["lines_a_year"] == pytest.approx((years.total() - 10) / 3)
    assert section.metrics() == {"code_lines": {"it": 27}}


def test_the_figure_stacks_the_lines_of_each_sample(grown: GitRepository, tmp_path: Path) -> None:
    section = CodeGrowth(load(inputs([], [], growth=(counted(grown, "it", tmp_path),))))
    [figure] = section.figures
    values = figure.spec["data"]["values"]
    at_end = {one["year"]: one["thousand_lines"] for one in values[-3:]}
    blamed = grown.blamed("old.py", "b.py", "new.c")
    assert at_end == {str(year): lines / 1000 for year, lines in blamed.items()}
    assert values[1] == {**values[0], "year": "2002", "thousand_lines": 0}  # had not come yet


def test_a_code_base_without_a_past(tmp_path: Path) -> None:
    repository = GitRepository(tmp_path / "young")
    repository.commit(BEGIN, {"notes.txt": "no code\n"})
    section = CodeGrowth(load(inputs([], [], growth=(counted(repository, "young", tmp_path),))))
    [row] = section.tables[0].rows
    assert row["lines"] == 0
    assert row["lines_a_year"] is row["older_pct"] is row["stayed_pct"] is None


def test_the_report_has_the_chapter(grown: GitRepository, tmp_path: Path) -> None:
    young = GitRepository(tmp_path / "young")
    young.commit(BEGIN, {"a.py": numbered(1, 2)})
    lines = [counted(grown, "it", tmp_path), counted(young, "young", tmp_path)]
    evaluate(inputs([], [], growth=tuple(lines)), tmp_path / "report")
    page = (tmp_path / "report/report.html").read_text()
    assert "Growth of code bases" in page
    [_, *rows] = (tmp_path / "report/tables/code_growth.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["it", "young"]
    metrics = json.loads((tmp_path / "report/metrics.json").read_text())
    assert metrics["code_lines"] == {"it": 27, "young": 2}


def test_a_code_base_that_is_given_twice(grown: GitRepository, tmp_path: Path) -> None:
    lines = counted(grown, "it", tmp_path)
    with pytest.raises(UserError, match="code base"):
        load(inputs([], [], growth=(lines, lines)))
