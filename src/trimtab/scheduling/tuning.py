"""What tuning saves the jobs of a class, by searches of the stage tune."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from trimtab.records.parquet.files import read_table
from trimtab.records.tables import TRIALS
from trimtab.scheduling.cell import half_width

_FEWEST_SEEDS, _CONFIDENCE = 3, 0.95


class Tuning(NamedTuple):
    """The run time with the last tuner's best model relative to the first's; None if unclear."""

    share: float | None
    remark: str


def tuning_of(trials: Sequence[Path]) -> Tuning:
    """Return what the last of some searches saves beside the first.

    `trials` are TRIALS, in folders TUNER/WORKLOAD/HARDWARE/OBJECTIVE. Seeds count whose best models
    trained for as many epochs. The share is clear if Student's interval of its mean over three or
    more seeds does not contain 1.
    """
    if len(trials) < 2:
        return Tuning(None, "searches of one tuner are compared with nothing")
    first, last = (_best(read_table(path, TRIALS)) for path in (trials[0], trials[-1]))
    both = first.merge(last, on="seed", suffixes=("", "_last"))
    both = both[both["epochs_trained"] == both["epochs_trained_last"]]
    shares = (both["training_s_last"] / both["training_s"]).to_numpy(np.float64)
    names = f"{trials[-1].parts[-5]} beside {trials[0].parts[-5]}"
    if len(shares) < _FEWEST_SEEDS:
        return Tuning(
            None, f"{names}: seeds to compare: {len(shares)}, expected {_FEWEST_SEEDS} or more"
        )
    mean, half = float(shares.mean()), half_width(shares, confidence=_CONFIDENCE)
    words = (
        f"{names}: best models train for {mean:.2f} of the time"
        f" ({mean - half:.2f} to {mean + half:.2f}, 95 %, {len(shares)} seeds, searches one after"
        " the other)"
    )
    if mean - half <= 1 <= mean + half:
        return Tuning(None, f"{words}: no change")
    return Tuning(mean, words)


def _best(trials: pd.DataFrame) -> pd.DataFrame:
    """Return training time and epochs of each seed's best model on the largest budget."""
    judged = trials[(trials["fold"] == trials["fold"].max()) & trials["score"].notna()]
    best = judged.sort_values(
        ["chosen", "epochs", "data_fraction", "score", "trial"],
        ascending=[False, False, False, False, True],
    ).drop_duplicates("seed")
    found: pd.DataFrame = best.set_index("seed")[["training_s", "epochs_trained"]]
    return found
