"""How searches on surrogates are counted and judged (benchmarks/tuning), on tasks made up here."""

import random
from dataclasses import dataclass
from typing import Any

import pytest
from ours import ours
from peers import PEERS
from surrogate_table import against, judged
from surrogate_tasks import LCBENCH, RPART, Family, Parameter, SpentError, Trainer


@dataclass
class MadeUp:
    """The best is at 0.7; a level brings less than the one before."""

    family: Family
    levels: int = 9
    name: str = "lcbench/made up"
    parameters: tuple[Parameter, ...] = (
        Parameter("rate", 0.0, 1.0),
        Parameter("units", 8, 64, log=True, whole=True),
    )

    def drawn(self, rng: random.Random) -> dict[str, Any]:
        return {one.name: one.drawn(rng) for one in self.parameters}

    def scores(self, configurations: list[dict[str, Any]], levels: list[int]) -> list[float]:
        return [
            1 - abs(configuration["rate"] - 0.7) - 1 / (1 + level)
            for configuration, level in zip(configurations, levels, strict=True)
        ]


def trainer(family: Family, budget: int) -> Any:
    return Trainer(MadeUp(family), budget)  # type: ignore[arg-type]


def test_who_trains_on_pays_for_the_missing_epochs() -> None:
    one, first, other = trainer(LCBENCH, 20), {"rate": 0.5, "units": 8}, {"rate": 0.5, "units": 9}
    for configuration, level, spent in (
        (first, 1, 1),
        (first, 3.4, 3),
        (other, 3, 6),
        (first, 2, 6),
    ):
        assert one.train(configuration, level) == pytest.approx(0.8 - 1 / (1 + round(level)))
        assert one.spent == spent
    assert one.trace == []  # nothing was trained to the end
    one.train(first, 9)
    assert (one.spent, one.trace, one.evaluations) == (12, [(12, one.best)], 5)
    with pytest.raises(SpentError):
        one.train({"rate": 0.7, "units": 8}, 9)  # 8 are left
    assert one.best == pytest.approx(0.8 - 0.1)


def test_more_data_is_work_from_the_beginning() -> None:
    one, configuration = trainer(RPART, 20), {"rate": 0.5, "units": 8}
    one.train(configuration, 3)
    one.train(configuration, 9)
    assert one.spent == 12


@pytest.mark.parametrize("method", ["random", "optuna_tpe_hyperband", "ours:halving=9", "ours"])
def test_searches_end_with_their_budget(method: str) -> None:
    name, _, settings = method.partition(":")
    search = ours(settings) if name == "ours" else PEERS[name]
    found = []
    for _ in range(2):
        one = trainer(LCBENCH, 90)
        with pytest.raises(SpentError):
            search(one, 3)
        found.append(one.trace)
        assert one.spent == 90 and one.best > 0.5
    assert found[0] == found[1] != []


def test_the_verdict_by_hand() -> None:
    tasks = [f"t{number}" for number in range(9)]
    good = {
        (task, seed): 0.1 + number / 1000 for number, task in enumerate(tasks) for seed in (0, 1)
    }
    bad = {key: regret + 0.2 for key, regret in good.items()}
    found = against(good, {**bad, ("t0", 2): 0.9})
    assert found is not None
    assert found["difference"] == pytest.approx(-0.2)
    assert (found["verdict"], found["runs"], found["runs_that_ours_wins"]) == ("better", 18, 1.0)
    assert (against(bad, good) or {})["verdict"] == "worse"
    assert (against(good, good) or {})["verdict"] == "no difference"
    assert against(good, {("t0", 9): 0.5}) is None


def test_regret_is_a_share_of_the_range_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surrogate_table.RANDOM", 500)
    rows = [
        {"method": method, "task": "lcbench/made up", "seed": 0, "budget": 20, "best": best,
         "cpu_s": 1.0}
        for method, best in (("ours:halving=9", 0.9), ("random", 0.5), ("dehb", float("-inf")))
    ]  # fmt: skip
    methods: Any = judged(rows, [MadeUp(LCBENCH)])["20 full trainings"]  # type: ignore[list-item]
    assert methods["ours:halving=9"]["median_regret"] == 0  # no draw is above 1 - 1 / 10
    # From 0.9 down to the worst draw, near rate 0: 0.2.
    assert methods["random"]["median_regret"] == pytest.approx(0.4 / 0.7, abs=0.01)
    assert methods["dehb"]["median_regret"] == 1
    assert not methods["random"]["complete"]
