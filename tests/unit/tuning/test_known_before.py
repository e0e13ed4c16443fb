"""What searches know beforehand: seeds begin alike, later searches with what was learnt."""

import json
from pathlib import Path
from typing import Any

import pytest
from spaces import choices, tuning
from test_search import HOST
from trials.trial_programs import workload

from trimtab.config.groups.objective import Objective
from trimtab.config.groups.tuner import TunerConfig
from trimtab.config.groups.workload import Workload
from trimtab.errors import UserError
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import TRIALS
from trimtab.records.tuning.ground_truth import (
    EventProfile,
    GroundTruthRecord,
    KnownJob,
    RelativeCost,
)
from trimtab.records.tuning.inference import (
    KnownArchitecture,
    KnownInferenceRecord,
    MeasuredInference,
)
from trimtab.tuning.inference.known import KnownInference, share_architectures
from trimtab.tuning.system import machine
from trimtab.tuning.system.known_before import Known, beginning_with, remove_but
from trimtab.tuning.system.shared_truth import known_jobs, share_jobs
from trimtab.tuning.tune import Request, tune

TRAINING = """
import trimtab_trial
for epoch in range(trimtab_trial.first_epoch(), 4):
    sum(range(30000))
    trimtab_trial.epoch_end(epoch, accuracy=0.5)
"""


def job(name: str) -> KnownJob:
    settings = {"threads": 1}
    return KnownJob(name, "host", [EventProfile(settings, {"faults": 1.0})],
                    [RelativeCost(settings, 1.0, None, True)])  # fmt: skip


def architecture(layers: int, *sizes: int, time_s: float = 0.1) -> KnownArchitecture:
    measured = [
        MeasuredInference({"batch_size": size}, time_s, 1.0, "", [time_s]) for size in sizes
    ]
    return KnownArchitecture("host", "0" * 64, {"layers": layers}, measured)


def ids(path: Path) -> set[str]:
    return {one.id for one in known_jobs(path)}


def test_repetitions_begin_alike_and_all_is_kept(tmp_path: Path) -> None:
    known = Known(tmp_path / "ground_truth.json")
    share_jobs(known.ground_truth, [job("old")])
    before = known.copied(tmp_path / "before")
    for seed in ("a", "b"):
        with beginning_with(known, before, tmp_path / seed) as own:
            assert ids(own.ground_truth) == {"old"}
            share_jobs(own.ground_truth, [job(seed)])
            share_architectures(own.inference, [architecture(18, 1)])
    assert ids(known.ground_truth) == {"old", "a", "b"}
    # One that was killed goes on with what it knew, and not with what others have learnt since.
    with pytest.raises(KeyboardInterrupt), beginning_with(known, before, tmp_path / "a") as own:
        assert ids(own.ground_truth) == {"old", "a"}
        share_jobs(own.ground_truth, [job("c")])
        raise KeyboardInterrupt
    assert ids(known.copied(tmp_path / "before").ground_truth) == {"old"}
    assert ids(known.ground_truth) == {"old", "a", "b", "c"}
    found = KnownInferenceRecord.read(known.inference).architectures
    assert found == [architecture(18, 1)]


def test_of_what_two_have_measured_the_first_stays(tmp_path: Path) -> None:
    path = tmp_path / "known_inference.json"
    share_architectures(path, [architecture(18, 1, time_s=0.2)])
    share_architectures(path, [architecture(18, 1, 4), architecture(34, 1)])
    by_layers = {
        one.architecture["layers"]: {m.configuration["batch_size"]: m.inference_s
                                     for m in one.measured}
        for one in KnownInferenceRecord.read(path).architectures
    }  # fmt: skip
    assert by_layers == {18: {1: 0.2, 4: 0.1}, 34: {1: 0.1}}


def test_machines_write_parts_without_a_lock_between_them_and_all_is_joined(
    tmp_path: Path,
) -> None:
    known = Known(tmp_path / "ground_truth.json")
    share_jobs(known.ground_truth, [job("old")])
    before, folder = known.copied(tmp_path / "before"), tmp_path / "seed_1/known"
    with (
        beginning_with(known, before, folder, "_1") as first,
        beginning_with(known, before, folder, "_2") as second,
    ):
        parts = [path for own in (first, second) for path in (own.ground_truth, own.inference)]
        written = set(parts)
        assert len(written) == 4 and not written & {Known.of(folder).ground_truth}
        for number, own in enumerate((first, second)):
            share_jobs(own.ground_truth, [job(f"of_{number}")])
            KnownInference(own.inference, "host", "0" * 64).add(
                {"layers": number}, architecture(number, 1).measured[0]
            )
        # What another one has measured is found, which it was not told of.
        found = KnownInference(second.inference, "host", "0" * 64).of({"layers": 0})
        assert [one.configuration for one in found] == [{"batch_size": 1}]
        assert ids(first.ground_truth) == ids(second.ground_truth) == {"old", "of_0", "of_1"}
        assert [one.id for one in GroundTruthRecord.read(first.ground_truth).jobs] == ["of_0"]
    assert ids(known.ground_truth) == {"old"}  # which two would write at once
    with beginning_with(known, before, folder) as own:  # the last job
        assert ids(own.ground_truth) == {"old", "of_0", "of_1"}
    assert ids(known.ground_truth) == {"old", "of_0", "of_1"}
    every = KnownInference(known.inference, "host", "0" * 64).every()
    assert [one.architecture for one in every] == [{"layers": 0}, {"layers": 1}]


def test_the_first_error_is_the_one_that_is_told(tmp_path: Path) -> None:
    known = Known(tmp_path / "ground_truth.json")
    before = known.copied(tmp_path / "before")
    with (
        pytest.raises(KeyError, match="first"),
        beginning_with(known, before, tmp_path / "own") as own,
    ):
        share_jobs(own.ground_truth, [job("new")])
        known.ground_truth.write_text("{")
        raise KeyError("first")
    with pytest.raises(UserError, match="restore"), beginning_with(known, before, tmp_path / "own"):
        pass


def test_a_killed_search_that_is_not_gone_on_with_was_not_for_nothing(tmp_path: Path) -> None:
    known = Known(tmp_path / "ground_truth.json")
    earlier = tmp_path / "searches/earlier"
    before = known.copied(earlier / "known")
    share_jobs(before.copied(earlier / "seed_1/known").ground_truth, [job("learnt")])
    remove_but(tmp_path / "searches/now", known)
    assert ids(known.ground_truth) == {"learnt"} and not earlier.exists()


def request(folder: Path) -> Request:
    of = workload(TRAINING, workdir=str(folder))
    tuned = tuning(
        epochs={"least": 4, "most": 4}, training={"rate": choices(0.1, 0.2)},
        system={"threads": choices(1, 2)},
    )  # fmt: skip
    return Request(
        Workload(**{**vars(of), "tuning": tuned, "parameters": {"rate": 0.1, "epochs": 1}}),
        TunerConfig("pipetune", "pipetune"), Objective("accuracy"), HOST,
    )  # fmt: skip


def test_seeds_of_an_experiment_are_independent_and_a_later_search_knows(tmp_path: Path) -> None:
    truth = tmp_path / "truth.json"
    tune(request(tmp_path), [2, 1], tmp_path / "results", truth)
    table = read_table(tmp_path / "results/trials.parquet", TRIALS)
    # Either seed probes, as nothing was known when the first one began.
    for seed in (1, 2):
        own = table[table["seed"] == seed]
        assert own["epochs_probed"].sum() > 0 and own["known"].sum() == 0
    learnt = known_jobs(truth)
    assert len({one.id for one in learnt}) >= 2
    assert {one.machine for one in learnt} == {machine.machine_key("host")}
    # The same again goes on where it was, and adds nothing.
    tune(request(tmp_path), [2, 1], tmp_path / "results", truth)
    assert known_jobs(truth) == learnt
    tune(request(tmp_path), [1], tmp_path / "later", truth)
    [began_with] = (tmp_path / "later/searches").glob("*/known/ground_truth.json")
    assert known_jobs(began_with) == learnt


def test_a_damaged_file_is_named_and_not_copied(tmp_path: Path) -> None:
    truth = tmp_path / "truth.json"
    truth.write_text("{")
    with pytest.raises(UserError, match=f"{truth}: .*restore the ground truth"):
        tune(request(tmp_path), [1], tmp_path / "results", truth)
    truth.unlink()
    tune(request(tmp_path), [1], tmp_path / "results", truth)
    assert json.loads(truth.read_text())["jobs"]


@pytest.mark.parametrize(
    "other",
    [{"cpu_model": lambda: "another"}, {"installed_memory_gib": lambda: 1.2e6}],
)
def test_the_key_of_a_machine(monkeypatch: pytest.MonkeyPatch, other: dict[str, Any]) -> None:
    key = machine.machine_key("this_machine")
    assert key == machine.machine_key("this_machine") != machine.machine_key("h200")
    assert key.startswith("this_machine_") and job("a").id
    KnownJob("a", key, [], [])  # it is a word of the record
    for name, replacement in other.items():
        monkeypatch.setattr(machine, name, replacement)
    assert machine.machine_key("this_machine") != key


def test_settings_that_were_not_in_effect_are_no_result(tmp_path: Path) -> None:
    """A frequency is that of cores, and a trial that has none of its own cannot be given one."""
    of = workload(TRAINING, workdir=str(tmp_path))
    tuned = tuning(
        epochs={"least": 1, "most": 1}, training={"rate": choices(0.1)},
        system={"frequency_mhz": choices(1000.0), "memory_gib": choices(4)},
    )  # fmt: skip
    of = Workload(**{**vars(of), "tuning": tuned, "parameters": {"rate": 0.1, "epochs": 1}})
    v2 = TunerConfig("v2", "hyperband", parameters={"searched": ["training", "system"]})
    tune(Request(of, v2, Objective("accuracy"), HOST), [1], tmp_path / "r", tmp_path / "t.json")
    row = read_table(tmp_path / "r/trials.parquet", TRIALS).iloc[0]
    assert set(json.loads(row["settings"])) == {"memory_gib"}
    assert set(json.loads(row["not_set"])) == {"frequency_mhz"}
    text = (tmp_path / "r/best.yaml").read_text()
    assert "# not_set:\n#   frequency_mhz: " in text
    assert "frequency_mhz" not in text.split("\ncommand:")[0].replace("#   frequency_mhz", "", 1)
    assert "frequency_mhz" not in "\n".join(
        line for line in text.splitlines() if not line.startswith("#")
    )
