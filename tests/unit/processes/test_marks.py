"""Marks are found whatever the pieces in which a program's lines arrive."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.config.groups.workload import Marks
from trimtab.errors import TrimtabError
from trimtab.processes.marks import FileFollower, MarkLog, PipeReader
from trimtab.untrusted import new_file

TEXT = b"warming up\nfirst\nepoch 1\n50%\rnot an epoch\nepoch 2\n\xff first\nepoch 3"
MARKS = Marks(first_iteration="^first", epoch="^epoch")


@given(st.lists(st.integers(0, len(TEXT)), max_size=8))
def test_how_the_output_is_cut_does_not_matter(cuts: list[int]) -> None:
    log = MarkLog(MARKS)
    ends = [*sorted(cuts), len(TEXT)]
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        log.feed(TEXT[start:end], float(end))
    first_ends = [end for end in ends if end >= TEXT.index(b"first\n") + 6]
    assert log.first_iteration_s == first_ends[0]
    # The last line has no newline yet, so it has not ended.
    assert len(log.epoch_ends_s) == 2 and log.epoch_ends_s == sorted(log.epoch_ends_s)


def test_what_named_groups_capture_is_kept_with_the_epoch() -> None:
    log = MarkLog(Marks(epoch=r"^epoch (?:\d+) (?P<loss>\S+)(?: (?P<accuracy>\S+))?"))
    log.feed(b"epoch 1 0.5\nepoch 2 0.25 0.9\n", 1.0)
    assert log.epoch_scores == [{"loss": "0.5"}, {"loss": "0.25", "accuracy": "0.9"}]


def test_a_line_without_end_does_not_fill_the_memory() -> None:
    log = MarkLog(MARKS)
    for _ in range(40):
        log.feed(b"x" * (1 << 16), 0.0)
    log.feed(b"\nfirst\n", 1.0)
    assert log.first_iteration_s == 1.0


def test_pieces_of_a_line_without_end_cost_what_they_hold() -> None:
    """Each one was copied with all that had come before it."""
    log = MarkLog(MARKS)
    log.feed(b"epoch 1\n", 0.0)
    for _ in range(1 << 16):
        log.feed(b"x" * 64, 1.0)
    assert len(log._unfinished) <= 2 << 20
    log.feed(b"\nepoch 2\n", 2.0)
    assert log.epoch_ends_s == [0.0, 2.0]


def test_epochs_and_scores_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trimtab.processes.marks.MOST_EPOCHS", 3)
    log = MarkLog(Marks(epoch="^epoch (?P<loss>.+)"))
    log.feed(b"epoch " + b"9" * 100_000 + b"\n", 0.0)
    log.feed(b"epoch 1\n" * 10, 1.0)
    assert len(log.epoch_ends_s) == len(log.epoch_scores) == 3 and log.too_many
    assert len(log.epoch_scores[0]["loss"]) == 400


@pytest.mark.parametrize("planted", ["fifo", "zeros", "folder"])
def test_what_is_no_file_has_no_marks(planted: str, tmp_path: Path) -> None:
    path = tmp_path / "marks"
    pieces: list[bytes] = []
    follower = FileFollower(path, pieces.append)
    if planted == "fifo":
        os.mkfifo(path)
    elif planted == "zeros":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    follower.start()
    follower.close()
    assert pieces == []


def test_a_file_of_marks_that_grows_by_a_terabyte(tmp_path: Path) -> None:
    path = tmp_path / "marks"
    follower = FileFollower(path, lambda data: pytest.fail("it was read"))
    path.touch()
    os.truncate(path, 1 << 40)
    follower.start()
    with pytest.raises(TrimtabError, match=r"marks.file: .*: grew by more than"):
        follower.close()


def test_a_pipe_that_stays_open_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is not of the run may have got it from one that is."""
    monkeypatch.setattr("trimtab.processes.marks._PIPE_PATIENCE_S", 0.01)
    out, into = os.pipe()
    with os.fdopen(out, "rb") as pipe, new_file(tmp_path / "stdout") as copy:
        reader = PipeReader(pipe, copy, lambda data: None)
        reader.start()
        with pytest.raises(TrimtabError, match="holds its standard output open"):
            reader.close()
        os.close(into)
        reader.join()


def test_only_what_is_appended_to_a_file_counts(tmp_path: Path) -> None:
    path = tmp_path / "marks"
    path.write_text("of an earlier run\n")
    pieces: list[bytes] = []
    follower = FileFollower(path, pieces.append)
    follower.start()
    with path.open("a") as file:
        file.write("new\n")
    follower.close()
    assert b"".join(pieces) == b"new\n"
    path.write_text("again\n")
    emptied = FileFollower(path, pieces.append)
    path.write_text("a\n")
    emptied.start()
    emptied.close()
    assert pieces[-1] == b"a\n"
