"""What is kept of finished runs survives a kill at any byte, and nothing else is taken for it."""

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from space import SPACE, STAGE, TREE, row

from trimtab.characterization.journal import CharacterizationJournal
from trimtab.config.groups.learning.workload import LearningWorkload, Method

RUNS = SPACE.defaults()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    journal = CharacterizationJournal(path, STAGE)
    for run in RUNS:
        assert not journal.has(run)
        journal.add(row(run))
        assert journal.has(run)
    return path.read_bytes()


@given(st.data())
def test_cut_anywhere_it_has_the_whole_lines(
    written: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    size = data.draw(st.integers(0, len(written)))
    path = tmp_path_factory.mktemp("cut") / "journal.jsonl"
    path.write_bytes(written[:size])
    journal = CharacterizationJournal(path, STAGE)
    whole = max(0, written[:size].count(b"\n") - 1)
    assert [journal.has(run) for run in RUNS] == [place < whole for place in range(len(RUNS))]
    journal.add(row(RUNS[-1]))  # at the beginning of a line
    again = CharacterizationJournal(path, STAGE)
    assert again.has(RUNS[-1])
    assert again.rows[:whole] == [row(run) for run in RUNS[:whole]]


@given(st.binary(max_size=200))
def test_what_others_wrote_is_passed_over(
    written: bytes, tmp_path_factory: pytest.TempPathFactory, junk: bytes
) -> None:
    path = tmp_path_factory.mktemp("junk") / "journal.jsonl"
    for content in (junk, written.split(b"\n")[0] + b"\n" + junk):
        path.write_bytes(content)
        assert CharacterizationJournal(path, STAGE).rows == []


def test_more_repeats_and_workloads_leave_what_is_finished(written: bytes, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(written)
    larger = dataclasses.replace(STAGE.characterization, repeats=9, joint_settings=0)
    stage = dataclasses.replace(STAGE, characterization=larger, workloads=[TREE])
    assert len(CharacterizationJournal(path, stage).rows) == len(RUNS)


@pytest.mark.parametrize("change", [{"master": "standalone"}, {"warm_up_runs": 3}])
def test_another_engine_begins_anew(written: bytes, tmp_path: Path, change: dict) -> None:  # type: ignore[type-arg]
    path = tmp_path / "journal.jsonl"
    path.write_bytes(written)
    other = dataclasses.replace(STAGE.characterization, **change)
    assert (
        CharacterizationJournal(path, dataclasses.replace(STAGE, characterization=other)).rows == []
    )


def test_other_data_begin_anew(written: bytes, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(written)
    moved = LearningWorkload("iris_kmeans", "iris", Method.KMEANS, location="iris.csv")
    assert (
        CharacterizationJournal(path, dataclasses.replace(STAGE, workloads=[TREE, moved])).rows
        == []
    )
