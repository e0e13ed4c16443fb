"""Each tuner by what it searches, plans and probes."""

from pathlib import Path
from typing import Any

import pytest
from spaces import choices, tuning

from trimtab.config.groups.tuning import Kind
from trimtab.errors import UserError
from trimtab.records.tuning.ground_truth import GroundTruthRecord, KnownJob
from trimtab.tuning.fidelity import BudgetKind
from trimtab.tuning.hyperband import Rung, brackets_of
from trimtab.tuning.probing import Phase, SystemTuner
from trimtab.tuning.steering import Fixed, MeasuredEpoch
from trimtab.tuning.tuners.base import Facts
from trimtab.tuning.tuners.registry import build_tuner

TUNING = tuning(
    epochs={"least": 2, "most": 18},
    data_fraction={"least": 0.5},
    training={"batch_size": choices(32, 64)},
    system={
        "cores": {"low": 1, "high": 4, "whole": True, "default": 2},
        "memory_gib": choices(8, 4),
    },
    forbidden=[{"training.batch_size": 64, "system.memory_gib": 4}],
)


def facts(folder: Path, cpus: int = 2) -> Facts:
    return Facts(TUNING, cpus, "host", "accuracy", folder / "ground_truth.json")


def test_tune_v1_and_v2(tmp_path: Path) -> None:
    first = build_tuner("hyperband", {}, facts(tmp_path))
    assert first.searched == [Kind.MODEL, Kind.TRAINING]
    assert first.brackets == brackets_of(9, 3)  # of 2 to 18 epochs
    complete = TUNING.completed({"training.batch_size": 64})
    steering = first.steerer(complete)
    assert steering == Fixed({"cores": 2, "memory_gib": 8})
    steering.epoch_ended(MeasuredEpoch(1.0, {}))
    assert steering.settings == {"cores": 2, "memory_gib": 8}
    searched = ["model", "training", "system"]
    second = build_tuner("hyperband", {"searched": searched, "budget": "both"}, facts(tmp_path))
    assert second.searched == list(Kind)[:3]
    assert second.fidelity.at(1).data_fraction == 0.5 and second.fidelity.levels == 9


def test_random_search_trains_all_to_the_end(tmp_path: Path) -> None:
    made = build_tuner("random_search", {"trials": 7}, facts(tmp_path))
    assert made.brackets == [(Rung(7, 9),)]
    assert made.fidelity.at(9).epochs == 18


def test_pipetune_probes_what_is_allowed_and_possible(tmp_path: Path) -> None:
    made = build_tuner("pipetune", {}, facts(tmp_path))
    assert made.searched == [Kind.MODEL, Kind.TRAINING]
    steering = made.steerer(TUNING.completed({"training.batch_size": 64}))
    assert isinstance(steering, SystemTuner)
    tried = []
    while steering.phase in (Phase.PROFILING, Phase.PROBING):
        tried.append(dict(steering.settings))
        cost = 1.0 if steering.settings["cores"] == 1 else 2.0
        steering.epoch_ended(MeasuredEpoch(cost, {"minor_faults": 10.0}))
    # Of 1 to 4 cores there are 2, and 4 GiB are forbidden beside this batch size.
    assert tried == [{"cores": 2, "memory_gib": 8}, {"cores": 1, "memory_gib": 8}]
    assert steering.settings == {"cores": 1, "memory_gib": 8}


def test_what_is_known_is_kept_for_later_tuners_and_others_are_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "ground_truth.json"
    other = KnownJob("server", "accuracy", {"minor_faults": 1.0}, {"cores": 9})
    GroundTruthRecord(jobs=[other]).write(path)
    complete = TUNING.completed({})
    first = build_tuner("pipetune", {}, facts(tmp_path)).steerer(complete)
    while isinstance(first, SystemTuner) and first.phase != Phase.BEST:
        cost = 1.0 if first.settings == {"cores": 1, "memory_gib": 4} else 2.0
        first.epoch_ended(MeasuredEpoch(cost, {"minor_faults": 10.0}))
    jobs = GroundTruthRecord.read(path).jobs
    assert jobs[0] == other and jobs[1].settings == {"cores": 1, "memory_gib": 4}
    assert len(jobs) == 2
    later = build_tuner("pipetune", {}, facts(tmp_path)).steerer(complete)
    later.epoch_ended(MeasuredEpoch(2.0, {"minor_faults": 10.1}))
    assert later.settings == {"cores": 1, "memory_gib": 4}


@pytest.mark.parametrize(
    ("kind", "parameters", "expected"),
    [
        ("hyperbnad", {}, "kind: 'hyperbnad' given, expected one of hyperband, pipetune, random"),
        ("base", {}, "expected one of"),
        ("hyperband", {"eta": 3}, "eta given; the keys of hyperband are: searched"),
    ],
)
def test_mistakes(tmp_path: Path, kind: str, parameters: dict[str, Any], expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        build_tuner(kind, parameters, facts(tmp_path))


def test_pipetune_has_something_to_probe(tmp_path: Path) -> None:
    nothing = tuning(training={"batch_size": choices(32, 64)})
    with pytest.raises(UserError, match="no parameter to tune inside trials"):
        build_tuner("pipetune", {}, Facts(nothing, 2, "h", "o", tmp_path / "g"))


def test_a_growing_kind_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="epoch"):
        build_tuner("hyperband", {"budget": "epoch"}, facts(tmp_path))
    assert BudgetKind("both") == BudgetKind.BOTH
