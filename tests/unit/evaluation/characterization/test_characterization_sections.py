"""The chapter about characterized workloads, on runs whose response to settings is known."""

import csv
import json
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from characterized_runs import DEFAULTS, failed, measured, run, table
from experiment_files import inputs
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import TrimtabError, UserError
from trimtab.evaluation.characterization import interactions
from trimtab.evaluation.characterization.distributions import MetricDistributions
from trimtab.evaluation.characterization.levels import TuningLevels
from trimtab.evaluation.characterization.objectives import (
    Objectives,
    configurations_of,
    pareto_front,
)
from trimtab.evaluation.characterization.overview import Overview
from trimtab.evaluation.characterization.section import CHARACTERIZATION
from trimtab.evaluation.characterization.variability import Variability
from trimtab.evaluation.evaluate import evaluate
from trimtab.evaluation.inputs.measurements import Measurements
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.report.section import find_sections
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import CHARACTERIZATION_RUNS

PLATFORM = [{"executors": 2}, {"shuffle_compress": False}]
HYPER = [{"depth": 2}, {"depth": 9}]
EVERY = [{}, *PLATFORM, *HYPER, *({**a, **b} for a, b in product(PLATFORM, HYPER))]
TABLES = (
    *("characterized", "application_metrics", "platform_metrics", "infrastructure_metrics"),
    *("variability", "platform_impact", "hyper_impact", "tuning_levels", "multi_objective"),
    "interactions",
)
FIGURES = {
    *("application_metrics", "platform_metrics", "infrastructure_metrics"),
    *("training_variability", "throughput_variability", "platform_impact", "hyper_impact"),
    *("tuning_levels", "multi_objective", "interactions"),
}


def response(setting: Mapping[str, Any], repeat: int) -> dict[str, float]:
    """Executors halve the time, and depth costs time and brings quality."""
    full = {**DEFAULTS, **setting}
    train_s = full["depth"] * (1 + 0.001 * repeat) / full["executors"]
    return {
        "train_s": train_s,
        "train_s_per_1000_records": train_s / 0.178,
        "quality": 0.7 + 0.02 * full["depth"],
        "price_usd": 0.001 * train_s * (1 + full["executors"]),
    }


def several() -> list[dict[str, Any]]:
    """Three workloads: two methods, two data sets; of one nothing was tried jointly."""
    rows = [*measured(EVERY, response), failed({"executors": 2}, 3)]
    rows += measured(EVERY[:5], response, workload="wine_KM")
    slow = {"train_s_per_1000_records": 1500.0}
    return rows + measured(EVERY, lambda s, r: response(s, r) | slow, workload="iris_DT")


def of(rows: list[dict[str, Any]]) -> Measurements:
    return Measurements(inputs([], []), {"characterize": table(rows)})


def written(rows: list[dict[str, Any]], path: Path) -> Path:
    write_table(path, CHARACTERIZATION_RUNS, table(rows))
    return path


@pytest.fixture(scope="module", autouse=True)
def _few_forests() -> Iterator[None]:
    """What an interval is made of is for test_interactions.py: here it only has to be there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interactions, "_RESAMPLES", 3)
        yield


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    runs = written(several(), folder / "runs.parquet")
    evaluate(inputs([], [], characterize=(runs,)), folder / "report")
    return folder / "report"


def rows_in(report: Path, name: str) -> list[dict[str, str]]:
    with (report / f"tables/{name}.csv").open() as file:
        return list(csv.DictReader(file))


def test_the_report_has_every_figure_of_the_chapter(report: Path) -> None:
    assert {path.stem for path in (report / "figures").iterdir()} == FIGURES
    assert {path.stem for path in (report / "tables").iterdir()} == set(TABLES)
    page = (report / "report.html").read_text()
    assert CHARACTERIZATION.heading in page
    for number in range(1, 11):
        if number not in (5, 10):  # they stand with the figures before them
            assert f"Figure 5.{number}" in page or f"Figures 5.{number}" in page


@pytest.mark.parametrize(
    "name", [name for name in TABLES if name not in ("characterized", "interactions")]
)
def test_published_figures_stand_beside_ours(report: Path, name: str) -> None:
    sources = {row["source"] == "published" for row in rows_in(report, name)}
    assert sources == {True, False}


def test_what_was_characterized(report: Path) -> None:
    first, *_ = rows_in(report, "characterized")
    assert (first["name"], first["method"], first["runs"], first["failed"]) == (
        "wine_DT", "DT", "28", "1"
    )  # fmt: skip
    assert float(first["own_pct"]) == pytest.approx(100 * 0.1 / 4.9)
    metrics = json.loads((report / "metrics.json").read_text())["characterization"]
    assert {key: metrics[key] for key in ("workloads", "data_sets", "methods", "failed")} == {
        "workloads": 3, "data_sets": 2, "methods": 2, "failed": 1
    }  # fmt: skip
    assert metrics["impacts"]["platform"]["train_s"] == {"high": 3, "none": 3}


def test_impacts_in_the_table(report: Path) -> None:
    rows = {
        (row["name"], row["parameter"], row["metric"]): row
        for name in ("platform_impact", "hyper_impact")
        for row in rows_in(report, name)
    }
    row = rows["wine_DT", "executors", "train_s"]
    assert (row["level"], row["impact"]) == ("2", "high")
    assert float(row["change_pct"]) == pytest.approx(-50)
    row = rows["wine_DT", "depth", "quality"]
    assert (row["level"], row["impact"]) == ("9", "high")
    assert float(row["change_pct"]) == pytest.approx(10)


def test_what_joint_tuning_saves_is_told_against_hyperparameters_alone(report: Path) -> None:
    """A quality of 0.8 takes a depth of 9: 9 s on one executor, 4.5 s on two, at 1.5 the price."""
    rows = [row for row in rows_in(report, "multi_objective") if row["name"] == "wine_DT"]
    change = {row["strategy"]: row["price_change_pct"] for row in rows}
    assert change["platform only"] == change["hyper only"] == ""
    assert float(change["joint"]) == pytest.approx(-25, abs=0.1)


def test_quartiles_are_those_of_the_runs() -> None:
    rows = [run({}, repeat, train_s_per_1000_records=float(repeat + 1)) for repeat in range(5)]
    rows += [run({}, workload="digits_LENET5", train_s_per_1000_records=70.0)]
    [mllib, torch] = [
        row
        for row in MetricDistributions(of(rows)).tables[0].ours
        if row["metric"] == "train_s_per_1000_records"
    ]
    assert [mllib[key] for key in ("name", "runs", "low", "p25", "median", "p75", "high")] == [
        "MLlib", 5, 1, 2, 3, 4, 5
    ]  # fmt: skip
    assert (torch["name"], torch["median"]) == ("PyTorch", 70)


def test_values_of_a_task_and_of_the_cpu() -> None:
    rows = [run({}, tasks=4, task_s=2.0, cpu_s=3.0, wall_s=2.0), run({}, 1, tasks=0, cpu_s=None)]
    found = {
        row["metric"]: row for table in MetricDistributions(of(rows)).tables for row in table.ours
    }
    assert (found["task_s"]["median"], found["task_s"]["runs"]) == (0.5, 1)
    assert (found["cpu_cores"]["median"], found["cpu_cores"]["runs"]) == (1.5, 1)
    assert found["energy_j"]["source"] == "modelled"


def test_spread_within_methods_and_data() -> None:
    seconds = {"wine_DT": 1.0, "wine_KM": 10.0, "iris_DT": 1000.0}
    rows = [
        run({}, repeat, workload=name, train_s_per_1000_records=value * (1, 1, 5)[repeat])
        for name, value in seconds.items()
        for repeat in range(3)
    ]
    section = Variability(of(rows))
    found = {(row["name"], row["metric"]): row["spread_decades"] for row in section.tables[0].ours}
    assert found["DT", "train_s_per_1000_records"] == pytest.approx(3)
    assert found["wine", "train_s_per_1000_records"] == pytest.approx(1)
    assert set(found) == {(n, m) for n in ("DT", "wine") for m in (
        "train_s_per_1000_records", "inference_records_per_s")}  # fmt: skip
    said = section.metrics()["characterization"]["spread_decades"]
    assert said["train_s_per_1000_records"] == {
        "same_method": pytest.approx(3), "same_data": pytest.approx(1)
    }  # fmt: skip


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=12))
def test_the_front_is_what_nothing_dominates(costs: list[tuple[int, ...]]) -> None:
    front = pareto_front(np.array(costs, dtype=float))
    for own, is_on in zip(costs, front, strict=True):
        better = [c for c in costs if c != own and all(a <= b for a, b in zip(c, own, strict=True))]
        assert is_on == (not better)


def test_objectives_by_strategy() -> None:
    section = Objectives(of(measured(EVERY, response)))
    by_strategy = {row["strategy"]: row for row in section.tables[0].ours}
    platform, joint = by_strategy["platform only"], by_strategy["joint"]
    # The defaults reach 0.8 at a depth of 5; on a depth of 2 nobody does.
    assert (platform["configurations"], platform["reach_goal"]) == (2, 2)
    assert (joint["configurations"], joint["reach_goal"]) == (4, 2)
    assert platform["train_s"] == pytest.approx(2.5, rel=0.01)
    assert joint["train_s"] == pytest.approx(4.5, rel=0.01)
    assert joint["source"] == "modelled"
    assert configurations_of(table([failed({})])).empty


def test_the_bar_of_joint_tuning() -> None:
    section = TuningLevels(of(several()))
    said = section.metrics()["characterization"]["joint"]
    assert (said["shown"], said["better_or_equal"]) == (2, 2)
    [(_, figure)] = section.key_figures()
    assert figure.change == "2 of 2"


HOSTILE = {
    "one run": [run({})],
    "one repeat": measured(EVERY, response, repeats=1),
    "all failed": [failed(setting, repeat) for setting in EVERY for repeat in range(3)],
    "one level": measured([{}], response),
    "no defaults": measured(EVERY[1:], response),
    "nothing measured": measured(
        EVERY,
        lambda *_: dict.fromkeys(
            name for name in ("quality", "train_s", "tasks", "cpu_s", "own_s", "price_usd")
        ),
    ),
    "zeros": measured(EVERY, lambda *_: dict.fromkeys(("quality", "train_s", "tasks"), 0)),
    "no names": [
        row | {"data": None, "method": None, "engine": None} for row in measured(EVERY, response)
    ],
    "the largest": measured(EVERY, lambda s, _: {"train_s": 1.7e308 if s else 1e-300}),
    "strange names": [
        row | {"workload": "\x1b[2J</script>_DT", "data": "\x00"}
        for row in measured(EVERY, response)
    ],
}


@pytest.mark.parametrize("rows", HOSTILE.values(), ids=HOSTILE)
def test_a_report_of_little_or_of_nonsense(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    runs = written(rows, tmp_path / "runs.parquet")
    measurements = load(inputs([], [], characterize=(runs,)))
    sections = [kind(measurements) for kind in find_sections() if kind.chapter is CHARACTERIZATION]
    for section in sections:
        if section.applies:
            for made in section.tables:
                made.write_csv(tmp_path)
            assert all("<svg" in figure.svg for figure in section.figures)
            json.dumps(section.metrics(), allow_nan=False)
            list(section.key_figures()), list(section.caveats())


def test_nothing_is_shown_of_one_repeat() -> None:
    section = TuningLevels(of(HOSTILE["one repeat"]))
    assert {row.get("verdict") for row in section.tables[0].ours} == {None, "not shown"}
    assert list(section.key_figures()) == []


def test_failures_are_told() -> None:
    [(name, remark)] = Overview(of([run({}), failed({}, 1)])).caveats()
    assert (name, remark) == ("wine_DT", "1 of 2 runs failed, and are passed over.")


def test_values_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    frame = pd.DataFrame([run({}) | {"train_s": float("nan")}])
    columns = [pa.array(frame[name].tolist(), type_) for name, type_ in zip(
        CHARACTERIZATION_RUNS.names, CHARACTERIZATION_RUNS.types, strict=True)]  # fmt: skip
    pq.write_table(pa.table(columns, schema=CHARACTERIZATION_RUNS), tmp_path / "runs.parquet")
    with pytest.raises(TrimtabError, match="train_s: holds what is no number"):
        load(inputs([], [], characterize=(tmp_path / "runs.parquet",)))


def test_runs_that_are_given_twice(tmp_path: Path) -> None:
    runs = written(several(), tmp_path / "runs.parquet")
    with pytest.raises(UserError, match="run of wine_DT / "):
        load(inputs([], [], characterize=(runs, runs)))


def test_a_workload_on_two_engines_is_two(tmp_path: Path) -> None:
    cores = run({"executors": 2}) | {"engine": "local[1]"}  # a parameter, not another engine
    here = written([run({}), cores], tmp_path / "here.parquet")
    there = written([run({}) | {"engine": "spark://127.0.0.1:7077"}], tmp_path / "there.parquet")
    runs = load(inputs([], [], characterize=(here, there))).results["characterize"]
    assert list(runs["workload"]) == [
        *["wine_DT on local"] * 2, "wine_DT on spark://127.0.0.1:7077"
    ]  # fmt: skip
    alone = load(inputs([], [], characterize=(here,))).results["characterize"]
    assert set(alone["workload"]) == {"wine_DT"}
