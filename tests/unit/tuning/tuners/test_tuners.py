"""Each tuner by what it searches, plans and probes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from spaces import choices, tuning

from trimtab.config.groups.objective import Least
from trimtab.config.groups.tuning import Kind
from trimtab.errors import UserError
from trimtab.records.tuning.ground_truth import KnownJob, RelativeCost
from trimtab.tuning.fidelity import BudgetKind
from trimtab.tuning.hyperband import Rung, brackets_of
from trimtab.tuning.system.pool import ResourceDemand
from trimtab.tuning.system.shared_truth import known_jobs, share_jobs
from trimtab.tuning.system.system_tuner import (
    FixedSettings,
    MeasuredEpoch,
    ResourceView,
    Settings,
    SystemTuner,
)
from trimtab.tuning.tuners.base import TunerInputs
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


def facts(folder: Path, cpus: int = 2) -> TunerInputs:
    return TunerInputs(TUNING, cpus, "host", Least.TIME, folder / "ground_truth.json")


ALONE = ResourceView(1, ResourceDemand(2, 16.0), ResourceDemand(2, 16.0))


def epochs(
    steering: SystemTuner, count: int, best: Settings, faults: float = 1e4
) -> list[Settings]:
    """What the epochs of a trial run under, of which those under the best settings are short."""
    found = []
    for number in range(count):
        found.append(dict(steering.settings_for(replace(ALONE, starts=not number))))
        wall_s = 1.0 if found[-1] == best else 2.0
        rates = {"minor_faults": faults}
        steering.epoch_ended(MeasuredEpoch(wall_s, None, rates, wall_s, is_first=not number))
    return found


def test_tune_v1_and_v2(tmp_path: Path) -> None:
    first = build_tuner("hyperband", {}, facts(tmp_path))
    assert first.searched == [Kind.MODEL, Kind.TRAINING]
    assert first.brackets == brackets_of(9, 3)  # of 2 to 18 epochs
    # 3 on 3 levels, 1 on 6 more: 15, four times in the 21 + 21 + 27 of HyperBand's brackets.
    halving = build_tuner("hyperband", {"halving": 3}, facts(tmp_path))
    assert halving.brackets == [(Rung(3, 3), Rung(1, 9))] * 4
    with pytest.raises(ValueError, match="halving from 0"):
        build_tuner("hyperband", {"halving": 0}, facts(tmp_path))
    complete = TUNING.completed({"training.batch_size": 64})
    steering = first.steerer(complete)
    assert steering == FixedSettings({"cores": 2, "memory_gib": 8})
    steering.epoch_ended(MeasuredEpoch(1.0, None, {}, 1.0))
    assert steering.settings_for(ALONE) == {"cores": 2, "memory_gib": 8}
    searched = ["model", "training", "system"]
    second = build_tuner("hyperband", {"searched": searched, "budget": "both"}, facts(tmp_path))
    assert second.searched == list(Kind)[:3]
    assert second.fidelity.at(1).data_fraction == 0.5 and second.fidelity.levels == 9


def test_random_search_trains_all_to_the_end(tmp_path: Path) -> None:
    made = build_tuner("random_search", {"trials": 7}, facts(tmp_path))
    assert made.brackets == [(Rung(7, 9),)]
    assert made.fidelity.at(9).epochs == 18


def test_a_grid_has_no_more_trials_than_configurations(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"algorithm": "grid", "searched": ["training", "system"]}
    made = build_tuner("random_search", keys | {"trials": 1000}, facts(tmp_path))
    # Two batch sizes, one or two of four cores as there are, two memories, and one pair forbidden.
    assert made.brackets == [(Rung(6, 9),)]
    assert build_tuner("random_search", keys | {"trials": 3}, facts(tmp_path)).brackets == [
        (Rung(3, 9),)
    ]


def test_pipetune_probes_what_is_allowed_and_possible(tmp_path: Path) -> None:
    made = build_tuner("pipetune", {}, facts(tmp_path))
    assert made.searched == [Kind.MODEL, Kind.TRAINING]
    default, less = {"cores": 2, "memory_gib": 8}, {"cores": 1, "memory_gib": 8}
    # Of 1 to 4 cores there are 2, and 4 GiB are forbidden beside this batch size.
    steering = made.steerer(TUNING.completed({"training.batch_size": 64}))
    assert epochs(steering, 6, less) == [default, less, less, default, less, less]
    # What differs from the best so far in one parameter is probed, and nothing else.
    wide = build_tuner("pipetune", {"probing_share": 1.0}, facts(tmp_path / "new"))
    other = wide.steerer(TUNING.completed({"training.batch_size": 32}))
    tried = epochs(other, 6, less)
    assert tried == [
        default,
        less,
        {"cores": 1, "memory_gib": 4},
        default,
        less,
        less,
    ]


def test_counts_are_probed_by_doubling(tmp_path: Path) -> None:
    for low, high, expected in ((1, 16, [1, 2, 4, 8, 16]), (0, 12, [0, 1, 2, 4, 8, 12]),
                                (1, 3, [1, 2, 3]), (6, 11, [6, 8, 11])):  # fmt: skip
        wide = tuning(
            training={"batch_size": choices(32, 64)},
            system={"threads": {"low": max(low, 1), "high": high, "whole": True, "default": high}}
            if low
            else {"loader_workers": {"low": 0, "high": high, "whole": True, "default": high}},
        )
        given = TunerInputs(wide, 16, "h", Least.TIME, tmp_path / f"{low}_{high}")
        made = build_tuner("pipetune", {"probing_share": 1.0}, given)
        [name] = wide.system
        tried = epochs(made.steerer(wide.completed({})), 8, {})
        assert sorted({int(one[name]) for one in tried}) == expected


def test_what_is_known_is_kept_for_later_tuners_and_others_are_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "ground_truth.json"
    other = KnownJob("1", "server", [], [RelativeCost({"cores": 9}, 1.0, None, True)])
    share_jobs(path, [other])
    complete, best = TUNING.completed({}), {"cores": 1, "memory_gib": 4}
    epochs(build_tuner("pipetune", {}, facts(tmp_path)).steerer(complete), 9, best)
    jobs = known_jobs(path)
    assert jobs[0] == other and len(jobs) == 2
    assert min(jobs[1].costs, key=lambda cost: cost.time).settings == best
    later = build_tuner("pipetune", {}, facts(tmp_path)).steerer(complete)
    assert epochs(later, 2, best, faults=1.01e4) == [{"cores": 2, "memory_gib": 8}, best]


def test_shares_that_are_none(tmp_path: Path) -> None:
    for share in (0, 1.5):
        with pytest.raises(ValueError, match="probing_share"):
            build_tuner("pipetune", {"probing_share": share}, facts(tmp_path))


@pytest.mark.parametrize(
    ("kind", "parameters", "expected"),
    [
        ("hyperbnad", {}, "kind: 'hyperbnad' given, expected one of edgetune, hyperband"),
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
        build_tuner("pipetune", {}, TunerInputs(nothing, 2, "h", Least.TIME, tmp_path / "g"))


def test_a_growing_kind_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="epoch"):
        build_tuner("hyperband", {"budget": "epoch"}, facts(tmp_path))
    assert BudgetKind("both") == BudgetKind.BOTH
