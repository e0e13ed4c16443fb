"""The results of a tuner's searches, from the tune stage."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from trimtab.records.tables import INFERENCE

_OF_EPOCH = ("epoch", "wall_s", "energy_j", "accuracy", "settings", "rates")


@dataclass(frozen=True)
class SeedSearch:
    """One search: its `trials` have the columns of TRIALS, in the order of their ends."""

    seed: int
    trials: pd.DataFrame

    @property
    def tuning_s(self) -> float:
        """Its duration."""
        return float(self.trials["ended_s"].max())

    @cached_property
    def work_epochs(self) -> float:
        """Its training in epochs over all data, restarted training included."""
        return float(self.trials["work_epochs"].sum())

    @cached_property
    def training_j(self) -> float:
        """The energy of all its trials' processes; NaN where any is unknown."""
        return float(self.trials["energy_j"].astype(float).sum(skipna=False))

    @property
    def tunes_inference(self) -> bool:
        """Whether inference was tuned as well."""
        return bool(self.trials["inference_tuning_s"].notna().any())

    @property
    def inference_tuning_s(self) -> float:
        """The time of measuring inference, beside the training."""
        return float(self.trials["inference_tuning_s"].sum())

    @property
    def inference_tuning_j(self) -> float:
        """The energy of measuring inference."""
        return float(self.trials["inference_tuning_j"].sum())

    @property
    def energy_j(self) -> float:
        """The energy of all training and measuring."""
        return self.training_j + self.inference_tuning_j

    @property
    def failed(self) -> int:
        """The number of rows without a score."""
        return int(self.trials["score"].isna().sum())

    @cached_property
    def best(self) -> "pd.Series[Any] | None":
        """The chosen row: the best score on the largest budget; None where all failed.

        With two folds, it is of the second, which the objective judged.
        """
        judged: pd.DataFrame = self.trials[self.trials["fold"] == self.trials["fold"].max()]
        good = judged.dropna(subset=["score"])
        if good.empty:
            return None
        order = good.sort_values(["chosen", "epochs", "data_fraction", "score", "trial"],
                                 ascending=[False, False, False, False, True])  # fmt: skip
        return order.iloc[0]

    def best_over_time(self) -> list[tuple[float, float]]:
        """Return the times and values at which the highest accuracy rose, in order."""
        steps: list[tuple[float, float]] = []
        for at_s, accuracy in sorted(
            zip(self.trials["ended_s"], self.trials["accuracy"], strict=True)
        ):
            if accuracy == accuracy and (not steps or accuracy > steps[-1][1]):
                steps.append((float(at_s), float(accuracy)))
        return steps


@dataclass(frozen=True)
class TunedCell:
    """One tuner on one workload, machine and objective; `label` is the tuner's.

    It began with the ground truth of the tuner `after`, unless that is "". `inference` has the
    columns of INFERENCE, and no rows where inference was not tuned. So has `alone`, measured
    without concurrent training.
    """

    tuner: str
    workload: str
    hardware: str
    objective: str
    label: str
    trials: pd.DataFrame
    inference: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=INFERENCE.names))
    after: str = ""
    alone: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=INFERENCE.names))

    @cached_property
    def epochs(self) -> pd.DataFrame:
        """The epochs of all trials, from `by_epoch`, with the columns of their rows.

        `settings` and `rates` are dictionaries; `row` is the position in `trials`.
        """
        keys = ["seed", "fold", "trial", "rung", "data_fraction", "by_epoch"]
        rows = [
            {**dict(zip(keys[:-1], said, strict=True)), "row": at, **epoch}
            for at, (*said, text) in enumerate(self.trials[keys].itertuples(index=False, name=None))
            for epoch in _epochs_in(text)
        ]
        return pd.DataFrame(rows, columns=[*keys[:-1], "row", *_OF_EPOCH])

    @cached_property
    def parameters(self) -> pd.DataFrame:
        """The parameters of each row of `trials`: one column per parameter, by its full name.

        System parameters are the settings in effect at the end, not the requested ones.
        """
        rows = [
            {**values_in(configuration), **_full("system", values_in(settings))}
            for configuration, settings in zip(
                self.trials["configuration"], self.trials["settings"], strict=True
            )
        ]
        return pd.DataFrame(rows, index=self.trials.index)

    @property
    def setting(self) -> tuple[str, str, str]:
        """The setting for comparing tuners: workload, hardware, objective."""
        return self.workload, self.hardware, self.objective

    @cached_property
    def searches(self) -> tuple[SeedSearch, ...]:
        """One for each seed."""
        return tuple(
            SeedSearch(seed, self.trials[self.trials["seed"] == seed])
            for seed in sorted(map(int, self.trials["seed"].unique()))
        )

    @property
    def energy_source(self) -> str:
        """Whether all joules were measured, or some modelled, or some are unknown."""
        found = set(self.trials["energy_source"])
        if "unknown" in found:
            return "unknown"
        return "measured" if found == {"measured"} else "modelled"


@dataclass(frozen=True)
class TunedSetting:
    """The tuners on one workload, machine and objective; others are compared with the first."""

    cells: tuple[TunedCell, ...]

    @property
    def label(self) -> str:
        """The workload and the objective."""
        return f"{self.cells[0].workload}, {self.cells[0].objective}"

    @property
    def baseline(self) -> TunedCell:
        """The experiment's first tuner."""
        return self.cells[0]


def settings_of(cells: Sequence[TunedCell]) -> Iterator[TunedSetting]:
    """Yield the cells by setting, in the order of their first mention."""
    for setting in dict.fromkeys(cell.setting for cell in cells):
        yield TunedSetting(tuple(cell for cell in cells if cell.setting == setting))


def values_in(text: str) -> dict[str, Any]:
    """Return the values of a text that is a JSON object; else an empty dictionary."""
    try:
        values = json.loads(text)
    except (ValueError, TypeError):
        return {}
    return values if isinstance(values, dict) else {}


def _epochs_in(text: str) -> Iterator[dict[str, Any]]:
    try:
        found = json.loads(text)
    except (ValueError, TypeError):
        return
    for epoch in found if isinstance(found, list) else ():
        if isinstance(epoch, dict) and set(epoch) == set(_OF_EPOCH):
            yield epoch


def _full(kind: str, values: dict[str, Any]) -> dict[str, Any]:
    return {f"{kind}.{name}": value for name, value in values.items()}
