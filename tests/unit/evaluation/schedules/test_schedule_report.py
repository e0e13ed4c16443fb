"""The report with targets and schedules, with schedules alone, and with targets alone."""

import csv
import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import experiment_files as files
import pytest
import schedule_files
from test_evaluate import FIGURES, HOSTILE, TABLES, Page

from trimtab.evaluation.evaluate import evaluate

SIZES = "Sizes before and after"
SCHEDULE_TABLES = ("schedule", "queueing_by_policy", "cluster_energy", "agreement", "deflator")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("schedules")
    return evaluate(schedule_files.write_everything(folder), folder / "out").parent


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("both")
    inputs = files.write_experiment(folder)
    cells = [path / "summary.json" for path in schedule_files.write_dias(folder)]
    inputs = replace(inputs, files={**inputs.files, "schedule": cells})
    return evaluate(inputs, folder / "out").parent


def names(folder: Path, kind: str) -> set[str]:
    return {path.stem for path in (folder / kind).iterdir()}


def test_schedules_alone_have_no_section_of_targets(alone: Path) -> None:
    text = (alone / "report.html").read_text()
    page = Page(text)
    assert names(alone, "tables") == {*SCHEDULE_TABLES, "predictions"}
    for words in (SIZES, "Output equal", "Verification failed", "Library by library", "Targets"):
        assert words not in page.text
    assert page.references == ["#main"]
    for reference in page.references:
        assert f'id="{reference[1:]}"' in text
    assert set(json.loads((alone / "metrics.json").read_text())) == {"schedule"}
    for path in (alone / "figures").iterdir():
        ET.parse(path)


def test_targets_and_schedules_have_both(both: Path) -> None:
    page = Page((both / "report.html").read_text())
    assert names(both, "tables") == {*TABLES, *SCHEDULE_TABLES}
    assert names(both, "figures") >= {*FIGURES, "response_against_baseline"}
    for words in (SIZES, "Output equal", "Gantt charts", "with what the runs above had measured"):
        assert words in page.text
    metrics = json.loads((both / "metrics.json").read_text())
    assert set(metrics) == {"verified", "targets", "workloads", "schedule"}


def test_targets_alone_have_no_section_of_schedules(tmp_path: Path) -> None:
    folder = evaluate(files.write_experiment(tmp_path), tmp_path / "out").parent
    page = Page((folder / "report.html").read_text())
    assert "#schedules" not in page.references
    assert "Schedules" not in page.text
    assert names(folder, "tables") == set(TABLES)
    assert "schedule" not in json.loads((folder / "metrics.json").read_text())


@pytest.mark.parametrize("name", SCHEDULE_TABLES)
def test_the_page_shows_the_values_of_the_csv(alone: Path, name: str) -> None:
    page = Page((alone / "report.html").read_text())
    with (alone / "tables" / f"{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    if name == "deflator":  # candidates that others dominate are in the CSV alone
        rows = [row for row in rows if row["candidate"] != "0"]
    cells = page.cells[name]
    keys = list(dict.fromkeys(key for key, _ in cells))
    assert [value for _, value in cells] == [row[key] for row in rows for key in keys]
    assert {"published"} < {row["source"] for row in rows}


def test_the_page_says_what_was_done_and_what_is_missing(alone: Path) -> None:
    text = Page((alone / "report.html").read_text()).text
    for words in (
        "Trace reference on cluster cluster: 3 jobs of the classes high, low; policies P, NP, "
        "DA(0,20), of which P is the baseline; service times: drawn from the trace's YAML; "
        "energy modelled; simulator kernel, seed 7, 1 replication. Also run for real on spark",
        "reference, bursts: energy of the schedules is modelled, not measured.",
        "simulated once: there are no confidence intervals",
        "Seen only once: energy (modelled), mean response of low, mean response of high.",
        "DA(0,20): Energy (modelled)",
        "Energy (modelled)",
        "Mean response of low",
        "\N{MINUS SIGN}43.6\N{NO-BREAK SPACE}%",
        "19.50 → 11.00 s, against P",
        "Mean response of high",
        "Figure 4.6a, NP, low",
        "\N{MINUS SIGN}20",
        "+133.3\N{NO-BREAK SPACE}%",
        "Formula against simulation, mean response",
        "Heterogeneity of Clusters and Applications, Table 4.2; Spark on 10 workers",
    ):
        assert words in text, words


def test_what_was_not_searched_or_compared_shows_the_published_values(both: Path) -> None:
    text = Page((both / "report.html").read_text()).text
    assert "What the deflator found: not measured here; the published values" in text
    assert "Formula, simulation and real run: not measured here; the published values" in text


def test_a_formula_that_is_not_possible_says_why(tmp_path: Path) -> None:
    folders = schedule_files.write_dias(tmp_path)
    reason = "a sprint budget needs simulation."
    schedule_files.write_formula(folders[2], classes={}, not_possible_because=reason)
    schedule_files.write_real(folders[2], scale=0.1, sprint="by cores")
    report = evaluate(files.inputs([], [], schedule=tuple(folders)), tmp_path / "out")
    text = Page(report.read_text()).text
    assert "reference, DA(0,20): no formula: a sprint budget needs simulation." in text
    assert "scaled by 0.1" in text
    assert "sprinting in the real runs: by cores." in text


def test_rows_left_out_of_a_recorded_trace_are_told(tmp_path: Path) -> None:
    inputs = files.inputs(
        [],
        [],
        schedule=[
            *schedule_files.write_dias(tmp_path),
            schedule_files.write_trace(tmp_path, skipped={"no run time": 1200}),
        ],
    )
    text = Page(evaluate(inputs, tmp_path / "out").read_text()).text
    assert "reference: 1,200 rows of the recorded trace were left out: no run time." in text
    assert "What was left out of recorded traces" in text
    (row,) = csv.DictReader((tmp_path / "out/tables/left_out.csv").read_text().splitlines())
    assert (row["trace"], row["reason"], row["rows"]) == ("reference", "no run time", "1200")
    assert float(row["share_pct"]) == pytest.approx(100 * 1200 / 1203)


def test_names_cannot_break_out_of_the_page(tmp_path: Path) -> None:
    folders = schedule_files.write_dias(tmp_path, cluster=HOSTILE, trace=HOSTILE)
    inputs = files.inputs([], [], schedule=tuple(folders), experiment=HOSTILE)
    text = evaluate(inputs, tmp_path / "out").read_text()
    page = Page(text)
    assert page.scripts == 4
    assert "<script>alert" not in text
    for path in (tmp_path / "out/figures").iterdir():
        ET.parse(path)
