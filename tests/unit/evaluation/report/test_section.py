"""A section is in tables, figures, page and metrics because its module is there."""

import csv
import json
import sys
from collections import Counter
from pathlib import Path

import experiment_files as files
import pytest
import schedule_files

import trimtab.evaluation.runs
from trimtab.evaluation.evaluate import evaluate
from trimtab.evaluation.inputs.measurements import Measurements
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.report.section import ReportSection, find_sections

# Between the run cost (400) and the epochs (410), and a chapter of its own at the end.
MODULE = """
from functools import cached_property

from trimtab.evaluation.report.section import RUNS
from trimtab.evaluation.report.key_figures import KeyFigure
from trimtab.evaluation.report.section import Chapter, TargetSection
from trimtab.evaluation.report.tables import Column, Table


class Weather(TargetSection):
    order = 405
    chapter = RUNS

    @cached_property
    def tables(self):
        rows = tuple({"name": target.label, "rain_mm": 7} for target in self.measurements.targets)
        columns = (Column("name", "Target"), Column("rain_mm", "Rain, mm", 1))
        return (Table("weather", "The weather", "Rain while it ran.", columns, rows),)

    def key_figures(self):
        yield "lenet5_train", KeyFigure("Rain", "7 mm", "all day")

    def caveats(self):
        yield "lenet5_train", "nobody looked out of the window."

    def metrics(self):
        return {"targets": {"lenet5_train": {"rain_mm": 7}}}


class Climate(TargetSection):
    order = 10_000
    chapter = Chapter("climate", "What lasts", "Climate")

    @property
    def applies(self):
        return super().applies and not self.measurements.have_gpu_code
"""


@pytest.fixture
def weather(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module more in one of the folders of sections."""
    (tmp_path / "sections").mkdir()
    (tmp_path / "sections" / "weather.py").write_text(MODULE)
    package = trimtab.evaluation.runs
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path / "sections")])
    monkeypatch.delitem(sys.modules, f"{package.__name__}.weather", raising=False)


@pytest.mark.usefixtures("weather")
def test_a_module_more_is_a_section_more(tmp_path: Path) -> None:
    report = evaluate(files.write_experiment(tmp_path), tmp_path / "out")
    with (tmp_path / "out/tables/weather.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["name", "rain_mm"], ["lenet5_train", "7"]]
    page = report.read_text()
    places = [
        "<h3>Run-time performance<small>as in Table 5 of The Hidden Bloat",
        "<h3>The weather</h3>",
        "<h3>Epochs and energy</h3>",
    ]
    assert sorted(places, key=page.index) == places
    for text in (
        "<span>Rain</span><b>7 mm</b>",
        "lenet5_train: nobody looked out of the window.",
        '<a href="#climate">Climate</a></nav>',
        '<h2 id="climate">What lasts</h2>',
    ):
        assert (text in page) is ("limate" not in text)  # it has nothing to show
    metrics = json.loads((tmp_path / "out/metrics.json").read_text())
    assert metrics["targets"]["lenet5_train"]["rain_mm"] == 7
    assert metrics["targets"]["lenet5_train"]["libraries"] == 4


@pytest.mark.usefixtures("weather")
def test_a_section_that_does_not_apply_leaves_no_trace(tmp_path: Path) -> None:
    page = evaluate(files.write_gpu_experiment(tmp_path), tmp_path / "out").read_text()
    assert "The weather" in page and "climate" not in page


def sections_of(measurements: Measurements) -> list[ReportSection]:
    sections = [kind(measurements) for kind in find_sections()]
    return [section for section in sections if section.applies]


def test_no_two_sections_share_a_place_or_a_name(tmp_path: Path) -> None:
    kinds = find_sections()
    assert max(Counter(kind.order for kind in kinds).values()) == 1
    for inputs in (
        files.write_gpu_experiment(tmp_path / "targets"),
        schedule_files.write_everything(tmp_path / "schedules"),
    ):
        sections = sections_of(load(inputs))
        tables = [table.name for section in sections for table in section.tables]
        figures = [figure.name for section in sections for figure in section.figures]
        assert len(set(tables)) == len(tables) > 0
        assert len(set(figures)) == len(figures) > 0


def test_a_chapter_stands_together() -> None:
    chapters = [kind.chapter for kind in find_sections() if kind.chapter]
    assert chapters == sorted(chapters, key=chapters.index)


def test_sections_of_targets_are_not_in_a_report_of_schedules(tmp_path: Path) -> None:
    sections = sections_of(load(schedule_files.write_everything(tmp_path)))
    assert {type(section).__module__.split(".")[2] for section in sections} == {
        "schedules",
        "clusters",
    }
