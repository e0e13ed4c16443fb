"""Backfilling against a plain simulator, and what holds of every schedule on any nodes."""

import copy
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from plain_batch import DISCIPLINES, Conservative, Job, simulate, start_times

from trimtab.batch.policies.registry import build_batch_policy
from trimtab.batch.simulate import BatchResult, simulate_batch
from trimtab.clusters.cluster import Cluster, Level, NodeType

POLICIES = {"fcfs": "fcfs", "any": "any_fit", "easy": "easy", "conservative": "conservative"}
GPU = 1000


class Part(NamedTuple):
    """The demands of one part of a job."""

    cpu_milli: int
    gpu_milli: int = 0
    memory_bytes: int = 0
    distinct: bool = False
    gpu_type: str = ""


CORE = Part(1000)


def frame(jobs: Sequence[Job], parts: Sequence[Part] | None = None) -> pd.DataFrame:
    """Return the jobs as BATCH_JOBS; a job's `cores` are the number of its parts."""
    parts = parts or [CORE] * len(jobs)
    numbers = range(len(jobs))
    table = pd.DataFrame(jobs, columns=Job._fields).rename(columns={"cores": "parts"})
    table = table.astype({"submit_s": float, "run_s": float, "estimate_s": float})
    table = table.join(pd.DataFrame(parts, columns=Part._fields))
    return table.assign(
        job=numbers,
        name=[f"j{number}" for number in numbers],
        user=[f"u{number % 3}" for number in numbers],
        group="",
        queue=[f"q{number % 2}" for number in numbers],
        priority=[number % 4 for number in numbers],
        run_gpu_type="",
        recorded_start_s=np.nan,
        deadline_s=np.nan,
        image="",
        least_parts=table["parts"],
        most_parts=table["parts"],
        serial_share=0.0,
        counted=True,
        model="",
        checkpoint_interval_s=np.nan,
        checkpoint_cost_s=np.nan,
        restart_cost_s=np.nan,
    )


def pool(cores: int, nodes: int = 1) -> Cluster:
    """Return equal cores on equal nodes."""
    kind = NodeType("n", cores // nodes * 1000, 1 << 40, 10.0, (Level(1.0, 90.0),))
    return Cluster((kind,), (nodes,))


def starts_of(jobs: Sequence[Job], cores: int, discipline: str, nodes: int = 1) -> list[float]:
    policy = build_batch_policy(POLICIES[discipline])[1]
    result = simulate_batch(frame(jobs), pool(cores, nodes), policy)
    starts: list[float] = result.schedule["start_s"].tolist()
    return starts


# On a coarse grid many events fall on one instant; between its points hardly any does.
gaps = st.one_of(st.sampled_from([0, 0, 0, 1, 2, 5]), st.integers(0, 4096).map(lambda s: s / 256))
runs = st.one_of(st.integers(0, 12), st.integers(0, 4096).map(lambda step: step / 256))


@st.composite
def queues(draw: st.DrawFn, *, most: int = 40, exact: bool | None = None) -> list[Job]:
    jobs, now_s = [], 0.0
    widest = draw(st.sampled_from([2, 4, 8]))
    exact = draw(st.booleans()) if exact is None else exact
    for _ in range(draw(st.integers(1, most))):
        now_s += draw(gaps)
        run_s = draw(runs)
        factor = 1.0 if exact else draw(st.sampled_from([1.0, 1.0, 1.5, 2.0, 10.0]))
        jobs.append(Job(now_s, run_s, max(run_s * factor, 1 / 256), draw(st.integers(1, widest))))
    first_s = jobs[0].submit_s
    return [job._replace(submit_s=job.submit_s - first_s) for job in jobs]


@pytest.mark.parametrize("discipline", DISCIPLINES)
@settings(max_examples=50)
@given(jobs=queues(), spare=st.integers(0, 4), spread=st.booleans())
def test_start_times_are_those_of_the_plain_simulator(
    discipline: str, jobs: list[Job], spare: int, spread: bool
) -> None:
    cores = max(job.cores for job in jobs) + spare
    starts = starts_of(jobs, cores, discipline, nodes=cores if spread else 1)
    assert starts == start_times(jobs, cores, discipline)


@settings(max_examples=25)
@given(jobs=queues(exact=True), spare=st.integers(0, 4))
def test_conservative_keeps_its_promises(jobs: list[Job], spare: int) -> None:
    cores = max(job.cores for job in jobs) + spare
    plain = Conservative(jobs, cores)
    simulate(jobs, plain)
    starts = starts_of(jobs, cores, "conservative")
    assert all(start_s <= plain.promised_s[number] for number, start_s in enumerate(starts))


@pytest.mark.parametrize("discipline", DISCIPLINES)
@settings(max_examples=10)
@given(jobs=queues(), power=st.integers(-6, 10))
def test_a_schedule_scales_with_time(discipline: str, jobs: list[Job], power: int) -> None:
    scale = 2.0**power
    scaled = [Job(*(each * scale for each in job[:3]), job.cores) for job in jobs]
    cores = max(job.cores for job in jobs)
    expected = [start_s * scale for start_s in starts_of(jobs, cores, discipline)]
    assert starts_of(scaled, cores, discipline) == expected


def test_a_run_longer_than_its_estimate_counts_as_estimated() -> None:
    jobs = [Job(0, 8, 2, 2), Job(0, 4, 4, 4), Job(0, 8, 8, 2)]
    result = simulate_batch(frame(jobs), pool(4), build_batch_policy("easy")[1])
    assert result.raised_estimates == 1
    assert result.schedule["start_s"].tolist() == [0, 8, 0]


def test_an_unknown_estimate_is_the_run_time() -> None:
    jobs = [Job(0, 8, math.nan, 2), Job(0, 4, math.nan, 4), Job(0, 8, math.nan, 2)]
    result = simulate_batch(frame(jobs), pool(4), build_batch_policy("easy")[1])
    assert result.schedule["start_s"].tolist() == [0, 8, 0]


class System(NamedTuple):
    cluster: Cluster
    jobs: list[Job]
    parts: list[Part]

    @property
    def table(self) -> pd.DataFrame:
        return frame(self.jobs, self.parts)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    node_types, counts = [], []
    for name in ("cpu_a40", "k80_x2")[: draw(st.integers(1, 2))]:
        speed = draw(st.sampled_from([0.5, 1.0, 2.0]))
        cores, gpus = draw(st.integers(1, 4)), draw(st.integers(0, 3))
        level = Level(speed, 100.0, 50.0)
        node_types.append(
            NodeType(name, cores * 1000, draw(st.integers(4, 8)), 20.0, (level,), gpus * GPU)
        )
        counts.append(draw(st.integers(1, 4)))
    return Cluster(tuple(node_types), tuple(counts))


parts = st.builds(
    Part,
    st.sampled_from([250, 500, 1000, 1000, 2000, 2700]),
    st.sampled_from([0, 0, 0, 300, 500, 600, 1000, 1000, 2000]),
    st.integers(0, 5),
    st.booleans(),
    st.sampled_from(["", "", "", "a40", "k80"]),
)


@st.composite
def systems(draw: st.DrawFn, *, exact: bool | None = None) -> System:
    """Draw a system whose jobs all have room on the empty cluster."""
    cluster, kinds = draw(clusters()), draw(st.lists(parts, min_size=1, max_size=4))
    jobs, demands = [], []
    for job in draw(queues(most=30, exact=exact)):
        part = draw(st.sampled_from(kinds))
        most = most_parts(cluster, part)
        if most > 0:
            jobs.append(job._replace(cores=min(job.cores, most)))
            demands.append(part)
    assume(jobs)
    first_s = jobs[0].submit_s
    jobs = [job._replace(submit_s=job.submit_s - first_s) for job in jobs]
    return System(cluster, jobs, demands)


def runs_on(node_type: NodeType, part: Part) -> bool:
    return not part.gpu_type or part.gpu_type in node_type.name.split("_")


class Node:
    """What is free on a node; GPUs one by one."""

    def __init__(self, node_type: NodeType) -> None:
        self.cpu_milli, self.memory_bytes = node_type.cpu_milli, node_type.memory_bytes
        self.gpus = [GPU] * (node_type.gpu_milli // GPU)

    def change(self, part: Part, parts: int, gpus: int, sign: int) -> None:
        """Take (`sign` -1) or give back (1) parts; `gpus` are bits."""
        self.cpu_milli += sign * parts * part.cpu_milli
        self.memory_bytes += sign * parts * part.memory_bytes
        for number in range(gpus.bit_length()):
            if gpus >> number & 1:
                self.gpus[number] += sign * min(part.gpu_milli, GPU)

    def fitting(self, part: Part) -> int:
        """Return how many parts fit, found by placing one after the other."""
        cpu_milli, memory_bytes, gpus = self.cpu_milli, self.memory_bytes, list(self.gpus)
        for count in range(1 if part.distinct else 1000):
            cpu_milli -= part.cpu_milli
            memory_bytes -= part.memory_bytes
            if min(cpu_milli, memory_bytes) < 0:
                return count
            for _ in range(max(part.gpu_milli // GPU, min(part.gpu_milli, 1))):
                taken = min(part.gpu_milli, GPU)
                able = [number for number, free in enumerate(gpus) if free >= taken]
                if not able:
                    return count
                gpus[able[0]] -= taken
        return 1


def most_parts(cluster: Cluster, part: Part) -> int:
    """Return how many parts fit the empty nodes of one type."""
    return max(
        count * Node(node_type).fitting(part) if runs_on(node_type, part) else 0
        for node_type, count in zip(cluster.node_types, cluster.counts, strict=True)
    )


class Replay:
    """A schedule, event by event: what is free on each node, and who runs."""

    def __init__(self, system: System, result: BatchResult) -> None:
        cluster = system.cluster
        assert result.allocations is not None
        self.system, self.schedule, self.result = system, result.schedule, result
        self.nodes = [Node(cluster.node_types[each]) for each in cluster.type_of_node]
        self.where: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for job, node, count, gpus in result.allocations.itertuples(index=False):
            self.where[job].append((node, count, gpus))
        self.running: set[int] = set()

    def copy(self) -> "Replay":
        """Return a copy whose jobs end and start by themselves."""
        copied = copy.copy(self)
        copied.nodes, copied.running = copy.deepcopy(self.nodes), set(self.running)
        return copied

    def change(self, job: int, sign: int) -> None:
        for node, count, gpus in self.where[job]:
            self.nodes[node].change(self.system.parts[job], count, gpus, sign)

    def start(self, job: int) -> None:
        self.running.add(job)
        self.change(job, -1)

    def end(self, job: int) -> None:
        self.running.remove(job)
        self.change(job, 1)

    def instants(self) -> list[float]:
        times = {*self.schedule["submit_s"], *self.schedule["start_s"], *self.schedule["end_s"]}
        return sorted(times)

    def end_until(self, now_s: float) -> None:
        for job in [job for job in self.running if self.schedule["end_s"][job] <= now_s]:
            self.end(job)

    def start_until(self, now_s: float, before: int | None = None) -> None:
        """Start the jobs that start now, those of no length first, which end at once."""
        starting = self.schedule.index[self.schedule["start_s"] == now_s]
        starting = starting if before is None else starting[starting < before]
        for job in sorted(starting, key=lambda job: self.schedule["end_s"][job]):
            self.start(job)
            assert all(min(each.cpu_milli, each.memory_bytes, *each.gpus, 0) == 0
                       for each in self.nodes)  # fmt: skip
            self.end_until(now_s)

    def waiting(self, now_s: float) -> list[int]:
        submitted = (self.schedule["submit_s"] <= now_s) & (self.schedule["start_s"] > now_s)
        return self.schedule.index[submitted].tolist()

    def types_with_room(self, job: int) -> list[NodeType]:
        """Return the node types on which a job has room now."""
        cluster, part, first, found = self.system.cluster, self.system.parts[job], 0, []
        for node_type, count in zip(cluster.node_types, cluster.counts, strict=True):
            nodes = self.nodes[first : first + count]
            first += count
            fitting = sum(node.fitting(part) for node in nodes)
            if runs_on(node_type, part) and fitting >= self.system.jobs[job].cores:
                found.append(node_type)
        return found


def slowdown(system: System, job: int, node_type: NodeType) -> float:
    """How much longer a job runs on a type than on the first one that is its reference."""
    part, types = system.parts[job], system.cluster.node_types
    speeds = {each.name: each.levels[-1].speed for each in types}
    if part.gpu_milli:
        able = [each for each in types if runs_on(each, part) and each.gpu_milli]
    else:  # the speed of a node with GPUs is theirs
        able = [each for each in types if runs_on(each, part)]
        without = [each for each in types if not each.gpu_milli]
        own = without[0].levels[-1].speed if without else 1.0
        speeds |= {each.name: own for each in types if each.gpu_milli}
    return speeds[able[0].name] / speeds[node_type.name]


def simulated(system: System, policy: str) -> Replay:
    built = build_batch_policy(policy)[1]
    result = simulate_batch(system.table, system.cluster, built, keep_allocations=True)
    assert result.left_out == 0
    assert result.schedule["job"].tolist() == list(range(len(system.jobs)))
    assert result.schedule["start_s"].notna().all()
    return Replay(system, result)


EVERY = [
    "fcfs",
    "any_fit",
    "easy",
    "conservative",
    "shortest",
    "multifactor",
    "fair_share",
    "heats:energy_weight=0.5",
]


@pytest.mark.parametrize("policy", EVERY)
@settings(max_examples=10)
@given(system=systems())
def test_jobs_start_whole_on_nodes_of_one_type_with_room(policy: str, system: System) -> None:
    replay = simulated(system, policy)
    cluster, schedule = system.cluster, replay.schedule
    names = [cluster.node_types[each].name for each in cluster.type_of_node]
    for number, (job, part) in enumerate(zip(system.jobs, system.parts, strict=True)):
        row, where = schedule.loc[number], replay.where[number]
        assert sum(count for _, count, _ in where) == job.cores
        assert {names[node] for node, _, _ in where} == {row["node_type"]}
        assert row["nodes"] == len({node for node, _, _ in where})
        assert not part.distinct or row["nodes"] == job.cores
        assert row["start_s"] >= job.submit_s
        (used,) = [each for each in cluster.node_types if each.name == row["node_type"]]
        assert row["end_s"] == row["start_s"] + job.run_s * slowdown(system, number, used)
        for _, count, gpus in where:
            asked = part.gpu_milli // GPU * count if part.gpu_milli >= GPU else part.gpu_milli > 0
            assert gpus.bit_count() == asked
    for now_s in replay.instants():
        replay.end_until(now_s)
        replay.start_until(now_s)


@pytest.mark.parametrize("policy", POLICIES.values())
@settings(max_examples=20)
@given(system=systems())
def test_the_first_job_never_waits_with_room(policy: str, system: System) -> None:
    replay = simulated(system, policy)
    for now_s in replay.instants():
        replay.end_until(now_s)
        replay.start_until(now_s)
        waiting = replay.waiting(now_s)
        for job in waiting if policy == "any_fit" else waiting[:1]:
            assert not replay.types_with_room(job)


@settings(max_examples=20)
@given(system=systems())
def test_fcfs_never_overtakes(system: System) -> None:
    assert simulated(system, "fcfs").schedule["start_s"].is_monotonic_increasing


@settings(max_examples=40)
@given(system=systems(exact=True))
def test_easy_starts_what_does_not_delay_the_first_job(system: System) -> None:
    """A job starts when running jobs leave it room, as seen when it becomes the first, or before.

    Jobs that start behind it at that very instant must not delay it. Those that have room and
    would end by then have started.
    """
    system = system._replace(jobs=[each._replace(run_s=each.estimate_s) for each in system.jobs])
    replay = simulated(system, "easy")
    starts = replay.schedule["start_s"]
    for now_s in replay.instants():
        replay.end_until(now_s)
        for job in replay.waiting(now_s):
            if max([system.jobs[job].submit_s, *starts[:job]]) == now_s:
                ahead = replay.copy()
                ahead.start_until(now_s, before=job)
                assert starts[job] <= shadow_s(ahead, job)
        replay.start_until(now_s)
        waiting = replay.waiting(now_s)
        for job in waiting[1:]:
            for node_type in replay.types_with_room(job):
                end_s = now_s + system.jobs[job].run_s * slowdown(system, job, node_type)
                assert end_s > shadow_s(replay.copy(), waiting[0])


def test_easy_reserves_a_node_of_its_own_for_each_part() -> None:
    """The second job needs both nodes; the third one may not take all of the free one."""
    node_type = NodeType("n", 4000, 1 << 40, 10.0, (Level(1.0, 90.0),))
    system = System(
        Cluster((node_type,), (2,)),
        [Job(0, 8, 8, 2), Job(5, 10, 10, 2), Job(7, 11, 11, 2)],
        [Part(2000), Part(1000, distinct=True), Part(2000)],
    )
    assert simulated(system, "easy").schedule["start_s"].tolist() == [0, 8, 8]


def shadow_s(replay: Replay, job: int) -> float:
    """Return when the running jobs leave a job room; ends them until then."""
    for end_s in sorted(replay.schedule["end_s"][list(replay.running)]):
        replay.end_until(end_s)
        if replay.types_with_room(job):
            return float(end_s)
    raise AssertionError("it has room on the empty cluster")
