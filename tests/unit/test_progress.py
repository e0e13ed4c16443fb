"""Jobs tell how far they are where the workflow tells what it does."""

import os
from collections.abc import Iterator

import pytest

from trimtab.progress import CHANNEL, run_done, runs_to_do


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """What is told can be read from here."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    monkeypatch.setattr("trimtab.progress._channels", [])
    monkeypatch.setenv(CHANNEL, str(writer))
    yield reader
    os.close(reader)
    os.close(writer)


def take(total: int | None, *times_s: float) -> None:
    clock = iter([0.0, *times_s])
    with runs_to_do("profile one", total, lambda: next(clock)):
        assert CHANNEL not in os.environ  # no program sees it
        for _ in times_s:
            run_done()


def test_runs_done_of_runs_to_do_and_the_time_that_is_left(told: int) -> None:
    take(10, 20.0, 40.0)
    assert os.read(told, 1000).decode().splitlines() == [
        "profile one: 1 of 10 runs done, about 3 min left",
        "profile one: 2 of 10 runs done, about 3 min left",
    ]


def test_of_an_unknown_number_the_time_is_told_that_they_took(told: int) -> None:
    take(None, 20.0)
    assert os.read(told, 1000) == b"profile one: 1 runs done in 20 s\n"


def test_short_steps_tell_nothing(told: int) -> None:
    take(3, 1.0, 2.0, 30.0)
    with pytest.raises(BlockingIOError):
        os.read(told, 1000)


def test_without_a_workflow_nothing_is_told() -> None:
    take(3, 20.0)
    run_done()
