"""Traces from YAML: rates, measured classes, recorded files, and what is said of them."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from trimtab.config.groups.cluster import ClusterConfig
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.jobs.arrivals import ArrivalsConfig, TraceFormat
from trimtab.config.groups.trace import JobClassConfig, RoundsConfig, TraceConfig, WorkConfig
from trimtab.config.stages import TraceStage
from trimtab.errors import UserError
from trimtab.progress import telling
from trimtab.records.measured_rounds import RoundTimes
from trimtab.records.trace_facts import MeasuredWorkload, ServiceSource, TraceFacts
from trimtab.scheduling.measured import MeasuredClasses, with_rounds
from trimtab.scheduling.trace.arrival_rates import arrival_process, poisson_rates
from trimtab.scheduling.trace.make_trace import frames_of, make_trace
from trimtab.traces.formats.registry import READERS, read_format
from trimtab.traces.table import read_trace

SMALL = Hardware("small", 2, 10.0, 30.0, 0.0, 8.0, "test", speed=2.0)
LARGE = Hardware("large", 4, 20.0, 100.0, 0.0, 16.0, "test")
PAIR = ClusterConfig("pair", {"small": 1, "large": 2})
ORIGINAL = MeasuredWorkload(
    "w", "small", "original", (3.0, 5.0), 1.5, 900, 2**30, 8.0, "modelled", ()
)
SLIM = replace(ORIGINAL, environment="debloated", work_s=(2.0, 4.0), image_bytes=300)


def drawn(**classes: JobClassConfig) -> TraceConfig:
    return TraceConfig("drawn", 3, ArrivalsConfig("poisson", jobs=4000, load=0.5), classes)


def test_the_load_is_of_all_cores_at_their_speed() -> None:
    config = drawn(
        one=JobClassConfig(share=3, cores=2, work=WorkConfig(mean_s=10)),
        other=JobClassConfig(work=WorkConfig(mean_s=4)),
    )
    rates = poisson_rates(TraceStage(PAIR, [SMALL, LARGE], config), {})
    capacity = 2 * 2.0 + 2 * 4 * 1.0
    assert rates["one"] * 2 * 10 + rates["other"] * 4 == pytest.approx(0.5 * capacity)
    assert rates["one"] == pytest.approx(3 * rates["other"])


@pytest.mark.parametrize(
    ("gpus", "memory_gib", "used"),
    [
        (1.0, 1.0, 0.75 * 1 / 4),  # two GPUs of the speed 2
        (1.5, 1.0, 0.75 * 2 / 4),  # more than one are whole ones
        (0.25, 1.0, 0.75 * 0.25 / 4),
        (0.0, 8.0, (0.75 * 8 + 0.25 * 1) / (2 * 8 * 2)),
    ],
)
def test_the_load_is_of_the_scarcest_resource(gpus: float, memory_gib: float, used: float) -> None:
    machine = replace(SMALL, cores=64, gpu_count=1, memory_gib=8.0)
    config = drawn(
        trained=JobClassConfig(
            share=3, gpus=gpus, memory_gib=memory_gib, work=WorkConfig(mean_s=10)
        ),
        served=JobClassConfig(memory_gib=1.0, work=WorkConfig(mean_s=10)),
    )
    pair = ClusterConfig("pair", {"small": 2})
    rates = poisson_rates(TraceStage(pair, [machine], config), {})
    assert sum(rates.values()) * 10 * used == pytest.approx(0.5)
    assert rates["trained"] == pytest.approx(3 * rates["served"])


def test_jobs_of_tasks_load_all_their_cores() -> None:
    rounds = RoundsConfig(map_tasks=4, set_up_s=1, map_task_s=2, distribution="deterministic")
    config = drawn(jobs=JobClassConfig(rounds=rounds, cores=2))
    rates = poisson_rates(TraceStage(PAIR, [SMALL, LARGE], config), {})
    assert rates["jobs"] * 2 * 5 == pytest.approx(0.5 * (2 * 2.0 + 2 * 4 * 1.0))


def test_an_engine_has_one_job_at_a_time() -> None:
    rounds = RoundsConfig(map_tasks=4, set_up_s=1, map_task_s=2, distribution="deterministic")
    config = drawn(jobs=JobClassConfig(rounds=rounds))
    engine = ClusterConfig("engine", {"large": 1}, engine_slots=4)
    assert poisson_rates(TraceStage(engine, [LARGE], config), {})["jobs"] * 3 == pytest.approx(0.5)


CHAIN = [[-0.1, 0.1], [0.3, -0.3]]  # three quarters of the time in the first phase
BURSTS = ArrivalsConfig(
    "modulated", 4000, switching=CHAIN, phase_rates={"one": [1.0, 5.0], "other": [0.0, 2.0]}
)
SAME_IN_MATRICES = ArrivalsConfig(
    "markovian",
    4000,
    transitions=[[-1.1, 0.1], [0.3, -7.3]],
    marked={"one": [[1.0, 0.0], [0.0, 5.0]], "other": [[0.0, 0.0], [0.0, 2.0]]},
)
TWO = {
    "one": JobClassConfig(cores=2, work=WorkConfig(mean_s=10)),
    "other": JobClassConfig(work=WorkConfig(mean_s=4)),
}


@pytest.mark.parametrize("arrivals", [BURSTS, SAME_IN_MATRICES])
def test_modulated_arrivals_have_the_rates_of_their_phases(arrivals: ArrivalsConfig) -> None:
    stage = TraceStage(PAIR, [SMALL, LARGE], TraceConfig("bursts", 3, arrivals, TWO))
    process = arrival_process(stage, {})
    assert process.rates == pytest.approx([0.75 * 1 + 0.25 * 5, 0.25 * 2])
    trace = pd.concat(frames_of(stage, MeasuredClasses(), Counter()))
    assert len(trace) == 4000
    # The share is of many short stays in both phases.
    assert (trace["job_class"] == "one").mean() == pytest.approx(2 / 2.5, abs=0.05)
    gaps_s = np.diff(trace["arrival_s"])
    assert gaps_s.mean() == pytest.approx(1 / 2.5, rel=0.2)
    assert gaps_s.var() / gaps_s.mean() ** 2 > 1.3  # Poisson arrivals: 1


@pytest.mark.parametrize("arrivals", [BURSTS, SAME_IN_MATRICES])
def test_a_load_makes_all_of_a_process_faster(arrivals: ArrivalsConfig) -> None:
    loaded = replace(arrivals, load=0.5)
    own, scaled = (
        arrival_process(TraceStage(PAIR, [SMALL, LARGE], TraceConfig("t", 3, one, TWO)), {})
        for one in (arrivals, loaded)
    )
    capacity = 2 * 2.0 + 2 * 4 * 1.0
    assert scaled.rates @ [2 * 10, 4] == pytest.approx(0.5 * capacity)
    factor = scaled.rates[0] / own.rates[0]
    np.testing.assert_allclose(scaled.hidden, factor * own.hidden)
    np.testing.assert_allclose(scaled.marked, factor * own.marked)


def test_both_environments_meet_the_same_arrivals(tmp_path: Path) -> None:
    tables = []
    for name, measured in (("original", ORIGINAL), ("slim", SLIM)):
        folder = tmp_path / name
        folder.mkdir()
        config = drawn(training=JobClassConfig(workload="w"))
        known = MeasuredClasses({"training": measured}, {"training": ORIGINAL})
        make_trace(TraceStage(PAIR, [SMALL, LARGE], config), known, folder)
        (table,) = read_trace(folder / "trace.parquet")
        tables.append(table)
        facts = TraceFacts.read(folder / "trace.json")
        assert facts.service_source is ServiceSource.PROFILE
        assert (facts.measured, facts.original) == (known.workloads, known.original)
        assert sum(facts.arrivals.classes["training"]) == 4000
        # On the reference node: what the small one, of speed 2, did in that time.
        assert set(table["work_s"]) == {2.0 * work_s for work_s in measured.work_s}
    assert tables[0]["arrival_s"].equals(tables[1]["arrival_s"])
    assert (tables[0]["work_s"] - tables[1]["work_s"]).unique() == pytest.approx([2.0])


def test_measured_rounds_replace_those_of_the_yaml(tmp_path: Path) -> None:
    config = drawn(
        jobs=JobClassConfig(rounds=RoundsConfig(map_tasks=4, map_task_s=2)),
        other=JobClassConfig(work=WorkConfig(mean_s=4)),
    )
    times = RoundTimes(1.0, 7.0, 0.5, 0.0, "deterministic", 0.0)
    trace = with_rounds(config, {"jobs": times})
    rounds = trace.classes["jobs"].rounds
    assert (rounds.map_tasks, rounds.map_task_s, rounds.distribution) == (4, 7.0, "deterministic")
    assert trace.classes["other"] == config.classes["other"]
    engine = ClusterConfig("engine", {"large": 1}, engine_slots=4)
    make_trace(
        TraceStage(engine, [LARGE], config), MeasuredClasses(rounds={"jobs": times}), tmp_path
    )
    facts = TraceFacts.read(tmp_path / "trace.json")
    assert (facts.rounds, facts.service_source) == ({"jobs": times}, ServiceSource.MEASURED_ROUNDS)


def test_a_recorded_trace_says_what_was_left_out(tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    log.write_text(
        "; Version: 2.2\n"
        "1 0 -1 60 2 -1 -1 2 -1 -1 1 1 -1 -1 -1 -1 -1 -1\n"
        "2 5 -1 -1 2 -1 -1 2 -1 -1 1 1 -1 -1 -1 -1 -1 -1\n"
        "3 9 -1 30 1 -1 -1 1 -1 -1 1 1 -1 -1 -1 -1 -1 -1\n"
    )
    arrivals = ArrivalsConfig("file", format="swf", files={"path": [str(log)]})
    stage = TraceStage(PAIR, [SMALL, LARGE], TraceConfig("log", 1, arrivals))
    make_trace(stage, MeasuredClasses(), tmp_path)
    facts = TraceFacts.read(tmp_path / "trace.json")
    assert facts.jobs == 2 and sum(facts.skipped.values()) == 1
    assert facts.service_source is ServiceSource.RECORDED


def _swf(path: Path, processors: list[int]) -> dict[str, list[str]]:
    path.write_text(
        "".join(
            f"{job} {5 * job} -1 60 {count} -1 -1 {count} -1 -1 1 1 -1 -1 -1 -1 -1 -1\n"
            for job, count in enumerate(processors)
        )
    )
    return {"path": [str(path)]}


def test_jobs_that_fit_nowhere_are_left_out(tmp_path: Path) -> None:
    files = _swf(tmp_path / "log.swf", [5, 4, 3, 9])
    stage = TraceStage(
        PAIR,
        [SMALL, LARGE],
        TraceConfig("log", 1, ArrivalsConfig("file", format="swf", files=files)),
    )
    told: list[str] = []
    with telling(told.append):
        make_trace(stage, MeasuredClasses(), tmp_path)
    assert told == ["trace log: left out: 2 rows: asks for more than any node has"]
    facts = TraceFacts.read(tmp_path / "trace.json")
    assert facts.jobs == 2 and facts.skipped == {"asks for more than any node has": 2}
    [trace] = read_trace(tmp_path / "trace.parquet")
    # A whole node's job stays exact, and time counts from the first job that is left in.
    assert trace["cpu_milli"].tolist() == [4000, 3000] and trace["arrival_s"].tolist() == [0, 5]
    assert trace["job"].tolist() == [0, 1]

    # So in the project's own format, on smaller nodes.
    again = tmp_path / "again"
    again.mkdir()
    parquet = {"paths": [str(tmp_path / "trace.parquet")]}
    small = TraceStage(
        ClusterConfig("three", {"three": 1}),
        [replace(SMALL, name="three", cores=3)],
        TraceConfig("own", 1, ArrivalsConfig("file", format="parquet", files=parquet)),
    )
    make_trace(small, MeasuredClasses(), again)
    facts = TraceFacts.read(again / "trace.json")
    assert facts.jobs == 1 and facts.skipped == {"asks for more than any node has": 1}


def test_a_trace_of_which_nothing_is_left(tmp_path: Path) -> None:
    files = _swf(tmp_path / "log.swf", [5, 9])
    arrivals = ArrivalsConfig("file", format="swf", files=files)
    stage = TraceStage(PAIR, [SMALL, LARGE], TraceConfig("log", 1, arrivals))
    with pytest.raises(UserError, match=r"log: no job is left, .*2 rows: asks for more than any"):
        make_trace(stage, MeasuredClasses(), tmp_path)


def test_every_format_of_the_configuration_has_a_reader() -> None:
    assert {*READERS, "parquet"} == set(TraceFormat)


@pytest.mark.parametrize(
    ("files", "options", "expected"),
    [
        ({"paths": ["a"]}, {}, "files: expected path; paths given"),
        ({"path": ["a", "b"]}, {}, "files: path: one file"),
        ({"path": ["a"]}, {"cores": 1}, "options: expected none; cores given"),
    ],
)
def test_tables_and_options_that_a_format_lacks_are_errors(
    files: dict[str, list[str]], options: dict[str, int], expected: str
) -> None:

    with pytest.raises(UserError, match=expected):
        read_format("swf", files, options, Counter())
