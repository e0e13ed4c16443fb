"""The times of a program's rounds, measured on Spark."""

from pathlib import Path

import pytest

from trimtab.execution.spark.rounds import round_times
from trimtab.spark.programs.prepare import write_documentation_posts
from trimtab.spark.programs.word_popularity import WordPopularity
from trimtab.spark.session import Session


def test_the_rounds_of_a_program_are_measured(
    spark: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.execution.spark.rounds.WARM_UP", 1)
    write_documentation_posts(tmp_path / "posts.xml", 200_000)
    times = round_times(spark, {"words": WordPopularity(tmp_path / "posts.xml", 4, 2)})
    rounds = times["words"]
    assert rounds.distribution == "deterministic"
    assert 0 < rounds.map_task_s < 60 and 0 < rounds.reduce_task_s < 60
    assert min(rounds.set_up_s, rounds.shuffle_s, rounds.size_scv) >= 0
