"""Jobs are known again by their counters, and strangers are strangers."""

import math
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.errors import TrimtabError
from trimtab.records.tuning.ground_truth import GroundTruthRecord, KnownJob
from trimtab.tuning.ground_truth import GroundTruth

IMAGES = {"instructions": 2e9, "cache_misses": 1e6, "minor_faults": 300.0, "switches": 20.0}
TEXTS = {"instructions": 9e8, "cache_misses": 2e7, "minor_faults": 9000.0, "switches": 400.0}
OTHER = {"instructions": 3e9, "cache_misses": 1e4, "minor_faults": 10.0, "switches": 9000.0}


def near(rates: dict[str, float], seed: int, by: float = 0.03) -> dict[str, float]:
    """The counters of another run of the same job."""
    generator = random.Random(seed)
    return {name: rate * generator.uniform(1 - by, 1 + by) for name, rate in rates.items()}


def known(count: int, clusters: int | None = 2) -> GroundTruth:
    truth = GroundTruth([], "host", "time", clusters=clusters)
    for seed in range(count):
        truth.learn(near(IMAGES, seed), {"cores": 2})
        truth.learn(near(TEXTS, seed), {"cores": 1})
    return truth


@pytest.mark.parametrize("clusters", [2, 3, None])
@pytest.mark.parametrize("count", [1, 2, 12])
def test_a_job_that_is_met_again(clusters: int | None, count: int) -> None:
    truth = known(count, clusters)
    for rates, cores in ((IMAGES, 2), (TEXTS, 1)):
        for seed in range(100, 110):
            match = truth.match(near(rates, seed))
            assert match is not None and match.is_alike
            assert match.job.settings == {"cores": cores}


@pytest.mark.parametrize("clusters", [2, None])
@pytest.mark.parametrize("count", [1, 2, 12])
def test_a_stranger(clusters: int | None, count: int) -> None:
    match = known(count, clusters).match(OTHER)
    assert match is not None and not match.is_alike


def test_one_known_job() -> None:
    truth = GroundTruth([], "host", "time")
    assert truth.match(IMAGES) is None
    truth.learn(IMAGES, {"cores": 2})
    again, other = truth.match(near(IMAGES, 1)), truth.match(TEXTS)
    assert again is not None and again.is_alike
    assert other is not None and not other.is_alike


def test_other_machines_objectives_and_counters_say_nothing() -> None:
    job = KnownJob("host", "time", IMAGES, {"cores": 2})
    assert GroundTruth([job], "host", "energy").match(IMAGES) is None
    assert GroundTruth([job], "server", "time").match(IMAGES) is None
    assert GroundTruth([job], "host", "time").match({"instructions": 2e9}) is None


def test_a_rate_that_is_none() -> None:
    for wrong in (-1.0, float("nan")):
        with pytest.raises(ValueError, match=r"instructions: .* expected at least 0"):
            known(1).match({**IMAGES, "instructions": wrong})


RATES = st.fixed_dictionaries({name: st.floats(0, 1e12) for name in IMAGES})


@settings(max_examples=25)
@given(st.lists(RATES, min_size=1, max_size=8), st.sampled_from([1, 2, 5, None]))
def test_every_known_job_finds_one_of_its_own(
    rates: list[dict[str, float]], clusters: int | None
) -> None:
    truth = GroundTruth([], "host", "time", clusters=clusters)
    for number, one in enumerate(rates):
        truth.learn(one, {"cores": number})
    for one in rates:
        match = truth.match(one)
        assert match is not None and match.radius > 0
        assert match.job in truth.jobs
    if clusters == 5 and len(rates) <= 5:  # every one is a centre of its own
        for one in rates:
            match = truth.match(one)
            assert match is not None and match.is_alike
            found = rates[int(match.job.settings["cores"])]
            assert [math.log1p(found[name]) for name in one] == pytest.approx(
                [math.log1p(one[name]) for name in one], abs=0.05
            )


def test_the_file(tmp_path: Path) -> None:
    path = tmp_path / "ground_truth.json"
    record = GroundTruthRecord(version=1, jobs=known(2).jobs)
    record.write(path)
    assert GroundTruthRecord.read(path) == record
    path.write_text(path.read_text().replace('"cores": 2', '"cores": "2"', 1))
    with pytest.raises(TrimtabError, match=r"jobs\[0\].settings.cores"):
        GroundTruthRecord.read(path)
    path.write_text('{"version": 1, "jobs": [{"machine": "a", "objective": "b", "rates": {},'
                    ' "settings": {"cores": 1}}]}')  # fmt: skip
    with pytest.raises(TrimtabError, match="at least one of each"):
        GroundTruthRecord.read(path)
