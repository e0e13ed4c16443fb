"""What a grid costs on rented instances, of trials with numbers to compute by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from experiment_files import inputs
from recorded_tuning import recorded
from test_tuned_report import row, written

from trimtab.errors import TrimtabError
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.tuning.grid_price import GridPrice, prices


def cost_of(folder: Path, rows: list[dict[str, Any]]) -> GridPrice:
    return GridPrice(load(inputs([], [], tune=(written(folder, "grid", rows),))))


def grid(*cores: int) -> list[dict[str, Any]]:
    """Two values of each of two parameters; a trial takes 8 s, by the number of cores less."""
    return [
        row(number, 0, 2, 0.9, configuration=json.dumps({"training.a": a, "training.b": b}),
            settings=json.dumps({"cores": count}), wall_s=8.0 / count + number % 2)
        for count in cores
        for number, (a, b) in enumerate([(1, 1), (1, 2), (2, 1), (2, 2)], start=4 * count)
    ]  # fmt: skip


def test_a_grid_times_the_price(tmp_path: Path) -> None:
    [table] = cost_of(tmp_path, grid(1, 2)).tables
    assert [(one["instance"], one["parameters"]) for one in table.ours] == [
        (name, number) for name in ("c7a.medium", "c7a.large") for number in range(1, 7)
    ]
    # On one core half of the trials take 8 s and half 9; three parameters are 27 trials.
    third = table.ours[2]
    assert (third["measured_trials"], third["trial_s"], third["trials"]) == (4, 8.5, 27)
    assert third["cost_usd"] == pytest.approx(27 * 8.5 / 3600 * 0.05132)
    assert table.ours[8]["cost_usd"] == pytest.approx(27 * 4.5 / 3600 * 0.10264)
    assert {one["source"] for one in table.ours} == {"modelled"}


def test_what_is_no_grid_has_no_cost(tmp_path: Path) -> None:
    assert not cost_of(tmp_path / "hole", grid(1, 2)[:-1]).applies
    assert not cost_of(tmp_path / "odd", grid(3)).applies  # no instance has three
    twice = [{**one, "trial": one["trial"] + 50} for one in grid(1)]
    assert not cost_of(tmp_path / "twice", grid(1) + twice).applies
    sweep = recorded(tmp_path, "grid_search.lenet5_sweep.accuracy")  # of one parameter, and cores
    assert not GridPrice(load(inputs([], [], tune=sweep))).applies


def test_failures_are_not_counted(tmp_path: Path) -> None:
    first, *rest = grid(1)
    [table] = cost_of(tmp_path, [{**first, "score": None, "wall_s": 900.0}, *rest]).tables
    said = table.ours[0]
    assert (said["measured_trials"], said["trial_s"]) == (3, pytest.approx(26 / 3))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("source: x\ninstances: []\n", "instances: "),
        ("source: x\ninstances: [{name: a, cpus: 1, usd_per_hour: -1}]\n", "usd_per_hour"),
        ("source: x\ninstances: [{name: a, cpus: 0, usd_per_hour: 1}]\n", "instances.0.cpus"),
        ("instances: [{name: a, cpus: 1, usd_per_hour: 1}]\n", "source"),
    ],
)
def test_a_wrong_price_is_told_with_its_file(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    with pytest.raises(TrimtabError, match=f"prices.yaml: .*{said}"):
        prices(path)
