"""Small, consistent files of the schedule stage, with numbers to compute by hand.

One engine serves two low jobs of 10 s (arriving at 0 and 5 s) and one high job of 3 s (at 4 s).
P evicts the first low job after 4 s, NP does not, and DA(0,20) drops a fifth of the low jobs.
"""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd
from experiment_files import inputs

from trimtab.config.groups.hardware import EnergySource, FrequencyLevel, Hardware, Probe
from trimtab.evaluation.inputs.measurements import EvaluationInputs, Measurements
from trimtab.evaluation.inputs.schedules import Schedules
from trimtab.evaluation.report.figures import Figure
from trimtab.evaluation.report.section import ReportSection, find_sections
from trimtab.evaluation.report.tables import Table
from trimtab.evaluation.schedules.section import ScheduleSection
from trimtab.records.deflator_search import DeflatorCandidate, DeflatorSearch, SimulatedResponse
from trimtab.records.figures import (
    ClassFigures,
    JobFigures,
    PredictedRuns,
    PredictionErrors,
    ResponseFigures,
    TotalFigures,
)
from trimtab.records.parquet.files import write_table
from trimtab.records.summary import FormulaResponse, JobErrors, RealRun, Summary
from trimtab.records.tables import ALLOCATIONS, LOAD, NODES, SCHEDULED
from trimtab.records.trace_facts import ArrivalCounts, ClassFacts, ServiceSource, TraceFacts

IDLE_W, BUSY_W = 10.0, 20.0  # BUSY_W comes on top of IDLE_W
CLASS = {0: "low", 1: "high", 2: "low"}
PRIORITY = {"low": 1, "high": 2}
ARRIVAL_S = {0: 0.0, 1: 4.0, 2: 5.0}

# Policy: its label, and the allocations of the three jobs (job, start, end, how it ended).
STAYS_OF = {
    "p": (
        "P",
        [
            (0, 0, 4, "evicted"),
            (1, 4, 7, "finished"),
            (0, 7, 17, "finished"),
            (2, 17, 27, "finished"),
        ],
    ),
    "np": ("NP", [(0, 0, 10, "finished"), (1, 10, 13, "finished"), (2, 13, 23, "finished")]),
    "da_0_20": (
        "DA(0,20)",
        [(0, 0, 8, "finished"), (1, 8, 11, "finished"), (2, 11, 19, "finished")],
    ),
}


def allocation(job: int, start_s: float, end_s: float, end: str, **changes: Any) -> dict[str, Any]:
    """A row of STAYS, with a second of set-up."""
    return {
        "job": job,
        "node": 0,
        "level": 0,
        "cpu_milli": 2000,
        "start_s": float(start_s),
        "ready_s": start_s + 1.0,
        "end_s": float(end_s),
        "end": end,
    } | changes


def scheduled(job: int, allocations: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    """The row of SCHEDULED that follows from a job's allocations."""
    *thrown_away, last = allocations
    wasted = sum(s["end_s"] - s["start_s"] for s in thrown_away if s["end"] == "evicted")
    return {
        "job": job,
        "job_class": CLASS.get(job, "low"),
        "priority": PRIORITY[CLASS.get(job, "low")],
        "arrival_s": ARRIVAL_S.get(job, 0.0),
        "start_s": allocations[0]["start_s"],
        "finish_s": last["end_s"],
        "response_s": last["end_s"] - ARRIVAL_S.get(job, 0.0),
        "execution_s": last["end_s"] - last["start_s"],
        "wasted_s": wasted,
        "set_up_s": float(len(allocations)),
        "sprint_s": 0.0,
        "dropped_tasks": 0,
        "evictions": sum(s["end"] == "evicted" for s in allocations),
        "migrations": sum(s["end"] == "migrated" for s in allocations),
        "node": last["node"],
        "level": last["level"],
        "energy_j": BUSY_W * sum(s["end_s"] - s["start_s"] for s in allocations),
    } | changes


def of_class(jobs: pd.DataFrame, **changes: Any) -> ClassFigures:
    """The figures of one class in summary.json."""
    response = jobs["response_s"]
    busy = jobs["execution_s"].sum() + jobs["wasted_s"].sum()
    figures = {
        "priority": int(jobs["priority"].iloc[0]),
        "jobs": len(jobs),
        "response_mean_s": float(response.mean()),
        "response_p50_s": float(response.median()),
        "response_p95_s": float(response.max()),
        "response_p99_s": float(response.max()),
        "waiting_mean_s": float((response - jobs["execution_s"]).mean()),
        "execution_mean_s": float(jobs["execution_s"].mean()),
        "set_up_mean_s": float(jobs["set_up_s"].mean()),
        "waste_share": float(jobs["wasted_s"].sum() / busy),
        "evictions": int(jobs["evictions"].sum()),
        "migrations": int(jobs["migrations"].sum()),
        "sprint_s": 0.0,
        "dropped_tasks": 0,
        "energy_j": float(jobs["energy_j"].sum()),
    }
    return ClassFigures(**figures | changes)


def load_row(time_s: float, share: float) -> dict[str, Any]:
    """A row of LOAD in which the most loaded node is at `share` and the least at none."""
    ranks = (0, 25, 50, 75, 100)
    parts = {f"{part}_p{rank}": share * rank / 100 for part in ("cpu", "memory") for rank in ranks}
    return {"time_s": time_s, "pending": 0, "running": 1, "power_w": IDLE_W} | parts


def write_cell(
    folder: Path,
    policy: str,
    label: str,
    allocations: list[dict[str, Any]],
    nodes: tuple[str, ...] = ("engine",),
    jobs: dict[int, dict[str, Any]] | None = None,
    classes: dict[str, dict[str, Any]] | None = None,
    trace: str = "reference",
    **summary: Any,
) -> Path:
    """Write one cell of cluster "cluster"; `jobs` and `classes` change what follows from
    allocations.
    """
    frame = pd.DataFrame(allocations)
    rows = [
        scheduled(job, [s for s in allocations if s["job"] == job], **(jobs or {}).get(job, {}))
        for job in sorted(set(frame["job"]))
    ]
    done = pd.DataFrame(rows).sort_values("finish_s")
    makespan_s = float(frame["end_s"].max())
    lasted = frame["end_s"] - frame["start_s"]
    node_rows = [
        {
            "node": number,
            "hardware": name,
            "cpu_milli": 4000,
            "memory_bytes": 1 << 30,
            "busy_core_s": float(2 * lasted[frame["node"] == number].sum()),
            "down_s": 0.0,
            "idle_energy_j": IDLE_W * makespan_s,
            "active_energy_j": float(BUSY_W * lasted[frame["node"] == number].sum()),
            "busy_gpu_s": 0.0,
            "free_gpu_s": 0.0,
            "fragmented_gpu_s": 0.0,
        }
        for number, name in enumerate(nodes)
    ]
    write_table(folder / "jobs.parquet", SCHEDULED, done)
    write_table(folder / "allocations.parquet", ALLOCATIONS, frame)
    write_table(folder / "nodes.parquet", NODES, pd.DataFrame(node_rows))
    load = pd.DataFrame([load_row(0.0, 0.5), load_row(10.0, 1.0)])
    write_table(folder / "load.parquet", LOAD, load)
    of_all = {field.name: getattr(of_class(done), field.name) for field in fields(JobFigures)}
    repeated = any("response_mean_s_half_width_99" in of for of in (classes or {}).values())
    document = {
        "cluster": "cluster",
        "trace": trace,
        "policy": policy,
        "policy_label": label,
        "baseline": False,
        "simulator": "kernel",
        "seed": 7,
        "offered_load": 0.5,
        "load": 0.5,
        "unstable_because": "",
        "classes": {
            name: of_class(of_it, **(classes or {}).get(name, {}))
            for name, of_it in done.groupby("job_class")
        },
        "all": TotalFigures(
            **of_all,
            makespan_s=makespan_s,
            utilisation=0.5,
            gpu_utilisation=None,
            gpu_fragmentation=None,
            idle_energy_j=float(sum(row["idle_energy_j"] for row in node_rows)),
            active_energy_j=float(done["energy_j"].sum()),
            unfinished=0,
            replications=2 if repeated else 1,
        ),
        "energy_source": "modelled",
        "service_source": ServiceSource.DRAWN,
        "protection": None,
    }
    Summary(**document | summary).write(folder / "summary.json")
    return folder


def write_dias(folder: Path, **changes: Any) -> list[Path]:
    """Write the three policies, P as the baseline; DA(0,20) with 99 % intervals of 0.5 s."""
    folders = []
    for policy, (label, allocations) in STAYS_OF.items():
        low = {"drop_ratio": 0.2, "accuracy_loss_pct": 15.0} if policy == "da_0_20" else {}
        half = {"response_mean_s_half_width_99": 0.5} if policy == "da_0_20" else {}
        folders.append(
            write_cell(
                folder / "cluster/reference" / policy,
                policy,
                label,
                [allocation(*of_job) for of_job in allocations],
                classes={"low": low | half, "high": half},
                **{"baseline": policy == "p"} | changes,
            )
        )
    return folders


def formula(**changes: float | None) -> ResponseFigures:
    """The figures of one class in formula.json."""
    keys = ("response_p50_s", "response_p99_s", "waiting_mean_s", "waste_share")
    return ResponseFigures(**dict.fromkeys(keys, 1.0) | changes)


def write_formula(cell: Path, **changes: Any) -> None:
    """Write formulas for DA(0,20): a low mean inside, a high mean outside the interval."""
    classes = {
        "low": formula(response_mean_s=11.22, response_p95_s=15.4, execution_mean_s=8.0),
        "high": formula(response_mean_s=6.3, response_p95_s=7.7, execution_mean_s=3.0),
    }
    document = {"model": "task", "classes": classes}
    FormulaResponse(**document | changes).write(cell / "formula.json")


def write_real(cell: Path, **changes: Any) -> None:
    """Write a real run of DA(0,20) whose low jobs responded in 10 and 12.5 s, the high one in 8."""
    rows = [
        scheduled(job, [allocation(job, 0, 10, "finished")], response_s=response_s)
        for job, response_s in ((0, 10.0), (1, 8.0), (2, 12.5))
    ]
    done = pd.DataFrame(rows)
    write_table(cell / "real.parquet", SCHEDULED, done)
    document = {
        "platform": "spark local[2]",
        "scale": 1.0,
        "machine": "2 cores",
        "load_average_before": 0.0,
        "sprint": "",
        "energy_source": "",
        "per_job": JobErrors(0, None, None),
        "classes": {name: of_class(of_it) for name, of_it in done.groupby("job_class")},
    }
    RealRun(**document | changes).write(cell / "real.json")


ERRORS = PredictionErrors(
    of=PredictedRuns.JOBS,
    task="low",
    node_type="board",
    runs=3,
    run_time_s=40.0,
    energy_j=820.0,
    power_w=20.5,
    run_time_error_pct=18.0,
    energy_error_pct=15.0,
    power_error_pct=2.5,
)


def write_heats(folder: Path) -> list[Path]:
    """Write k-means that stays on a server (k8s) and that moves to a small board (H = 1)."""
    at = folder / "cluster/bursts"
    nodes = ("server", "board")
    allocations = {
        "k8s": [allocation(0, 0, 69, "finished")],
        "heats_1": [allocation(0, 0, 30, "migrated"), allocation(0, 30, 372.6, "finished", node=1)],
    }
    energy_j = {"k8s": 565.0, "heats_1": 372.9}
    return [
        write_cell(
            at / policy,
            policy,
            {"k8s": "Kubernetes", "heats_1": "HEATS, H = 1"}[policy],
            of_job,
            nodes,
            {0: {"energy_j": energy_j[policy]}},
            trace="bursts",
            baseline=policy == "k8s",
            predictions=[ERRORS] if policy == "heats_1" else [],
        )
        for policy, of_job in allocations.items()
    ]


def write_deflator(folder: Path, **changes: Any) -> Path:
    """Write a search of three candidates: one infeasible, one of the Pareto set, one chosen."""

    def candidate(theta: float, low_s: float, **flags: bool) -> DeflatorCandidate:
        return DeflatorCandidate(
            drop_ratio={"high": 0.0, "low": theta},
            timeout_s={"high": 65.0, "low": None},
            response_mean_s={"high": 7.0, "low": low_s},
            response_p95_s={"high": 7.0, "low": 2 * low_s},
            accuracy_loss_pct={"high": 0.0, "low": 100 * theta},
            energy_j_per_job=300.0,
            sprint_share=0.0,
            **{"feasible": True} | flags,
        )

    path = folder / "cluster/reference/deflator_least_latency.json"
    document = {
        "objective": "least_latency",
        "cluster": "cluster",
        "trace": "reference",
        "classes": ["high", "low"],
        "rows": [
            candidate(0.0, 14.0, feasible=False),
            candidate(0.1, 12.0, pareto=True),
            candidate(0.2, 11.0, pareto=True, chosen=True),
        ],
        "confirmed": SimulatedResponse({"high": 7.0, "low": 10.0}, {"high": 7.0, "low": 20.0}),
    }
    DeflatorSearch(**document | changes).write(path)
    return path


def write_trace(folder: Path, **changes: Any) -> Path:
    """Write the facts of the trace: three jobs in bins of 4 s, and one curve of accuracy."""
    path = folder / "cluster/reference/trace.json"
    document = {
        "trace": "reference",
        "cluster": "cluster",
        "skipped": {},
        "jobs": 3,
        "classes": {
            "high": ClassFacts(1, 0.1, 3.0, [], None),
            "low": ClassFacts(2, 0.2, 10.0, [(0.2, 15.0), (0.1, 8.5)], None),
        },
        "arrivals": ArrivalCounts(4.0, {"high": [0, 1], "low": [1, 1]}),
        "original": {},
        "rounds": {},
        "service_source": ServiceSource.DRAWN,
    }
    TraceFacts(**document | changes).write(path)
    return path


def probe(level: int, cores: int, work: float, wall_s: float, energy_j: float) -> Probe:
    """A metered run of k-means."""
    source = EnergySource.MEASURED
    return Probe("k-means", cores, 1.0, work, wall_s, energy_j, level, source)


def machine(name: str, probes: list[Probe]) -> Hardware:
    """A machine that was probed."""
    return Hardware(
        name=name, cores=2, memory_gib=8, idle_w=1, busy_w=2, memory_w_per_gib=0.1,
        power_source="guessed", probes=probes,
        levels=[FrequencyLevel(1, 0.5, 1), FrequencyLevel(2, 1, 2)],
    )  # fmt: skip


PROBES = {
    "server": [
        probe(1, 2, 750, 69.0, 565.0),
        probe(1, 1, 750, 130.0, 700.0),
        probe(0, 2, 750, 138.0, 460.0),
        probe(0, 2, 1500, 270.0, 910.0),
    ],
    "board": [
        Probe("k-means", 1, 1.0, 250, 125.0, 60.0),
        Probe("k-means", 1, 1.0, 750, 372.0, 190.0),
    ],
}


def write_everything(folder: Path) -> EvaluationInputs:
    """Write both traces with formula, real run, search, facts and probes; no target."""
    dias = write_dias(folder)
    write_formula(dias[2])
    write_real(dias[2])
    write_real(dias[0])
    return inputs(
        [],
        [],
        experiment="schedules",
        schedule=(*dias, *write_heats(folder), write_deflator(folder), write_trace(folder)),
        options={"hardware": {name: machine(name, probes) for name, probes in PROBES.items()}},
    )


def schedule_sections(schedules: Schedules) -> list[ReportSection]:
    """The sections about schedules, made from these alone."""
    measurements = Measurements(inputs([], []), {"schedule": schedules})
    return [kind(measurements) for kind in find_sections() if issubclass(kind, ScheduleSection)]


def schedule_figures(schedules: Schedules) -> list[Figure]:
    """The figures of all sections about schedules, in the order of the report."""
    return [figure for section in schedule_sections(schedules) for figure in section.figures]


def schedule_table(schedules: Schedules, name: str) -> Table:
    """One table about schedules, by its name."""
    tables = [table for section in schedule_sections(schedules) for table in section.tables]
    return next(table for table in tables if table.name == name)
