"""DiAS' model against a real Apache Spark (`make deps-spark`): processing and response times.

The model of stages is profiled with nothing dropped and predicts what dropping does to the time
that a job takes and, with the priority queue, to response times at a load of 80 % (Rocha's thesis,
section 4.3, figures 4.3 and 4.4). Everything is interleaved: the drop ratios among the processing
times, profiles among the runs of the queue. Accuracy loss is measured beside it (figure 4.5).
"""

import argparse
import heapq
import os
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
from common import RESULTS, save, spread

from trimtab.execution.spark.run import run_trace
from trimtab.files import atomic_write
from trimtab.policies.dias import Dias
from trimtab.policies.priority import Priority
from trimtab.queueing.errors import UnstableQueueError
from trimtab.queueing.job_times import WaveModel
from trimtab.queueing.phase_type import PhaseType, fit_two_moments
from trimtab.queueing.poisson_priority import Discipline, response_times
from trimtab.spark.accuracy import measure_accuracy
from trimtab.spark.event_log import job_times
from trimtab.spark.program import SparkProgram
from trimtab.spark.programs.prepare import (
    resize_posts,
    write_documentation_posts,
    write_web_graph,
)
from trimtab.spark.programs.triangles import TriangleCount, partition_edges
from trimtab.spark.programs.word_popularity import WordPopularity
from trimtab.spark.session import Session, spark_session

SIZE_BYTES = {"low": 4_720_000, "high": 2_000_000}  # 2.36 to 1, as in section 4.3
PRIORITY = {"low": 0, "high": 1}
SHARE = {"low": 0.9, "high": 0.1}
LOAD = 0.8
PROCESSING_THETAS = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8)
RESPONSE_THETAS = (0.0, 0.2, 0.4)  # of the low class; of the high class nothing is dropped
TRIANGLE_THETAS = (0.05, 0.1, 0.2)
WARM_UP, PROFILED, REPLICATIONS = 10, 8, 200
COLUMNS = ["setup_s", "map_s", "shuffle_s", "reduce_s"]


def main() -> None:
    """Measure, predict, and save both with their errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posts", type=Path, help="a Posts.xml; without: Python's documentation")
    parser.add_argument("--graph", type=Path, help="an edge list; without: a synthetic one")
    parser.add_argument("--jobs", type=int, default=200, help="of each run of the queue")
    parser.add_argument("--repeats", type=int, default=8, help="of each processing time")
    parser.add_argument("--slots", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        programs = prepare(folder, given.posts)
        triangles = prepare_graph(folder, given.graph)
        load_average = os.getloadavg()[1]  # of others: nothing of ours runs yet
        with spark_session(folder / "log", given.slots) as session:
            execute(session, programs, [("low", 0.0), ("high", 0.0)] * WARM_UP)
            processing = measure_processing(session, programs, given.repeats)
            figures: dict[str, object] = {
                "posts": given.posts.name if given.posts else "Python's documentation",
                "slots": given.slots,
                "load_average_before": load_average,
                "processing": processing,
                "response": measure_response(session, programs, processing, given.jobs),
                "accuracy_words": accuracy(session, programs["low"], PROCESSING_THETAS[1:]),
                "accuracy_triangles": accuracy(session, triangles, TRIANGLE_THETAS),
                "graph": given.graph.name if given.graph else "synthetic, the copying model",
            }
    for part in ("processing", "response"):
        rows = cast(list[dict[str, float]], figures[part])
        figures[f"{part}_mean_error_pct"] = statistics.mean(row["error_pct"] for row in rows)
    save("spark", figures)


def prepare(folder: Path, posts: Path | None) -> dict[str, WordPopularity]:
    programs = {}
    for name, size_bytes in SIZE_BYTES.items():
        path = folder / f"{name}.xml"
        if posts:
            resize_posts(posts, path, size_bytes)
        else:
            write_documentation_posts(path, size_bytes)
        programs[name] = WordPopularity(path)
    return programs


def prepare_graph(folder: Path, graph: Path | None) -> TriangleCount:
    if graph is None:
        graph = folder / "graph.txt"
        write_web_graph(graph, 5000)
    partition_edges(graph, folder / "graph", 20)
    return TriangleCount(folder / "graph")


def execute(
    session: Session, programs: Mapping[str, SparkProgram], jobs: Sequence[tuple[str, float]]
) -> pd.DataFrame:
    """Run jobs (class, drop ratio), one after the other; return their times, a row a job."""

    def with_theta(name: str, theta: float) -> SparkProgram:
        return lambda context, _, seed: programs[name](context, theta, seed)

    trace = pd.DataFrame(
        {"job": job, "arrival_s": 0.0, "job_class": f"{name} {theta}", "priority": 0}
        for job, (name, theta) in enumerate(jobs)
    )
    changed = {f"{name} {theta}": with_theta(name, theta) for name, theta in set(jobs)}
    ran = run_trace(session, trace, changed, Priority())
    times = job_times(ran.log, ran.attempts).sort_values("job")
    times["processing_s"] = ran.jobs.set_index("job").execution_s[times.job].to_numpy()
    return times.assign(name=[name for name, _ in jobs], theta=[theta for _, theta in jobs])


def model(times: pd.DataFrame, slots: int) -> WaveModel:
    """Return the model of one class, profiled by runs in which nothing was dropped."""
    maps, reduces = int(times.map_tasks.iloc[0]), int(times.reduce_tasks.iloc[0])
    # What the event log and the dispatcher see besides is a part of the overhead.
    outside_s = (times.processing_s - times[COLUMNS].sum(axis=1)).mean()
    return WaveModel(
        setup=wave(times.setup_s + outside_s, 1),
        map_wave=wave(times.map_s, -(-maps // slots)),
        shuffle=wave(times.shuffle_s, 1),
        reduce_wave=wave(times.reduce_s, -(-reduces // slots)),
        map_tasks={maps: 1.0},
        reduce_tasks={reduces: 1.0},
        slots=slots,
    )


def wave(stage_s: pd.Series, waves: int) -> PhaseType:
    """Return the time of one of a stage's waves, taken to vary independently of each other."""
    scv = float(stage_s.var() / stage_s.mean() ** 2) * waves
    return fit_two_moments(float(stage_s.mean()) / waves, max(scv, 0.05))


def measure_processing(
    session: Session, programs: Mapping[str, SparkProgram], repeats: int
) -> list[dict[str, object]]:
    """Return, for each class and drop ratio, the processing time as predicted and as measured."""
    order = [
        (name, theta)
        for repeat in range(repeats)
        for theta in (0.0, *PROCESSING_THETAS[:: 1 if repeat % 2 else -1])  # a profile, then all
        for name in programs
    ]
    times = execute(session, programs, order)
    is_profile = (times.index % (len(programs) * (1 + len(PROCESSING_THETAS)))) < len(programs)
    rows: list[dict[str, object]] = []
    for name in programs:
        own = times[times.name == name]
        fitted = model(own[is_profile[times.name == name]], session.slots)
        for theta, each in own[~is_profile[times.name == name]].groupby("theta"):
            predicted_s = fitted.processing_time(map_drop_ratio=float(str(theta))).mean
            measured_s = each.processing_s.mean()
            rows.append(
                {
                    "class": name,
                    "theta": theta,
                    "predicted_s": predicted_s,
                    "measured_s": spread(each.processing_s.round(4).to_list()),
                    "mean_s": measured_s,
                    "error_pct": error_pct(predicted_s, measured_s),
                    "spark_cpu_s": each.spark_cpu_s.mean(),
                    "executor_cpu_s": each.executor_cpu_s.mean(),
                }
            )
    return rows


def measure_response(
    session: Session,
    programs: Mapping[str, SparkProgram],
    processing: list[dict[str, object]],
    jobs: int,
) -> list[dict[str, object]]:
    """Return, for each drop ratio and class, the mean response time as predicted and measured.

    Predicted twice: by the formula, for arrivals without end, and by the model on the very
    arrivals of the run, since those of so few jobs are far from their mean.
    """
    full_s = {str(row["class"]): row["mean_s"] for row in processing if row["theta"] == 0}
    rate = LOAD / sum(SHARE[name] * float(str(full_s[name])) for name in SHARE)
    random = np.random.default_rng(2)
    classes = ["high" if each else "low" for each in random.random(jobs) < SHARE["high"]]
    trace = pd.DataFrame(
        {
            "job": range(jobs),
            "arrival_s": np.cumsum(random.exponential(1 / rate, jobs)),
            "job_class": classes,
            "priority": [PRIORITY[name] for name in classes],
        }
    )
    rows, tables = [], []
    profiles = [profile(session, programs)]
    for theta in RESPONSE_THETAS:
        ran = run_trace(session, trace, programs, Dias(drop_ratio={"low": theta}))
        profiles.append(profile(session, programs))
        around = pd.concat(profiles[-2:])
        services = {
            name: model(around[around.name == name], session.slots).processing_time(
                map_drop_ratio=theta if name == "low" else 0.0
            )
            for name in programs
        }
        formula = by_formula(rate, services)
        replayed = replay(trace, services)
        for name in programs:
            own = ran.jobs[ran.jobs.job_class == name]
            measured_s = own.response_s.mean()
            rows.append(
                {
                    "class": name,
                    "theta": theta,
                    "jobs": len(own),
                    "measured_s": measured_s,
                    "measured_p95_s": own.response_s.quantile(0.95),
                    "execution_s": own.execution_s.mean(),
                    "predicted_execution_s": services[name].mean,
                    "formula_s": formula[name],
                    "formula_error_pct": error_pct(formula[name], measured_s),
                    "same_arrivals_s": replayed[name],
                    "error_pct": error_pct(replayed[name], measured_s),
                }
            )
        tables.append(ran.jobs.assign(theta=theta))
    with atomic_write(RESULTS / "spark_jobs.csv") as temporary:
        kept = ["theta", "job", "job_class", "arrival_s", "start_s", "finish_s", "dropped_tasks"]
        pd.concat(tables)[kept].round(4).to_csv(temporary, index=False)
    return rows


def error_pct(predicted_s: float | None, measured_s: float) -> float | None:
    return None if predicted_s is None else 100 * abs(predicted_s - measured_s) / measured_s


def by_formula(rate: float, services: Mapping[str, PhaseType]) -> dict[str, float | None]:
    """Return the mean response times by class; None where the machine has become too slow."""
    names = ("high", "low")
    rates = [rate * SHARE[name] for name in names]
    try:
        responses = response_times(
            rates, [services[name] for name in names], Discipline.NON_PREEMPTIVE
        )
    except UnstableQueueError:
        return dict.fromkeys(names)
    return {name: each.mean for name, each in zip(names, responses, strict=True)}


def profile(session: Session, programs: Mapping[str, SparkProgram]) -> pd.DataFrame:
    return execute(session, programs, [(name, 0.0) for name in programs] * (PROFILED // 2))


def replay(trace: pd.DataFrame, services: Mapping[str, PhaseType]) -> dict[str, float]:
    """Return the mean response times by class of the model's service times on these arrivals."""
    random = np.random.default_rng(1)
    arrival_s, names = trace.arrival_s.to_numpy(), trace.job_class.to_numpy()
    mean_s = {name: each.mean for name, each in services.items()}
    scv = {name: each.moment(2) / each.mean**2 - 1 for name, each in services.items()}
    total = np.zeros(len(trace))
    for _ in range(REPLICATIONS):
        # Gamma: the same two first moments, which are all that mean waiting times depend on.
        service_s = [random.gamma(1 / scv[name], mean_s[name] * scv[name]) for name in names]
        total += responses_s(arrival_s, trace.priority.to_numpy(), np.array(service_s))
    means = pd.Series(total / REPLICATIONS).groupby(names).mean()
    return {str(name): float(value) for name, value in means.items()}


def responses_s(arrival_s: np.ndarray, priority: np.ndarray, service_s: np.ndarray) -> np.ndarray:
    """Return the response times of a single server with non-preemptive priorities."""
    waiting: list[tuple[int, int]] = []
    response_s, now_s, coming = np.zeros(len(arrival_s)), 0.0, 0
    while coming < len(arrival_s) or waiting:
        if not waiting:
            now_s = max(now_s, arrival_s[coming])
        while coming < len(arrival_s) and arrival_s[coming] <= now_s:
            heapq.heappush(waiting, (-priority[coming], coming))
            coming += 1
        _, job = heapq.heappop(waiting)
        now_s += service_s[job]
        response_s[job] = now_s - arrival_s[job]
    return response_s


def accuracy(
    session: Session, program: WordPopularity | TriangleCount, thetas: Sequence[float]
) -> list[dict[str, object]]:
    errors = measure_accuracy(session, program, thetas, repeats=5)
    return [
        {"theta": theta, "error_pct": spread(each.error_pct.round(3).to_list())}
        for theta, each in errors.groupby("theta")
    ]


if __name__ == "__main__":
    main()
