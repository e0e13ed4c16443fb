"""What stages are worth to the jobs of a trace, on queues that a person can replay."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from trimtab.config.groups.cluster import ClusterConfig
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.jobs.arrivals import ArrivalsConfig
from trimtab.config.groups.jobs.worth import PricesConfig, WorthCells
from trimtab.config.groups.trace import JobClassConfig, TraceConfig
from trimtab.config.stages import WorthStage
from trimtab.errors import TrimtabError, UserError
from trimtab.records.imports.saved_starts import SavedStarts, WorkloadStart
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import TRACE, TRIALS
from trimtab.records.trace_facts import (
    ArrivalCounts,
    MeasuredPair,
    MeasuredWorkload,
    ServiceSource,
    TraceFacts,
)
from trimtab.scheduling.measured import MeasuredClasses
from trimtab.scheduling.worth import ChainInputs, jobs_of, start_of, weigh_chain

GB = 10**9


def workload(environment: str, image_bytes: int, cold_start_s: float) -> MeasuredWorkload:
    return MeasuredWorkload(
        workload="lenet",
        hardware="node",
        environment=environment,
        work_s=(60.0,),
        cold_start_s=cold_start_s,
        image_bytes=image_bytes,
        memory_bytes=1,
        active_w=None,
        energy_source="modelled",
        no_clear_change=(),
    )


ORIGINAL, SLIM = workload("original", 2 * GB, 3.0), workload("debloated", GB // 4, 1.0)


def stage(**cells: object) -> WorthStage:
    arrivals = ArrivalsConfig(kind="poisson", jobs=2, rate_per_s=1.0)
    worth = {"clusters": ["one"], "traces": ["two"], "queue_policies": ["easy"], **cells}
    return WorthStage(
        cluster=ClusterConfig(name="one", nodes={"node": 1}),
        hardware=[
            Hardware(
                name="node",
                cores=1,
                memory_gib=8,
                idle_w=10,
                busy_w=20,
                speed=2.0,
                memory_w_per_gib=0,
                power_source="by hand",
            )
        ],
        trace=TraceConfig(
            name="two",
            arrivals=arrivals,
            classes={"training": JobClassConfig(workload="lenet", environment="debloated")},
        ),
        worth=WorthCells(**worth),
        prices=PricesConfig(energy_eur_per_kwh="0.2"),
    )


def trace_of(path: Path, arrivals_s: list[float], **changed: object) -> Path:
    rows = {
        "job": range(len(arrivals_s)),
        "arrival_s": arrivals_s,
        "job_class": "training",
        "priority": 0,
        "cpu_milli": 1000,
        "gpu_milli": 0,
        "memory_bytes": 0,
        "work_s": 120.0,
        "map_tasks": 0,
        "reduce_tasks": 0,
        "size": 1.0,
        **changed,
    }
    write_table(path, TRACE, pd.DataFrame(rows))
    return path


def inputs(trace: Path, slim: MeasuredWorkload, **searches: list[Path]) -> ChainInputs:
    measured = MeasuredClasses({"training": slim}, {"training": ORIGINAL})
    return ChainInputs(trace, measured, {}, searches)


def figures(document: object) -> Mapping[str, Mapping[str, float]]:
    return {
        each.name: {figure.name: figure.value for figure in each.figures}
        for each in document.settings  # type: ignore[attr-defined]
    }


def test_a_queue_of_two_jobs_by_hand(tmp_path: Path) -> None:
    """One core twice as fast as the reference: each job takes 120 / 2 s, and starts up before."""
    trace = trace_of(tmp_path / "trace.parquet", [0.0, 100.0])
    document = weigh_chain(stage(), inputs(trace, SLIM), tmp_path / "worth")
    # 2 GB: 16 s pulled by 1 Gbit/s, 20 s unpacked at 100 MB/s. Of the slim one an eighth.
    found = figures(document)
    assert document.before.name == "as it is"
    before, after = found["as it is"], found["all stages"]
    assert before["pulled_bytes"] == 2 * GB and after["pulled_bytes"] == GB // 4
    first, second = 36 + 3 + 60, 3 + 60
    assert before["mean_response_s"] == pytest.approx((first + second) / 2)
    assert after["mean_response_s"] == pytest.approx((4.5 + 1 + 60 + 1 + 60) / 2)
    assert found["only slim images"]["mean_response_s"] == pytest.approx((4.5 + 3 + 60 + 63) / 2)
    # 10 W idle until the last end, 10 W more while a job runs.
    idle_s, busy_s = 100 + 63, 120
    assert before["energy_j"] == pytest.approx(10 * idle_s + 10 * busy_s, rel=0.2)
    assert before["eur"] == pytest.approx(before["energy_j"] / 3.6e6 * 0.2)
    assert (tmp_path / "worth/worth.json").is_file()


QUICK = WorkloadStart("lenet", 9, 1.0, 0.2, [(1.0, 0.2), (0.9, 0.2), (1.1, 0.1)], "it writes")


@pytest.mark.parametrize("is_elsewhere", [False, True], ids=["start.json", "measured elsewhere"])
def test_a_saved_start_is_a_quick_start(is_elsewhere: bool, tmp_path: Path) -> None:
    trace = trace_of(tmp_path / "trace.parquet", [0.0, 100.0])
    same = replace(SLIM, cold_start_s=ORIGINAL.cold_start_s)
    given = stage()
    facts = given.trace.classes["training"]
    starts: Mapping[str, WorkloadStart] = {}
    if is_elsewhere:
        path = tmp_path / "pair.json"
        MeasuredPair(source="by hand", original=ORIGINAL, debloated=same, start=QUICK).write(path)
        facts = JobClassConfig(measured=str(path), environment="debloated")
    else:
        path, facts_path = tmp_path / "start.json", tmp_path / "trace.json"
        SavedStarts(target="t", hardware="h", workloads=[QUICK]).write(path)
        TraceFacts(
            trace="two", cluster="one", jobs=0, classes={}, arrivals=ArrivalCounts(1.0, {}),
            skipped={}, original={}, rounds={}, service_source=ServiceSource.PROFILE,
        ).write(facts_path)  # fmt: skip
        starts = ChainInputs.of(trace, facts_path, [path], []).starts
    given = replace(given, trace=replace(given.trace, classes={"training": facts}))
    of_start = replace(inputs(trace, same), starts=starts)
    found = weigh_chain(given, of_start, tmp_path / "worth")
    assert found.stages == ["slim images", "quick starts", "policy"]
    # The second start on the node, of 3 s, takes the pairs' median less: 0.8 of that.
    times = figures(found)
    usual, quick = times["no quick starts"], times["all stages"]
    assert usual["startup_s"] - quick["startup_s"] == pytest.approx(2.4)
    assert usual["mean_response_s"] - quick["mean_response_s"] == pytest.approx(2.4 / 2)
    assert any("from snapshots take 2.40 s less" in remark for remark in found.remarks)


@pytest.mark.parametrize(
    ("whole_run", "cold_start_s", "saved_s"),
    [(False, 3.0, 2.4), (True, 3.0, 0.8 * 63), (True, 0.0, 0.8 * 60), (False, 0.0, 0.8 * 60)],
    ids=["to the mark", "of the whole run", "without a mark", "and from before that was said"],
)
def test_the_share_counts_of_what_the_pairs_measured(
    whole_run: bool, cold_start_s: float, saved_s: float, tmp_path: Path
) -> None:
    trace = trace_of(tmp_path / "trace.parquet", [0.0, 200.0])
    slim = replace(SLIM, cold_start_s=cold_start_s)
    start = replace(QUICK, whole_run=whole_run)
    of_start = replace(inputs(trace, slim), starts={"lenet": start})
    found = weigh_chain(stage(), of_start, tmp_path / "worth")
    assert any(f"take {saved_s:.2f} s less" in remark for remark in found.remarks)


@pytest.mark.parametrize(
    "facts",
    [
        JobClassConfig(workload="lenet"),
        JobClassConfig(workload="lenet", environment="debloated", image_start="start.json"),
        JobClassConfig(workload="other", environment="debloated"),
    ],
    ids=["in the original", "in an image", "of another workload"],
)
def test_no_other_class_has_the_saved_start(facts: JobClassConfig, tmp_path: Path) -> None:
    given = replace(inputs(tmp_path / "trace.parquet", SLIM), starts={"lenet": QUICK})
    assert start_of(facts, given) is None


def test_equal_environments_save_nothing(tmp_path: Path) -> None:
    trace = trace_of(tmp_path / "trace.parquet", [0.0, 100.0, 130.0])
    same = replace(ORIGINAL, environment="debloated")
    document = weigh_chain(stage(), inputs(trace, same), tmp_path / "worth")
    for setting in document.settings:
        assert {each.saving.value for each in setting.figures} == {0.0}


def test_nodes_that_are_switched_off_are_a_stage(tmp_path: Path) -> None:
    trace = trace_of(tmp_path / "trace.parquet", [0.0, 5000.0])
    document = weigh_chain(stage(off_after_s=60.0), inputs(trace, SLIM), tmp_path / "worth")
    found = figures(document)
    assert "only switched nodes" in found
    assert found["only switched nodes"]["energy_j"] < found["as it is"]["energy_j"]
    # The node that was off lost its image, and pulls it again.
    assert found["only switched nodes"]["pulled_bytes"] == 4 * GB


def trials(path: Path, training_s: dict[int, float]) -> Path:
    """Write a search of two trials for each seed: the better one is the one that counts."""
    rows = [
        {"seed": seed, "trial": trial, "score": score, "training_s": took, "epochs": 2}
        for seed, s in training_s.items()
        for trial, score, took in ((0, 0.5, 1.0), (1, 0.9, s))
    ]
    numbers = {name: 1 for name in TRIALS.names if name not in rows[0]}
    texts = {field.name: "" for field in TRIALS if str(field.type) == "string"}
    texts["energy_source"] = "unknown"
    flags = {field.name: False for field in TRIALS if str(field.type) == "bool"}
    frame = pd.DataFrame([{**numbers, **texts, **flags, **row} for row in rows])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_table(path, TRIALS, frame[TRIALS.names])
    return path


@pytest.mark.parametrize(
    ("tuned_s", "share", "said"),
    [
        ({1: 20.0, 2: 22.0, 3: 18.0}, 0.5, "pipetune beside tune_v1: best models train for 0.50"),
        ({1: 20.0, 2: 60.0, 3: 18.0}, None, "no change"),
        ({1: 20.0, 2: 20.0}, None, "seeds to compare: 2, expected 3 or more"),
    ],
    ids=["clear", "the interval contains 1", "two seeds"],
)
def test_tuning_counts_where_its_interval_is_clear(
    tuned_s: dict[int, float], share: float | None, said: str, tmp_path: Path
) -> None:
    plain, tuned = (
        trials(tmp_path / f"{tuner}/short/node/accuracy/trials.parquet", times_s)
        for tuner, times_s in (("tune_v1", {1: 40.0, 2: 40.0, 3: 40.0}), ("pipetune", tuned_s))
    )
    trace = trace_of(tmp_path / "trace.parquet", [0.0, 200.0])
    of_search = inputs(trace, SLIM, short=[plain, tuned])
    document = weigh_chain(stage(tuned={"training": "short"}), of_search, tmp_path / "worth")
    found = figures(document)
    assert any(said in remark for remark in document.remarks)
    assert ("only tuned jobs" in found) == (share is not None)
    if share is not None:
        response_s = found["only tuned jobs"]["mean_response_s"]
        assert response_s == pytest.approx((36 + 3 + 3) / 2 + 60 * share)


def test_jobs_with_gpus_run_as_on_the_first_node_that_has_some(tmp_path: Path) -> None:
    from trimtab.clusters.cluster import Cluster, Level, NodeType

    slow = NodeType("slow", 4000, GB, 0.0, (Level(1.0, 0.0),))
    fast = NodeType("fast", 4000, GB, 0.0, (Level(4.0, 0.0),), gpu_milli=1000)
    cluster = Cluster((slow, fast), (1, 1))
    trace = trace_of(tmp_path / "trace.parquet", [1.0, 2.0], gpu_milli=[0, 1000])
    jobs = jobs_of(trace, cluster)
    assert jobs["run_s"].tolist() == [120.0, 30.0]
    assert jobs["submit_s"].tolist() == [0.0, 1.0]


def test_jobs_of_rounds_are_refused(tmp_path: Path) -> None:
    trace = trace_of(tmp_path / "trace.parquet", [0.0], work_s=None, map_tasks=2)
    with pytest.raises(UserError, match="jobs of rounds; expected classes that name a workload"):
        weigh_chain(stage(), inputs(trace, SLIM), tmp_path / "worth")


def test_a_pair_is_of_one_workload_in_both_environments(tmp_path: Path) -> None:
    pair = MeasuredPair(source="by hand", original=ORIGINAL, debloated=SLIM)
    pair.write(tmp_path / "pair.json")
    assert MeasuredPair.read(tmp_path / "pair.json") == pair
    said = json.loads((tmp_path / "pair.json").read_text())
    said["debloated"] = said["original"]
    (tmp_path / "wrong.json").write_text(json.dumps(said))
    with pytest.raises(TrimtabError, match="not in these environments"):
        MeasuredPair.read(tmp_path / "wrong.json")


def test_a_pair_has_the_saved_start_of_its_own_workload(tmp_path: Path) -> None:
    pair = MeasuredPair(source="by hand", original=ORIGINAL, debloated=SLIM, start=QUICK)
    pair.write(tmp_path / "pair.json")
    assert MeasuredPair.read(tmp_path / "pair.json") == pair
    said = json.loads((tmp_path / "pair.json").read_text())
    said["start"]["workload"] = "other"
    (tmp_path / "wrong.json").write_text(json.dumps(said))
    with pytest.raises(TrimtabError, match="start: another workload"):
        MeasuredPair.read(tmp_path / "wrong.json")
