"""Every figure of schedules: the numbers drawn, sound SVG, and none without its data."""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import experiment_files as files
import pandas as pd
import pytest
import schedule_files

from trimtab.evaluation.clusters.migrated_job import first_moved, timeline
from trimtab.evaluation.clusters.nodes import load_values, most_work
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.inputs.schedules import Schedules
from trimtab.evaluation.report.figures import Figure
from trimtab.evaluation.schedules.against_baseline import energy_values
from trimtab.evaluation.schedules.drop_ratios import series
from trimtab.evaluation.schedules.section import PALETTE
from trimtab.evaluation.schedules.traces import arrival_values
from trimtab.files import read_json, write_json
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import LOAD
from trimtab.records.trace_facts import ArrivalCounts

ALL = (
    *("response_against_baseline", "energy_against_baseline", "energy_and_run_time"),
    *("processing_by_drop_ratio", "response_by_drop_ratio", "accuracy_loss"),
    *("arrivals", "load", "probing", "migrated_job"),
    *(f"gantt_cluster_reference_{policy}" for policy in schedule_files.STAYS_OF),
    *(f"gantt_cluster_bursts_{policy}" for policy in ("k8s", "heats_1")),
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Schedules:
    folder = tmp_path_factory.mktemp("schedules")
    return load(schedule_files.write_everything(folder)).schedules


@pytest.fixture(scope="module")
def figures(found: Schedules) -> dict[str, Figure]:
    return {figure.name: figure for figure in schedule_files.schedule_figures(found)}


def of(*paths: Path) -> Schedules:
    """The schedules of these cells and traces alone."""
    return load(files.inputs([], [], schedule=paths)).schedules


def names_of(schedules: Schedules) -> set[str]:
    return {figure.name for figure in schedule_files.schedule_figures(schedules)}


def test_each_figure_is_there_once_and_drawn(figures: dict[str, Figure]) -> None:
    assert tuple(figures) == ALL
    for figure in figures.values():
        ET.fromstring(figure.svg)


@pytest.mark.parametrize("name", ALL)
def test_a_caption_says_what_is_not_measured(figures: dict[str, Figure], name: str) -> None:
    words = ("simulated", "modelled", "curve", "before any policy")
    assert any(word in figures[name].caption.lower() for word in words)


def test_bare_cells_have_neither_differences_nor_drops(tmp_path: Path) -> None:
    folders = schedule_files.write_dias(tmp_path)[1:2]
    names = names_of(of(*folders))
    assert names == {"load", "energy_and_run_time", "gantt_cluster_reference_np"}


def test_no_samples_and_unknown_energy_leave_their_figures_out(tmp_path: Path) -> None:
    folder = schedule_files.write_dias(tmp_path)[1]
    empty = LOAD.empty_table().to_pandas()
    write_table(folder / "load.parquet", LOAD, empty)
    summary = read_json(folder / "summary.json")
    summary["all"]["active_energy_j"] = None
    write_json(folder / "summary.json", summary)
    assert names_of(of(folder)) == {"gantt_cluster_reference_np"}


def test_latency_bars_are_the_differences_of_the_table(figures: dict[str, Figure]) -> None:
    values = files.values_in(figures["response_against_baseline"].spec)
    found = {
        (v["policy"], v["bar"]): v["difference_pct"]
        for v in values
        if "bar" in v and v["policy"] in ("NP", "HEATS, H = 1")
    }
    assert found["NP", "high, mean"] == pytest.approx(200)
    assert found["NP", "low, mean"] == pytest.approx(100 * (14 - 19.5) / 19.5)
    assert found["NP", "low, 95th percentile"] == pytest.approx(100 * (18 - 22) / 22)
    assert found["HEATS, H = 1", "low, mean"] == pytest.approx(100 * (372.6 - 69) / 69)
    assert "Baseline P, mean / 95th percentile: high 3.000 / 3.000 s; low 19.5 / 22.0 s" in str(
        figures["response_against_baseline"].spec
    )


def test_energy_bars_are_the_differences_of_the_table(found: Schedules) -> None:
    values = {v["policy"]: v["difference_pct"] for v in energy_values(found.settings[0])}
    assert values == pytest.approx({"NP": -100 * 120 / 810, "DA(0,20)": -100 * 240 / 810})


def test_without_a_baseline_there_is_no_latency_figure(tmp_path: Path) -> None:
    folders = schedule_files.write_dias(tmp_path, baseline=False)
    assert not names_of(of(*folders)) & {"response_against_baseline", "energy_against_baseline"}


def test_drop_ratios_are_compared_among_policies_that_do_not_evict(found: Schedules) -> None:
    ((title, cells),) = series(found.settings[0])
    assert (title, [cell.label for cell in cells]) == ("reference", ["NP", "DA(0,20)"])


def test_drop_figures_hold_model_simulation_and_real_run(figures: dict[str, Figure]) -> None:
    def points(name: str, job_class: str, measure: str) -> set[tuple[str, float, float]]:
        return {
            (v["way"], v["drop_ratio"], v["seconds"])
            for v in files.values_in(figures[name].spec)
            if v["job_class"] == job_class and v["measure"] == measure
        }

    assert points("processing_by_drop_ratio", "low", "mean") == {
        ("simulated", 0.0, 10.0),
        ("simulated", 0.2, 8.0),
        ("formula", 0.2, 8.0),
        ("real", 0.2, 10.0),
    }
    assert points("processing_by_drop_ratio", "high", "mean") == set()
    assert points("response_by_drop_ratio", "high", "95th percentile") == {
        ("simulated", 0.0, 9.0),
        ("simulated", 0.2, 7.0),
        ("formula", 0.2, 7.7),
        ("real", 0.2, 8.0),
    }


def test_policies_without_drops_have_no_drop_figures(tmp_path: Path) -> None:
    names = names_of(of(*schedule_files.write_heats(tmp_path)))
    assert not names & {"processing_by_drop_ratio", "response_by_drop_ratio"}


def test_a_long_load_is_thinned_evenly(tmp_path: Path) -> None:
    folder = schedule_files.write_dias(tmp_path)[0]
    rows = pd.DataFrame([schedule_files.load_row(float(i), i / 1000) for i in range(1000)])
    write_table(folder / "load.parquet", LOAD, rows)
    values = load_values(of(folder).cells[0])
    assert len(values) == 2 * 250
    assert [v["time_s"] for v in values[:3]] == [0, 4, 8]
    assert values[2]["p75"] == pytest.approx(0.75 * 8 / 1000)


def test_a_load_that_allocations_is_told_by_its_ends(tmp_path: Path) -> None:
    folder = schedule_files.write_dias(tmp_path)[0]
    load = (0.1, 0.5, 0.5, 0.5, 0.5, 0.2)
    rows = [schedule_files.load_row(float(time), share) for time, share in enumerate(load)]
    write_table(folder / "load.parquet", LOAD, pd.DataFrame(rows))
    values = load_values(of(folder).cells[0])
    assert [v["time_s"] for v in values if v["part"] == "CPU"] == [0, 1, 4, 5]


def test_energy_bars_add_idle_and_active(figures: dict[str, Figure]) -> None:
    values = files.values_in(figures["energy_and_run_time"].spec)
    found = {(v["policy"], v["kind"]): v["energy_kj"] for v in values if "kind" in v}
    assert found["P", "idle"] == pytest.approx(0.27)
    assert found["P", "active"] == pytest.approx(0.54)
    assert {v["policy"]: v["makespan_s"] for v in values if "makespan_s" in v}["NP"] == 23


def test_arrivals_are_summed_into_fewer_bins(tmp_path: Path) -> None:
    counts = list(range(1000))
    path = schedule_files.write_trace(
        tmp_path, arrivals=ArrivalCounts(2.0, {"low": counts, "high": [1]})
    )
    folder = schedule_files.write_dias(tmp_path)[0]
    (trace,) = of(folder, path).traces
    values = arrival_values(trace)
    assert sum(v["jobs"] for v in values) == sum(counts) + 1
    second = next(v for v in values if v["job_class"] == "low" and v["time_s"] == 6)
    assert second == {"time_s": 6.0, "end_s": 12.0, "job_class": "low", "jobs": 3 + 4 + 5}


def test_a_class_has_one_colour_in_every_figure(figures: dict[str, Figure]) -> None:
    def colour_of_low(spec: Any) -> set[str]:
        if isinstance(spec, list):
            return set().union(*map(colour_of_low, spec))
        if not isinstance(spec, dict):
            return set()
        own = set()
        if spec.get("field") == "job_class" and "scale" in spec:
            scale = spec["scale"]
            own = {scale["range"][scale["domain"].index("low")]}
        return own | set().union(*map(colour_of_low, spec.values()))

    of_reference = [n for n in ALL if n.startswith("gantt_cluster_reference")]
    for name in (
        "arrivals",
        "processing_by_drop_ratio",
        "response_by_drop_ratio",
        "accuracy_loss",
        *of_reference,
    ):
        assert colour_of_low(figures[name].spec) == {PALETTE[1]}, name


def test_one_trace_on_two_clusters_has_two_panels(tmp_path: Path) -> None:
    folders = [
        schedule_files.write_dias(tmp_path / name, cluster=name)[0] for name in ("small", "large")
    ]
    traces = tuple(
        schedule_files.write_trace(tmp_path / name, cluster=name) for name in ("small", "large")
    )
    drawn = schedule_files.schedule_figures(of(*folders, *traces))
    figures = {figure.name: figure for figure in drawn}
    for name in ("arrivals", "accuracy_loss"):
        titles = [panel["title"] for panel in figures[name].spec["vconcat"]]
        assert titles == ["reference on small", "reference on large"]


def test_a_trace_without_arrivals_or_losses_has_no_figures(tmp_path: Path) -> None:
    path = schedule_files.write_trace(tmp_path, arrivals=ArrivalCounts(1.0, {}), classes={}, jobs=0)
    folder = schedule_files.write_dias(tmp_path)[0]
    names = names_of(of(folder, path))
    assert not names & {"arrivals", "accuracy_loss"}


def test_nodes_are_compared_at_the_most_work_that_all_did() -> None:
    shown = most_work(schedule_files.PROBES)
    assert [(node_type, p.level, p.cores, p.work) for node_type, p in shown] == [
        ("server", 1, 2, 750),
        ("server", 1, 1, 750),
        ("server", 0, 2, 750),
        ("board", 0, 1, 750),
    ]


def test_what_no_other_node_did_is_shown_all_the_same() -> None:
    alone = {
        node_type: [probe for probe in probes if probe.work != 750]
        for node_type, probes in schedule_files.PROBES.items()
    }
    assert len(most_work(alone)) == 2


def test_probes_name_their_sources(figures: dict[str, Figure]) -> None:
    assert "Energy is measured and modelled" in figures["probing"].caption
    values = files.values_in(figures["probing"].spec)
    assert len(values) == 4 + 4


def test_a_job_that_moved_is_shown_beside_its_baseline(found: Schedules) -> None:
    moved = first_moved(found.settings[1])
    assert moved and moved.job == 0
    assert [cell.label for cell in moved.cells] == ["Kubernetes", "HEATS, H = 1"]
    bars = timeline(moved.cells[1], 0)
    assert [(b["node"], b["from_s"], b["to_s"]) for b in bars] == [
        ("server 0", 0.0, 1.0),
        ("server 0", 1.0, 30.0),
        ("board 1", 30.0, 31.0),
        ("board 1", 31.0, 372.6),
    ]
    assert [b["said"] for b in bars] == ["", "", "", "372.6 s, 373 J"]
    assert timeline(moved.cells[0], 0)[-1]["said"] == "69.0 s, 565 J"


def test_nothing_moved_nothing_shown(found: Schedules) -> None:
    assert first_moved(found.settings[0]) is None


def test_marks_of_the_gantt_chart_are_the_ends_that_did_not_finish(
    figures: dict[str, Figure],
) -> None:
    for name, end, at_s in (
        ("gantt_cluster_reference_p", "evicted", 4.0),
        ("gantt_cluster_bursts_heats_1", "migrated", 30.0),
    ):
        ends = [
            (v["end"], v["to_s"])
            for v in files.values_in(figures[name].spec)
            if v.get("end") not in (None, "", "finished")
        ]
        assert set(ends) == {(end, at_s)}
