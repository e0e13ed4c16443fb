"""The times of a program's rounds, measured on Spark."""

from dataclasses import fields
from pathlib import Path

import pytest

from trimtab.config.groups.trace import RoundsConfig
from trimtab.execution.spark.rounds import measure_rounds
from trimtab.spark.programs.posts import write_documentation_posts
from trimtab.spark.programs.word_popularity import WordPopularity
from trimtab.spark.session import Session


def test_the_keys_of_a_traces_rounds_are_measured(
    spark: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.execution.spark.rounds.WARM_UP", 1)
    write_documentation_posts(tmp_path / "posts.xml", 200_000)
    measured = measure_rounds(spark, {"words": WordPopularity(tmp_path / "posts.xml", 4, 2)})
    (rounds,) = measured.values()
    assert set(rounds) <= {spec.name for spec in fields(RoundsConfig)}
    assert rounds.pop("distribution") == "deterministic"
    assert all(0 <= float(value) < 60 for value in rounds.values())
    assert float(rounds["map_task_s"]) > 0 < float(rounds["reduce_task_s"])
