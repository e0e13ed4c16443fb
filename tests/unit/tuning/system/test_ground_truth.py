"""Jobs are known again by their counters, and strangers are strangers."""

import json
import math
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.errors import TrimtabError, UserError
from trimtab.records.tuning.ground_truth import (
    EventProfile,
    GroundTruthRecord,
    KnownJob,
    RelativeCost,
)
from trimtab.tuning.system.ground_truth import GroundTruth, GroundTruthJob, key_of
from trimtab.tuning.system.shared_truth import known_jobs, share_jobs

IMAGES = {"instructions": 2e9, "cache_misses": 1e6, "minor_faults": 300.0, "switches": 20.0}
TEXTS = {"instructions": 9e8, "cache_misses": 2e7, "minor_faults": 9000.0, "switches": 400.0}
OTHER = {"instructions": 3e9, "cache_misses": 1e4, "minor_faults": 10.0, "switches": 9000.0}


def near(rates: dict[str, float], seed: int, by: float = 0.03) -> dict[str, float]:
    """The counters of another run of the same job."""
    generator = random.Random(seed)
    return {name: rate * generator.uniform(1 - by, 1 + by) for name, rate in rates.items()}


DEFAULT = {"cores": 4}


def learn(truth: GroundTruth, rates: dict[str, float], best: int) -> GroundTruthJob:
    """A job that is best with so many cores."""
    job = truth.new_job()
    job.profiles[key_of(DEFAULT)] = EventProfile(DEFAULT, rates)
    job.costs[key_of({"cores": best})] = RelativeCost({"cores": best}, 0.5, None, True)
    return job


def best_of(job: GroundTruthJob) -> float:
    [cost] = job.costs.values()
    return cost.settings["cores"]


def known(count: int, **keys: object) -> GroundTruth:
    truth = GroundTruth([], "host", **keys)  # type: ignore[arg-type]
    for seed in range(count):
        learn(truth, near(IMAGES, seed), 2)
        learn(truth, near(TEXTS, seed), 1)
    return truth


@pytest.mark.parametrize("clusters", [2, 3, None])
@pytest.mark.parametrize("count", [1, 2, 12])
def test_a_job_that_is_met_again(clusters: int | None, count: int) -> None:
    truth = known(count, clusters=clusters)
    for rates, cores in ((IMAGES, 2), (TEXTS, 1)):
        for seed in range(100, 110):
            match = truth.match(near(rates, seed), DEFAULT)
            assert match is not None and match.is_alike
            assert best_of(match.job) == cores


@pytest.mark.parametrize("clusters", [2, None])
@pytest.mark.parametrize("count", [1, 2, 12])
def test_a_stranger(clusters: int | None, count: int) -> None:
    match = known(count, clusters=clusters).match(OTHER, DEFAULT)
    assert match is not None and not match.is_alike


@pytest.mark.parametrize(
    "clusterer", ["AgglomerativeClustering", "MiniBatchKMeans", "MeanShift", "DBSCAN", "Birch"]
)
def test_other_clusterers(clusterer: str) -> None:
    truth = known(12, clusterer=clusterer)
    for rates, cores in ((IMAGES, 2), (TEXTS, 1)):
        match = truth.match(rates, DEFAULT)
        assert match is not None and best_of(match.job) == cores
    with pytest.raises(UserError, match="clusterer: 'KMean' given; did you mean KMeans"):
        known(1, clusterer="KMean")


# First epochs of LeNet5 with batches of 128, whose faults an allocator decides, and a larger job.
AGAIN = [
    {"minor_faults": faults, "voluntary_switches": switches, "write_bytes": 2e6, "epoch_cpu_ms": ms}
    for faults, switches, ms in ((2.2e4, 3.0, 460.0), (1.5e5, 490.0, 420.0), (1.1e5, 12.0, 440.0))
]
LARGER = [{**AGAIN[1], "epoch_cpu_ms": AGAIN[1]["epoch_cpu_ms"] * by} for by in (0.3, 3.0, 10.0)]


@pytest.mark.parametrize("count", [1, 2])
def test_what_chance_decides_makes_no_stranger(count: int) -> None:
    """Where only the operating system counts, a job is known by what of that it decides itself."""
    truth = GroundTruth([], "host")
    for rates in AGAIN[:count]:
        learn(truth, rates, 2)
    again = truth.match(AGAIN[2], DEFAULT)
    assert again is not None and again.is_alike
    for rates in LARGER:  # what chance decides in other counters makes no room for that
        larger = truth.match(rates, DEFAULT)
        assert larger is not None and not larger.is_alike


# Recorded: faults, switches, bytes and ms of first epochs, of trials of four searches.
LENET5 = [(4.1e4, 1, 7.8e5, 370), (2.0e3, 1, 7.7e5, 480), (2.8e4, 1, 7.7e5, 360)]
LENET5_LATER = [(3.5e4, 1, 7.7e5, 390), (2.1e3, 1, 7.7e5, 460), (1.5e3, 0, 7.7e5, 660)]
K_MEANS = [(2.0e3, 0, 1.4e5, 100), (3.5e3, 1, 2.3e5, 110), (2.7e3, 0, 3.0e5, 140)]
TEXT_CNN = [(3.0e5, 2, 1.5e7, 4200), (2.6e6, 0, 2.3e7, 9100), (1.6e5, 1, 1.0e7, 3300)]


@pytest.mark.parametrize("clusters", [1, 2, None])
def test_trials_of_a_later_search_are_known_and_those_of_other_programs_are_not(
    clusters: int | None,
) -> None:
    truth = GroundTruth([], "host", clusters=clusters)
    for first in LENET5:
        learn(truth, dict(zip(AGAIN[0], first, strict=True)), 2)
    alike = [
        match.is_alike
        for later in LENET5_LATER + K_MEANS + TEXT_CNN
        if (match := truth.match(dict(zip(AGAIN[0], later, strict=True)), DEFAULT))
    ]
    assert alike == [True] * 3 + [False] * 6


def test_between_two_jobs_is_neither() -> None:
    truth = GroundTruth([], "host")
    for by in (1.0, 40.0):
        learn(truth, {**IMAGES, "epoch_cpu_ms": 500.0 * by}, 2)
    for by in (0.1, 6.0, 200.0):
        match = truth.match({**IMAGES, "epoch_cpu_ms": 500.0 * by}, DEFAULT)
        assert match is not None and not match.is_alike


def test_one_known_job() -> None:
    truth = GroundTruth([], "host")
    assert truth.match(IMAGES, DEFAULT) is None
    learn(truth, IMAGES, 2)
    again, other = truth.match(near(IMAGES, 1), DEFAULT), truth.match(TEXTS, DEFAULT)
    assert again is not None and again.is_alike
    assert other is not None and not other.is_alike


def test_other_machines_settings_and_counters_say_nothing() -> None:
    record = learn(GroundTruth([], "host"), IMAGES, 2).record
    assert GroundTruth([record], "server").match(IMAGES, DEFAULT) is None
    assert GroundTruth([record], "host").match(IMAGES, {"cores": 1}) is None
    assert GroundTruth([record], "host").match({"instructions": 2e9}, DEFAULT) is None
    match = GroundTruth([record], "host").match(IMAGES, DEFAULT)
    assert match is not None and match.job.record == record


def test_a_rate_that_is_none() -> None:
    for wrong in (-1.0, float("nan")):
        with pytest.raises(ValueError, match=r"instructions: .* expected at least 0"):
            known(1).match({**IMAGES, "instructions": wrong}, DEFAULT)


RATES = st.fixed_dictionaries({name: st.floats(0, 1e12) for name in IMAGES})


@settings(max_examples=25, deadline=None)
@given(st.lists(RATES, min_size=1, max_size=8), st.sampled_from([1, 2, 5, None]))
def test_every_known_job_finds_one_of_its_own(
    rates: list[dict[str, float]], clusters: int | None
) -> None:
    truth = GroundTruth([], "host", clusters=clusters)
    for number, one in enumerate(rates):
        learn(truth, one, number)
    for one in rates:
        match = truth.match(one, DEFAULT)
        assert match is not None and match.radius > 0
        assert match.job in truth.jobs
    if clusters == 5 and len(rates) <= 5:  # every one is a centre of its own
        for one in rates:
            match = truth.match(one, DEFAULT)
            assert match is not None and match.is_alike
            found = rates[int(best_of(match.job))]
            assert [math.log(found[name] + 10) for name in one] == pytest.approx(
                [math.log(one[name] + 10) for name in one], abs=0.1
            )


def job_of(name: str, **costs: float) -> KnownJob:
    """A job with costs of 1, 2 ... cores."""
    known = [
        RelativeCost({"cores": int(cores[1:])}, time, None, True) for cores, time in costs.items()
    ]
    return KnownJob(name, "host", [EventProfile(DEFAULT, IMAGES)], known)


def test_the_file(tmp_path: Path) -> None:
    path = tmp_path / "ground_truth.json"
    assert known_jobs(path) == []
    jobs = [job.record for job in known(2).jobs]
    share_jobs(path, jobs)
    assert known_jobs(path) == jobs
    assert [one.name for one in tmp_path.iterdir()] == [path.name]  # no lock is left
    text = path.read_text()
    for wrong, said in (
        (text.replace('"cores": 2', '"cores": "2"', 1), r"jobs\[0\].costs\[0\].settings.cores"),
        (text[:-30], "not JSON"),
        (text.replace('"version": 3', '"version": 1'), "has version 1"),
        ('{"version": 3, "jobs": [{"id": "a", "machine": "b", "costs": [], "profiles": '
         '[{"counts": {}, "settings": {"cores": 1}}]}]}', "at least one of each"),
    ):  # fmt: skip
        path.write_text(wrong)
        with pytest.raises(UserError, match=rf"{said}.*restore the ground truth from a copy"):
            known_jobs(path)
        with pytest.raises(UserError, match="restore"):
            share_jobs(path, jobs)
        assert path.read_text() == wrong  # a damaged one is not written over


def test_the_same_settings_twice(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="costs: the same settings twice"):
        KnownJob(
            "a", "host", [], [RelativeCost({"cores": 1}, time, None, True) for time in (1.0, 2.0)]
        )
    with pytest.raises(TrimtabError, match="missing"):
        GroundTruthRecord.read(tmp_path / "none")


def test_what_two_know_of_a_job_is_joined(tmp_path: Path) -> None:
    path = tmp_path / "truth"
    share_jobs(path, [job_of("a", c1=1.0, c2=2.0), job_of("b", c1=1.0)])
    cold = KnownJob("a", "host", [], [RelativeCost({"cores": 2}, 9.0, None, False)])
    share_jobs(path, [cold, job_of("a", c1=1.5, c4=4.0), job_of("c", c1=1.0)])
    first, *others = known_jobs(path)
    assert {cost.settings["cores"]: cost.time for cost in first.costs} == {1: 1.5, 2: 2.0, 4: 4.0}
    assert [job.id for job in others] == ["b", "c"] and len(first.profiles) == 1


LEARNS = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
from pathlib import Path
from test_ground_truth import job_of
from trimtab.tuning.system.shared_truth import share_jobs
for number in range(15):
    jobs = [job_of(f"{sys.argv[3]}{number}", c1=1.0), job_of("both", c1=1.0)]
    share_jobs(Path(sys.argv[2]), jobs)
"""


def test_two_processes_that_learn_at_once(tmp_path: Path) -> None:
    path = tmp_path / "truth"
    both = [
        subprocess.Popen([sys.executable, "-c", LEARNS, json.dumps(sys.path), str(path), name])
        for name in ("a", "b")
    ]
    assert [process.wait(120) for process in both] == [0, 0]
    found = [job.id for job in known_jobs(path)]
    assert sorted(found) == sorted([f"{name}{n}" for name in "ab" for n in range(15)] + ["both"])
