"""Interactions of responses of which it is known whether there is one."""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest
from characterized_runs import failed, measured, run, table

from trimtab.evaluation.characterization.interactions import Interaction, interaction

GRID = [
    {"executors": executors, "depth": depth, "iterations": iterations}
    for executors, depth, iterations in product((1, 2, 4), (2, 5, 9), (10, 20, 40))
]


def rows_of(
    response: Callable[[int, int, int], float], noise: float = 0.01
) -> list[dict[str, Any]]:
    generator = np.random.default_rng(0)

    def of(setting: Mapping[str, Any], repeat: int) -> dict[str, float]:
        value = response(setting["executors"], setting["depth"], setting["iterations"])
        return {"train_s": value * (1 + noise * generator.standard_normal())}

    return measured(GRID, of)


def found(response: Callable[[int, int, int], float], noise: float = 0.01) -> Interaction:
    result = interaction(table(rows_of(response, noise)), "train_s")
    assert result is not None
    assert result.platform_pct + result.hyper_pct + result.interaction_pct == pytest.approx(100)
    assert 0 <= result.low_pct <= result.high_pct <= 100
    return result


def test_a_sum_has_none() -> None:
    result = found(lambda executors, depth, iterations: 10 / executors + depth + iterations / 10)
    assert result.interaction_pct < 3 and not result.is_shown
    assert result.hyper_pct > result.platform_pct > 10


def test_parameters_of_one_kind_do_not_count_as_both() -> None:
    result = found(lambda executors, depth, iterations: 50 / executors + depth * iterations)
    assert result.interaction_pct < 3 and not result.is_shown and result.hyper_pct > 90


def test_a_product_has_one() -> None:
    """Its share is that of the product itself, less what the means of rows and columns tell."""
    result = found(lambda executors, depth, iterations: executors * depth)
    first, second = np.array([1, 2, 4]), np.array([2, 5, 9])
    values = np.outer(first, second).astype(float)
    values -= values.mean()
    alone = (values.mean(axis=0) ** 2).mean() + (values.mean(axis=1) ** 2).mean()
    assert result.is_shown
    assert result.interaction_pct == pytest.approx(100 * (1 - alone / (values**2).mean()), abs=3)


def test_one_that_is_all() -> None:
    """More executors help deep trees, and hinder shallow ones."""
    result = found(lambda executors, depth, _: 5 + (executors - 7 / 3) * (depth - 16 / 3) / 4)
    assert result.is_shown and result.interaction_pct > 90


def test_noise_alone_shows_none() -> None:
    result = found(lambda executors, depth, iterations: 10, noise=0.1)
    assert not result.is_shown


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [run({})],
        [failed(setting) for setting in GRID],
        measured([{}, {"executors": 2}, {"depth": 9}], lambda *_: {}),
        measured([s for s in GRID if s["depth"] == 5 and s["iterations"] == 20], lambda *_: {}),
        measured(GRID, lambda *_: {"train_s": 1.0}),
        measured(GRID, lambda *_: {"train_s": None}),
        measured(GRID, lambda setting, _: {"train_s": 1.7e308 * (setting["depth"] == 9)}),
    ],
    ids=["none", "one", "failed", "one at a time", "one kind", "constant", "null", "largest"],
)
def test_nothing_to_say(rows: list[dict[str, Any]]) -> None:
    assert interaction(table(rows), "train_s") is None
