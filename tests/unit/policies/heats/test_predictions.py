"""Planted models come out of the regressions again, and what does not fit is said."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.errors import UserError
from trimtab.policies.facts import Asked, ProbeRun
from trimtab.policies.heats.predictions import fit

GRID = [(cores, memory, gpus) for cores in (1, 2, 4) for memory in (0.5, 1.0) for gpus in (10, 30)]
COEFFICIENT = st.floats(0.0, 50.0)


def asking(cores: float, memory_gib: float, gpus: float = 0.0) -> Asked:
    return Asked(cores, memory_gib, work_s=1.0, gpus=gpus)


def planted(time: tuple[float, ...], energy: tuple[float, ...], levels: int = 1) -> list:
    """Observations on the grid; coefficients: constant, cores, memory, gpus, level."""

    def value(of: tuple[float, ...], *features: float) -> float:
        return of[0] + sum(a * b for a, b in zip(of[1:], features, strict=True))

    return [
        ProbeRun(
            "node", *row[:2], level, value(time, *row, level), value(energy, *row, level), row[2]
        )
        for row in GRID
        for level in range(levels)
    ]


@settings(max_examples=25)
@given(st.tuples(*[COEFFICIENT] * 5), st.tuples(*[COEFFICIENT] * 5))
def test_linear_models_are_recovered(time: tuple, energy: tuple) -> None:
    """Also outside of what was observed: 8 cores, 4 GiB, 100 GPUs."""
    time, energy = (1 + time[0], *time[1:]), (1 + energy[0], *energy[1:])
    model = fit(
        {"node": planted(time, energy, levels=2)}, features=["cores", "memory_gib", "gpus", "level"]
    )
    asked = asking(8, 4, 100)
    for level in (0, 1):
        row = np.array([1, 8, 4, 100, level])
        run_time_s, energy_j = model.predict("node", asked, level)
        assert run_time_s == pytest.approx(row @ time, rel=1e-6)
        assert energy_j == pytest.approx(row @ energy, rel=1e-6)


def test_as_published_over_cores_and_memory() -> None:
    seen = planted((5, -1, 2, 0, 0), (3, 1, 4, 0, 0))
    model = fit({"a": seen, "b": planted((50, -1, 2, 0, 0), (1, 0, 1, 0, 0))})
    classes = [asking(2, 0.5), asking(3, 2.0)]
    run_time_s, energy_j = model.predictions(classes, {"b": 1, "a": 2})
    assert run_time_s.shape == energy_j.shape == (2, 2, 2)
    assert run_time_s[:, 0, 0] == pytest.approx([49, 51])
    assert run_time_s[:, 1, 0] == pytest.approx([4, 6])
    assert energy_j[:, 1, 0] == pytest.approx([7, 14])
    # Without the level as a feature both levels say the same; a level that is not there is NaN.
    assert run_time_s[:, 1, 1] == pytest.approx([4, 6])
    assert np.isnan(run_time_s[:, 0, 1]).all()


def test_only_the_highest_level_counts_without_the_feature() -> None:
    seen = planted((10, 0, 0, 0, -8), (10, 0, 0, 0, 5), levels=2)
    assert fit({"a": seen}).predict("a", asking(1, 1), 0) == pytest.approx((2, 15))


@pytest.mark.parametrize(
    "regressor",
    ["RandomForestRegressor", "sklearn.ensemble.RandomForestRegressor", "KNeighborsRegressor"],
)
def test_other_regressors(regressor: str) -> None:
    """Where features vary in steps, trees learn a product that no line follows; and runs repeat."""
    seen = [ProbeRun("a", c, m, 0, 100 * g / c, 8 * g, g) for c, m, g in GRID for _ in range(5)]
    features = ["cores", "memory_gib", "gpus"]
    model = fit({"a": seen}, regressor=regressor, features=features)
    again = fit({"a": seen}, regressor=regressor, features=features)
    for cores, memory, gpus in GRID:
        asked = asking(cores, memory, gpus)
        assert model.predict("a", asked, 0) == again.predict("a", asked, 0)
        assert model.predict("a", asked, 0)[0] == pytest.approx(100 * gpus / cores, rel=0.15)


def test_predictions_stay_above_0() -> None:
    """Cores take time off: at 100 cores the line is far below 0, the prediction is not."""
    model = fit({"a": planted((10, -2, 0, 0, 0), (10, -2, 0, 0, 0))})
    run_time_s, energy_j = model.predict("a", asking(100, 1), 0)
    assert (run_time_s, energy_j) == pytest.approx((0.02, 0.02))  # 1 % of the smallest, 10 - 8


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"regressor": "Nope"}, "'Nope' given, expected linear"),
        ({"regressor": "sklearn.nope.Ridge"}, "sklearn.nope"),
        ({"regressor": "sklearn.linear_model.Nope"}, "Nope"),
        ({"regressor": "collections.OrderedDict"}, "expected linear"),
        ({"regressor": "sklearn.linear_model.LogisticRegression"}, "expected linear"),
        ({"features": ["cores", "colour"]}, "colour"),
        ({"features": []}, "each once"),
        ({"features": ["cores", "cores"]}, "each once"),
        ({"features": ["cores", "memory_gib", "gpus", "level"]}, "needs at least 5"),
    ],
)
def test_what_cannot_be_fitted(arguments: dict, said: str) -> None:
    with pytest.raises(UserError, match=said):
        fit({"node": planted((1, 0, 0, 0, 0), (1, 0, 0, 0, 0))[:4]}, **arguments)


def test_too_few_probes_and_unknown_types() -> None:
    seen = planted((1, 1, 1, 1, 0), (1, 1, 1, 1, 0))
    with pytest.raises(UserError, match=r"node type tiny: 2 probes, too few .* at least 3"):
        fit({"a": seen, "tiny": seen[:2]})
    with pytest.raises(UserError, match=r"'b'; there are: a"):
        fit({"a": seen}).predictions([asking(1, 1)], {"b": 1})
    with pytest.raises(UserError, match="energy_j is not a number above 0"):
        fit({"a": [*seen, ProbeRun("a", 1, 1, 0, 1, 0.0)]})
