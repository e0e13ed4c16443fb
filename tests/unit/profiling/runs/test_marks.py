"""Marks are found whatever the pieces in which a program's lines arrive."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from trimtab.config.groups.workload import Marks
from trimtab.profiling.runs.marks import FileFollower, MarkLog

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
