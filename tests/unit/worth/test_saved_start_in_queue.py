"""Starts from snapshots in a queue: what they save counts once, and no first start has one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_queues import jobs_of, nodes

from trimtab.batch.policies.registry import build_batch_policy
from trimtab.errors import UserError
from trimtab.records.built_environment import CompressedEnvironment
from trimtab.records.imports.saved_starts import SavedStarts, WorkloadStart
from trimtab.worth.fleet_images import DEFAULTS, FleetImage, Side, about, read_fleet
from trimtab.worth.replay import Prices, replay
from trimtab.worth.stages import Plan, Stage

EASY = build_batch_policy("easy")[1]
# Pairs save 3, 2 and 4 s.
SAVED = WorkloadStart("a", 9, 4.0, 1.0, [(4.0, 1.0), (4.0, 2.0), (4.5, 0.5)], "it writes", 30.0)
UNCLEAR = WorkloadStart("a", 9, 4.0, 3.9, [(4.0, 1.0), (4.0, 4.1), (4.5, 0.5)], "it writes")
USUAL = WorkloadStart("b", 0, None, None, [], "it saves too little")
ALONE = [{"submit_s": 100.0 * at, "run_s": 10.0, "image": "a"} for at in range(4)]


def image(warm_s: float, slim_warm_s: float) -> FleetImage:
    return FleetImage(Side(1e9, 10.0, warm_s), Side(1e8, 2.0, slim_warm_s), (), None, 60.0)


def response_s(
    of_image: FleetImage, *stages: Stage, rows: list[dict[str, Any]] = ALONE
) -> list[float]:
    """Return the mean response and start-up of jobs one after the other on one node."""
    plan = Plan({"a": of_image}, (EASY, None))
    figures = replay(jobs_of(rows), nodes(1, 1), plan, stages, Prices(), "core").figures
    return [figures["mean_response_s"], figures["mean_startup_s"]]


def test_a_warm_start_takes_less_and_the_first_on_a_node_is_a_usual_one() -> None:
    quick = image(5.0, 4.5).with_start(SAVED)
    assert Plan({"a": quick}, (EASY, None)).stages == (Stage.SLIM, Stage.START)
    assert quick.start_in_run_s == 0.0
    as_it_is, slim = 5.0 + 10 / 4, 5.0 + 2 / 4
    both = (2 + 4.5 + 3 * 1.5) / 4
    for stages, startup_s in (((), as_it_is), ((Stage.SLIM,), slim), (tuple(Stage)[:2], both)):
        assert response_s(quick, *stages) == pytest.approx([10 + startup_s, startup_s])


def test_of_known_times_the_pairs_share_counts() -> None:
    """Pairs of a slow day: a start of 5 s cannot take 30 s less."""
    slow = [(10 * before_s, 10 * after_s) for before_s, after_s in SAVED.pairs_s]
    quick = image(6.0, 5.0).with_start(replace(SAVED, pairs_s=slow), 5.0)
    assert quick.slim is not None and quick.start_in_run_s == 0.0
    # Shares of 0.75, 0.5 and 8/9.
    assert (quick.original.warm_s, quick.slim.warm_s) == (6.0, 5 * 0.25)
    assert quick.slim.snapshot_s == 5 * 0.75


def test_what_a_run_time_contains_moves_to_the_start() -> None:
    """Of a program that marks no first iteration, whose warm start is not known."""
    quick = image(0.0, 0.0).with_start(SAVED)
    assert response_s(quick) == pytest.approx([10 + 10 / 4, 3 + 10 / 4])  # as without the start
    assert response_s(image(0.0, 0.0))[0] == response_s(quick)[0]
    found = response_s(quick, Stage.START)
    assert found == pytest.approx([10 + 10 / 4 - 3 * 3 / 4, 3 / 4 + 10 / 4])


@given(st.floats(0, 9), st.floats(0, 9), st.floats(0.01, 9))
def test_it_saves_the_same_wherever_a_start_was_counted(
    warm_s: float, slim_warm_s: float, saved_s: float
) -> None:
    before = image(warm_s, slim_warm_s)
    quick = before.with_start(WorkloadStart("a", 9, saved_s, 0, [(saved_s, 0.0)], ""))
    assert quick.slim is not None and quick.slim.warm_s >= 0
    for stages in ((), (Stage.SLIM,)):
        assert response_s(quick, *stages)[0] == pytest.approx(response_s(before, *stages)[0])
    # Three of four starts have the snapshot.
    less_s = response_s(before, *Stage)[0] - response_s(quick, *Stage)[0]
    assert less_s == pytest.approx(saved_s * 3 / 4)


def test_a_run_is_never_shorter_than_nothing() -> None:
    rows = [{"submit_s": 0.0, "run_s": 1.0, "image": "a"}]
    assert response_s(image(0.0, 0.0).with_start(SAVED), rows=rows) == [13.0, 13.0]


@pytest.mark.parametrize("start", [None, UNCLEAR, USUAL])
def test_a_start_that_saves_nothing_clearly_changes_nothing(start: WorkloadStart | None) -> None:
    assert image(5.0, 5.0).with_start(start) == image(5.0, 5.0)
    alone = FleetImage(Side(1e9, 10.0, 5.0), None, (), None, None)
    assert alone.with_start(SAVED) == alone


def test_saving_it_counts_for_the_break_even_and_is_said() -> None:
    quick = image(5.0, 5.0).with_start(SAVED)
    assert quick.slimming_s == 60 + 30
    [said] = about([quick], DEFAULTS)
    assert said.startswith("starts from snapshots take 3.00 s less") and "images: 1" in said
    small = image(5.0, 5.0).with_start(WorkloadStart("a", 9, 2.0, 1.0, [(2.0, 1.0)], ""))
    [said] = about([quick, small, image(1.0, 1.0)], DEFAULTS)
    assert "1.00 to 3.00 s less" in said and "images: 2" in said


def workspace(folder: Path, *starts: WorkloadStart) -> Path:
    from slim_example import manifest_of

    folder.mkdir()
    CompressedEnvironment(
        target="t", compression="zstd", before_bytes=800, after_bytes=100
    ).write(folder / "compressed.json")  # fmt: skip
    manifest_of("compact", {}).write(folder / "manifest.json")
    if starts:
        SavedStarts(target="t", hardware="h", workloads=[*starts]).write(folder / "start.json")
    return folder


def fleet(path: Path, text: str) -> FleetImage:
    path.write_text(text)
    return read_fleet(path, DEFAULTS)["a"]


def test_a_folder_that_is_measured_says_its_saved_start(tmp_path: Path) -> None:
    workspace(tmp_path / "slim", SAVED)
    path = tmp_path / "images.csv"
    found = fleet(path, "image,measured,warm_start_s\na,slim,5\n")
    assert found.slim is not None
    assert (found.original.warm_s, found.slim.warm_s, found.start_in_run_s) == (5, 2, 0)
    found = fleet(path, "image,measured\na,slim/manifest.json\n")
    assert found.slim is not None
    assert (found.original.warm_s, found.slim.warm_s, found.start_in_run_s) == (3, 0, 3)
    found = fleet(path, "image,measured,slim_warm_start_s,warm_start_s\na,slim,1,5\n")
    assert found.slim is not None and (found.slim.warm_s, found.slim.snapshot_s) == (1, 0)


def test_of_several_programs_the_one_that_saves_least_counts(tmp_path: Path) -> None:
    workspace(tmp_path / "slim", SAVED, USUAL)
    found = fleet(tmp_path / "images.csv", "image,measured,warm_start_s\na,slim,5\n")
    assert found.slim is not None and found.slim.warm_s == 5


def test_a_damaged_saved_start_is_refused_with_its_place(tmp_path: Path) -> None:
    (workspace(tmp_path / "slim") / "start.json").write_text("{}")
    with pytest.raises(UserError, match=r"images.csv.*2: measured: .*start.json.*expected"):
        fleet(tmp_path / "images.csv", "image,measured\na,slim\n")
