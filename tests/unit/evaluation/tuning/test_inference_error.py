"""The percent error of what the inference tuning server told, by hand."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from experiment_files import inputs
from test_tuned_report import row, written

from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.tuning.inference_error import InferenceError
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import INFERENCE


def measured(batch: int, seconds: float | None, joules: float | None = None) -> tuple[Any, ...]:
    text, failure = f'{{"batch_size": {batch}}}', "" if seconds else "it broke"
    return "{}", text, seconds, joules, "modelled", failure


def section(folder: Path, told: list[tuple[Any, ...]], alone: list[tuple[Any, ...]]) -> Any:
    path = written(folder, "edgetune", [row(0, 0, 2, 0.9)])
    for name, rows in (("inference", told), ("inference_alone", alone)):
        frame = pd.DataFrame(rows, columns=INFERENCE.names)
        write_table(path / f"{name}.parquet", INFERENCE, frame)
    return InferenceError(load(inputs([], [], tune=(path,))))


def test_errors_are_over_what_it_takes_alone(tmp_path: Path) -> None:
    told = [measured(1, 0.02, 0.3), measured(8, 0.01), measured(64, None), measured(256, 0.5)]
    alone = [
        one
        for time_s in (0.024, 0.025, 0.028)
        for one in (measured(1, time_s, 0.4), measured(8, 0.01), measured(64, 0.01))
    ]
    alone.append(measured(256, None))
    of = section(tmp_path, told, alone)
    [table] = of.tables
    first, second = table.ours  # what failed on either side is not compared
    # 50 samples a second were told, and 40 there were: a quarter too many.
    assert first["throughput_error_pct"] == pytest.approx(25)
    assert first["energy_error_pct"] == pytest.approx(25)
    assert (first["alone_s"], first["alone_spread_pct"]) == (0.025, pytest.approx(8))
    assert (second["throughput_error_pct"], second.get("energy_error_pct")) == (0, None)
    [figure] = of.figures
    assert "Figure 7.14" in figure.title and "NaN" not in figure.svg


def test_without_a_measurement_alone_there_is_no_error(tmp_path: Path) -> None:
    assert not section(tmp_path, [measured(1, 0.02)], []).applies
    assert not section(tmp_path / "other", [measured(1, 0.02)], [measured(8, 0.02)]).applies
