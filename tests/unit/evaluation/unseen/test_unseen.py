"""What was not profiled, in the report: every estimate and every miss that the records have."""

from pathlib import Path

import experiment_files as files

from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.unseen.held_out import HeldOutInputs
from trimtab.evaluation.unseen.saturated import Saturated
from trimtab.profiling.saturation import saturation_of
from trimtab.records.misses.held_out import HeldOutInput, HeldOutRun
from trimtab.records.misses.removed_calls import RemovedCall
from trimtab.records.misses.removed_files import MissedFile

RUNS = [{("lib", n) for n in range(10 + run)} for run in range(3)]
CALLS = [RemovedCall("lib/x.so", 16 * n, f"f{n}" if n else "", 1) for n in range(7)]


def test_saturation_is_shown_as_it_was_recorded(tmp_path: Path) -> None:
    found = saturation_of("functions", "run", RUNS)
    alone = saturation_of("functions", "run", RUNS[:1])
    assert found and alone
    profiles = [
        files.write_profile(tmp_path / "a", "lenet5_train", saturation=[found]),
        files.write_profile(tmp_path / "b", "lstm_train", saturation=[alone]),
    ]
    debloats = [
        files.write_debloat(tmp_path / "c"),
        files.write_debloat(tmp_path / "d", "lstm_train", ("lstm_train",)),
    ]
    section = Saturated(load(files.inputs(profiles, debloats)))
    [table] = section.tables
    first, second = table.rows
    assert (first["seen"], first["once"], first["runs"]) == (12, 1, 3)
    assert first["next_run"] == 1 / 3 and second["next_run"] is None
    [figure] = section.figures
    assert "lenet5_train, functions by run" in figure.svg and "lstm_train" not in figure.svg
    new = section.metrics()["saturation"]["lenet5_train"]["new_functions_percent"]
    assert found.coverage is not None and new == 100 * (1 - found.coverage)


def test_every_held_out_input_is_shown_with_what_it_missed(tmp_path: Path) -> None:
    runs = [
        HeldOutRun("strict", 1, CALLS[:1], ended="ended with exit code 70"),
        HeldOutRun("report", 9, equal=True),
        HeldOutRun("restore", 8, CALLS, [MissedFile("share/data", "file", 1)], equal=True),
    ]
    held = HeldOutInput("lenet5_train", "other_batch", ["python", "x"], runs)
    debloated = files.write_debloat(tmp_path / "c", held_out=[held])
    section = HeldOutInputs(load(files.inputs([files.write_profile(tmp_path / "a")], [debloated])))
    [table] = section.tables
    assert [row["behaviour"] for row in table.rows] == ["strict", "report", "restore"]
    assert table.rows[2]["names"] == (
        "file share/data; lib/x.so: 0x0; lib/x.so: f1; lib/x.so: f2; lib/x.so: f3; and 3 more"
    )
    assert "exit_code" not in [column.key for column in table.columns]
    assert "exit code" not in table.caption
    assert section.metrics() == {"held_out": {"inputs": 1, "right": 1}}


def test_exit_codes_are_shown_where_an_input_has_one_of_its_own(tmp_path: Path) -> None:
    runs = [HeldOutRun("restore", 0, equal=True)]
    held = [
        HeldOutInput("lenet5_train", "suite", ["python", "x"], runs, 1, 0),
        HeldOutInput("lenet5_train", "other", ["python", "x"], runs, 3, 3),
    ]
    debloated = files.write_debloat(tmp_path / "c", held_out=held)
    section = HeldOutInputs(load(files.inputs([files.write_profile(tmp_path / "a")], [debloated])))
    [table] = section.tables
    assert "exit_code" in [column.key for column in table.columns]
    assert [row["exit_code"] for row in table.rows] == [1, None]
    assert "exit code of its own" in table.caption


def test_nothing_is_shown_where_nothing_was_held_out_or_counted(tmp_path: Path) -> None:
    profiles, debloats = (
        [files.write_profile(tmp_path / "a")],
        [files.write_debloat(tmp_path / "c")],
    )
    measured = load(files.inputs(profiles, debloats))
    assert not HeldOutInputs(measured).applies and not Saturated(measured).applies
