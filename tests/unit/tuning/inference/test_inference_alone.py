"""What the server told is measured again: every configuration, in rounds, by whole tables."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from trimtab.records.parquet.files import read_table, write_table
from trimtab.records.tables import INFERENCE
from trimtab.records.tuning.inference import MeasuredInference
from trimtab.tuning.inference.alone import ROUNDS, measure_alone
from trimtab.tuning.inference.serving import TIMEOUT_S
from trimtab.tuning.search.duration import longest_alone_s


def told(path: Path, *rows: tuple[str, str]) -> Path:
    """A table of configurations, with why they failed."""
    known = [("{}", each, 1.0, None, "unknown", failure) for each, failure in rows]
    write_table(path, INFERENCE, pd.DataFrame(known, columns=INFERENCE.names))
    return path


def test_every_configuration_that_was_measured_is_again(tmp_path: Path) -> None:
    path = told(
        tmp_path / "inference.parquet",
        ('{"batch_size": 1}', ""), ('{"batch_size": 8}', "it broke"), ('{"batch_size": 64}', ""),
    )  # fmt: skip
    alone, asked = tmp_path / "inference_alone.parquet", list[int]()
    assert longest_alone_s(path) == 2 * ROUNDS * TIMEOUT_S

    def measure(
        architecture: Mapping[str, Any], configuration: Mapping[str, Any], folder: Path
    ) -> MeasuredInference:
        assert architecture == {} and list(folder.iterdir()) == []
        (folder / "left").touch()
        asked.append(configuration["batch_size"])
        if len(asked) == 2:
            return MeasuredInference(dict(configuration), failure="out of memory")
        return MeasuredInference(dict(configuration), 0.5, 2.0, "modelled", [0.5])

    measure_alone(path, alone, measure)
    assert asked == [1, 64] * ROUNDS  # in rounds, not one after the other
    table = read_table(alone, INFERENCE)
    assert len(table) == 2 * ROUNDS and list(table["failure"]).count("out of memory") == 1
    assert table["inference_s"].dropna().eq(0.5).all() and table["inference_s"].isna().sum() == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([path.name, alone.name])


def test_where_nothing_was_told_nothing_is_measured(tmp_path: Path) -> None:
    alone = tmp_path / "inference_alone.parquet"
    assert longest_alone_s(tmp_path / "none.parquet") == 0
    measure_alone(tmp_path / "none.parquet", alone, lambda *_: pytest.fail("measured"))
    assert read_table(alone, INFERENCE).empty


def test_a_measurement_that_is_stopped_leaves_no_table(tmp_path: Path) -> None:
    path, alone = told(tmp_path / "t.parquet", ('{"batch_size": 1}', "")), tmp_path / "a.parquet"

    def stopped(*_: Any) -> MeasuredInference:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_alone(path, alone, stopped)
    assert not alone.exists()
    measure_alone(path, alone, lambda *_: MeasuredInference({"batch_size": 1}, 0.5, batch_s=[0.5]))
    assert len(read_table(alone, INFERENCE)) == ROUNDS
