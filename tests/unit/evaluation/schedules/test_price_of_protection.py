"""What protection costs, from a summary that says what the cell was without it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import schedule_files

from trimtab.evaluation.evaluate import evaluate, merged
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.inputs.schedules import Schedules
from trimtab.evaluation.report.section import ReportSection
from trimtab.evaluation.report.tables import Row
from trimtab.evaluation.schedules.protection import PriceOfProtection
from trimtab.records.summary import CellFigures, Protection, Summary


def of_times(summary: Summary, factor: float, **energy: float) -> CellFigures:
    """The figures of a cell with other response times."""
    classes = {
        name: replace(of, response_mean_s=factor * (of.response_mean_s or 0.0), waste_share=0.125)
        for name, of in summary.classes.items()
    }
    return CellFigures(classes, replace(summary.all, **energy))


def protect(cell: Path) -> None:
    """Have the class `high` of a cell be secure: without it takes half, with it 0.9 to 1.5."""
    summary = Summary.read(cell / "summary.json")
    protection = Protection(
        secure=["high"],
        enclaves={"engine": "sgx1"},
        without=of_times(summary, 0.5, idle_energy_j=100.0, active_energy_j=20.0),
        low=of_times(summary, 0.9, idle_energy_j=140.0, active_energy_j=10.0),
        high=of_times(summary, 1.5, idle_energy_j=200.0, active_energy_j=100.0),
    )
    summary.model_copy(update={"protection": protection}).write(cell / "summary.json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cells of three policies, the second of which has no secure class."""
    folder = tmp_path_factory.mktemp("protected")
    inputs = schedule_files.write_everything(folder)
    for number in (0, 2):
        protect(inputs.files["schedule"][number].parent)
    evaluate(inputs, folder / "out")
    return folder


@pytest.fixture(scope="module")
def found(folder: Path) -> Schedules:
    return load(schedule_files.inputs([], [], schedule=cells(folder))).schedules


def cells(folder: Path) -> tuple[Path, ...]:
    return tuple(folder / "cluster/reference" / policy for policy in ("p", "np", "da_0_20"))


def section(schedules: Schedules) -> ReportSection:
    [found] = [
        one
        for one in schedule_files.schedule_sections(schedules)
        if isinstance(one, PriceOfProtection)
    ]
    return found


def rows(schedules: Schedules, table: str) -> list[Row]:
    return [dict(row) for row in schedule_files.schedule_table(schedules, table).rows]


def test_classes_beside_themselves_without_protection(found: Schedules) -> None:
    table = rows(found, "price_of_protection")
    assert [(row["policy"], row["job_class"], row["secure"]) for row in table] == [
        ("p", "high", True),
        ("p", "low", False),
        ("da_0_20", "high", True),
        ("da_0_20", "low", False),
    ]
    high = table[0]
    assert high["response_mean_s"] == 3.0 and high["response_mean_without_s"] == 1.5
    assert (high["response_mean_low_s"], high["response_mean_high_s"]) == pytest.approx((2.7, 4.5))
    assert high["response_mean_difference_pct"] == pytest.approx(100.0)
    assert high["response_p95_difference_pct"] == 0.0
    assert (high["waste_without_pct"], high["waste_pct"]) == (12.5, 0.0)
    assert {row["source"] for row in table} == {"modelled"}


def test_energy_of_the_cluster_beside_itself(found: Schedules) -> None:
    table = rows(found, "energy_of_protection")
    assert [row["enclaves"] for row in table] == ["engine: sgx1"] * 2
    first, cell = table[0], found.cells[0]
    assert first["total_energy_j"] == cell.total_energy_j
    assert first["total_energy_without_j"] == 120.0
    assert (first["total_energy_low_j"], first["total_energy_high_j"]) == (150.0, 300.0)
    assert first["total_energy_difference_pct"] == pytest.approx(
        100 * ((cell.total_energy_j or 0.0) - 120) / 120
    )


def test_a_class_that_finished_no_job_without_protection_has_no_price(found: Schedules) -> None:
    cell = found.cells[0]
    assert cell.summary.protection
    without = replace(cell.summary.protection.without, classes={})
    protection = replace(cell.summary.protection, without=without)
    summary = cell.summary.model_copy(update={"protection": protection})
    bare = replace(found, cells=(replace(cell, summary=summary),))
    [high, _] = rows(bare, "price_of_protection")
    assert high["response_mean_without_s"] is high["response_mean_difference_pct"] is None
    assert not list(section(bare).figures)


def test_the_page_says_that_it_is_modelled(folder: Path, found: Schedules) -> None:
    page = (folder / "out/report.html").read_text()
    assert "What protection costs, by class" in page and "no enclave ran" in page
    assert "Price of protection (modelled), mean response of high: P" in page
    assert (folder / "out/figures/price_of_protection.svg").is_file()
    [(_, card), *others] = section(found).key_figures()
    assert (card.change, card.detail) == ("+100.0\u00a0%", "1.50 → 3.00 s, against no protection")
    assert others == []


def test_metrics_have_the_price(folder: Path, found: Schedules) -> None:
    metrics = json.loads((folder / "out/metrics.json").read_text())["schedule"]
    key = "cluster/reference/p/high/modelled/response_mean_difference_pct"
    assert metrics[key] == pytest.approx(100.0)
    assert "cluster/reference/p/modelled/total_energy_difference_pct" in metrics
    assert metrics["cluster/reference/p/high/simulated/response_mean_s"] == 3.0
    ours = section(found)
    others = [one for one in schedule_files.schedule_sections(found) if type(one) is not type(ours)]
    theirs = merged(one.metrics() for one in others)
    assert not ours.metrics()["schedule"].keys() & theirs["schedule"].keys()


def test_without_secure_classes_there_is_no_such_section(tmp_path: Path) -> None:
    plain = load(schedule_files.inputs([], [], schedule=tuple(schedule_files.write_dias(tmp_path))))
    assert not section(plain.schedules).applies
