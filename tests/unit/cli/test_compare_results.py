"""`trimtab advanced compare`: two results side by side, and what noise alone may have made."""

import json
from pathlib import Path

import experiment_files as files
import pytest
from typer.testing import CliRunner, Result

from trimtab.cli.results.compare import FigureDifference, differences, figures_in
from trimtab.cli.verbs import command_line
from trimtab.errors import UserError

app = command_line()


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["advanced", "compare", *map(str, words)], terminal_width=200)


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """Workspaces of which one is a megabyte more, compressed."""
    first, second = (files.write_debloat(tmp_path / name) for name in "ab")
    return files.weigh(first), files.weigh(second, after_bytes=12_000_000)


def test_only_what_differs_is_shown_unless_asked(two: tuple[Path, Path]) -> None:
    said = run(*two)
    assert said.exit_code == 0
    (row,) = [line for line in said.stdout.splitlines() if "compressed, after" in line]
    assert [cell.strip() for cell in row.strip("│ ").split("│")] == [
        "compressed, after, MB", "11", "12", "+9.1 %",
    ]  # fmt: skip
    assert "on disk, after" not in said.stdout and "17 figures are equal" in said.stdout
    assert "on disk, after, MB" in run(*two, "--all").stdout
    assert "all 18 figures are equal" in run(two[0], two[0]).stdout


def test_scripts_get_json(two: tuple[Path, Path]) -> None:
    (figure,) = json.loads(run(*two, "--json").stdout)["figures"]
    assert figure == {
        "figure": "compressed, after, MB", "first": 11, "second": 12, "clear": True, "once": False,
        "difference_pct": pytest.approx(100 / 11),
    }  # fmt: skip


def test_a_page_has_the_verdicts_and_what_differs(two: tuple[Path, Path], tmp_path: Path) -> None:
    page = tmp_path / "compare.html"
    said = run(*two, "--json", "--html", page)
    assert json.loads(said.stdout)["figures"]
    text = page.read_text()
    assert all(f"{letter}: {folder}</h2>" in text for letter, folder in zip("AB", two, strict=True))
    assert text.count('<tr class="row">') == 1 and ">+9.1 %</td>" in text
    assert "<summary>Sizes<" in text and "<summary>Times<" not in text
    assert text.count('<li class="worse">') == 1
    assert "17 figures are equal in both." in text
    assert "http" not in text.replace("http-equiv", "").replace("http://datatables.net", "")


def test_a_page_sorts_figures_by_their_units_and_names_no_difference_in_noise(
    tmp_path: Path,
) -> None:
    folders = []
    for name, wall in (("a", 3.0), ("b", 4.0)):
        run_cost = {
            "wall_s": wall, "energy_j": 10 * wall, "wall_reduction_pct": wall,
            "wall_reduction_low_pct": 1.0, "wall_reduction_high_pct": 9.0, "runs": wall,
        }  # fmt: skip
        folders.append(tmp_path / name)
        folders[-1].mkdir()
        (folders[-1] / "metrics.json").write_text(json.dumps(run_cost))
    assert run(*folders, "--html", tmp_path / "page.html").exit_code == 0
    text = (tmp_path / "page.html").read_text()
    parts = {part[: part.index("<small>")]: part for part in text.split("<summary>")[1:]}
    found = {name: part.count('<tr class="row">') for name, part in parts.items()}
    assert found == {"Times": 2, "Energy": 1, "All else": 1}
    assert 'data-order="" class="number">no change' in parts["Times"]


def test_an_experiment_has_the_figures_of_its_metrics(tmp_path: Path) -> None:
    metrics = {"targets": {"t": {"before_mb": 40, "equal": True}}, "verified": 1}
    (tmp_path / "metrics.json").write_text(json.dumps(metrics))
    assert figures_in(tmp_path) == {"targets/t/before_mb": 40, "verified": 1}


def test_ranges_of_pairs_that_overlap_are_no_clear_difference() -> None:
    def wall(low: float, middle: float, high: float) -> dict[str, float]:
        names = ("wall_reduction_low_pct", "wall_reduction_pct", "wall_reduction_high_pct")
        return dict(zip(names, (low, middle, high), strict=True))

    first, near, far = wall(-2, 3, 6), wall(5, 7, 9), wall(7, 8, 9)
    assert differences(first, near) == [FigureDifference("wall_reduction_pct", 3, 7, clear=False)]
    assert differences(first, far) == [FigureDifference("wall_reduction_pct", 3, 8)]


def test_intervals_of_replications_that_overlap_are_no_clear_difference() -> None:
    def response(low: float, middle: float, high: float) -> dict[str, float]:
        names = ("np/response_mean_low_s", "np/response_mean_s", "np/response_mean_high_s")
        return dict(zip(names, (low, middle, high), strict=True))

    first, near, far = response(10, 11, 12), response(12, 13, 14), response(12.1, 13, 14)
    assert differences(first, near) == [FigureDifference("np/response_mean_s", 11, 13, clear=False)]
    assert differences(first, far) == [FigureDifference("np/response_mean_s", 11, 13)]


def test_what_only_one_has_is_said_and_nothing_at_all_is_a_mistake() -> None:
    assert differences({"a_s": 1}, {"b_s": 2}) == [
        FigureDifference("a_s", 1, None), FigureDifference("b_s", None, 2),
    ]  # fmt: skip
    assert FigureDifference("a_s", 0, 2).difference_pct is None
    with pytest.raises(UserError, match="neither result has a figure"):
        differences({}, {})
