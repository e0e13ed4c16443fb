"""Files of the schedule stage that are missing, broken or contradict each other are refused."""

from pathlib import Path
from typing import Any

import experiment_files as files
import pytest
import schedule_files as schedules

from trimtab.errors import TrimtabError, UserError
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.inputs.schedule_files import (
    CLASS_NUMBERS,
    SCHEDULE_FILES,
    TOTAL_NUMBERS,
    read_cells,
    read_deflator,
    read_trace,
)
from trimtab.files import read_json, write_json


def edited(path: Path, *keys: str, **changes: Any) -> None:
    """Change one object, found by `keys`, of a JSON document; None removes a key."""
    document = read_json(path)
    at = document
    for key in keys:
        at = at[key]
    at |= changes
    for key in [key for key, value in changes.items() if value is None]:
        del at[key]
    write_json(path, document)


def test_an_experiment_of_schedules_alone_is_read(tmp_path: Path) -> None:
    measurements = load(schedules.write_everything(tmp_path))
    found = measurements.schedules
    assert measurements.targets == ()
    assert [setting.label for setting in found.settings] == ["reference", "bursts"]
    assert [cell.label for cell in found.settings[0].cells] == ["P", "NP", "DA(0,20)"]
    assert found.settings[0].classes == ["high", "low"]
    assert found.deflators[0].trace == "reference"
    assert found.deflators[0].cluster == "cluster"
    assert found.traces[0].accuracy_loss == {"low": [(0.2, 15.0), (0.1, 8.5)]}


def test_the_baseline_stands_first_wherever_it_was_given(tmp_path: Path) -> None:
    folders = schedules.write_dias(tmp_path)
    found = load(files.inputs([], [], schedules=tuple(reversed(folders)))).schedules
    assert [cell.label for cell in found.settings[0].cells] == ["P", "DA(0,20)", "NP"]
    assert found.settings[0].baseline is found.settings[0].cells[0]


def test_two_clusters_are_told_apart_by_their_labels(tmp_path: Path) -> None:
    folders = schedules.write_dias(tmp_path / "a")
    folders += schedules.write_dias(tmp_path / "b", cluster="other")
    found = load(files.inputs([], [], schedules=tuple(folders))).schedules
    assert [setting.label for setting in found.settings] == [
        "reference on cluster",
        "reference on other",
    ]


@pytest.mark.parametrize("name", SCHEDULE_FILES)
def test_a_missing_file_names_itself_and_its_stage(tmp_path: Path, name: str) -> None:
    folder = schedules.write_dias(tmp_path)[0]
    (folder / name).unlink()
    with pytest.raises(UserError, match=rf"p/{name}: missing; run the stage `schedule`"):
        read_cells([folder])


@pytest.mark.parametrize("name", [*SCHEDULE_FILES, "analytic.json", "real.json", "real.parquet"])
@pytest.mark.parametrize("content", [b"", b"[]", b"\x00\xff{"])
def test_a_broken_file_names_itself(tmp_path: Path, name: str, content: bytes) -> None:
    folder = schedules.write_dias(tmp_path)[2]
    schedules.write_analytic(folder)
    schedules.write_real(folder)
    (folder / name).write_bytes(content)
    with pytest.raises(TrimtabError, match=f"da_0_20/{name}"):
        read_cells([folder])


@pytest.mark.parametrize("key", CLASS_NUMBERS)
def test_a_class_without_one_of_its_numbers_is_refused(tmp_path: Path, key: str) -> None:
    folder = schedules.write_dias(tmp_path)[1]
    edited(folder / "summary.json", "classes", "low", **{key: None})
    with pytest.raises(TrimtabError, match=rf"summary\.json: classes: low: lacks {key}"):
        read_cells([folder])


@pytest.mark.parametrize("key", TOTAL_NUMBERS)
def test_totals_without_one_of_their_numbers_are_refused(tmp_path: Path, key: str) -> None:
    folder = schedules.write_dias(tmp_path)[1]
    edited(folder / "summary.json", "all", **{key: None})
    with pytest.raises(TrimtabError, match=rf"summary\.json: all: lacks {key}"):
        read_cells([folder])


@pytest.mark.parametrize("value", ["12", True, float("nan"), float("inf"), [1]])
def test_what_is_no_number_is_refused(tmp_path: Path, value: Any) -> None:
    folder = schedules.write_dias(tmp_path)[1]
    edited(folder / "summary.json", "classes", "low", response_mean_s=value)
    with pytest.raises(TrimtabError, match=r"low: response_mean_s: expected a number or null"):
        read_cells([folder])


def test_a_cell_given_twice_is_refused(tmp_path: Path) -> None:
    folder = schedules.write_dias(tmp_path)[0]
    with pytest.raises(UserError, match="schedule cluster / reference / p is given twice"):
        read_cells([folder, folder])


def test_two_baselines_of_one_trace_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="trace reference on cluster: 3 policies are the baseline"):
        read_cells(schedules.write_dias(tmp_path, baseline=True))


def test_policies_of_one_label_are_told_apart_by_their_files(tmp_path: Path) -> None:
    cells = read_cells(schedules.write_dias(tmp_path, policy_label="DA"))
    assert [cell.label for cell in cells] == ["DA (p)", "DA (np)", "DA (da_0_20)"]


def test_a_formula_that_gives_nothing_has_to_say_why(tmp_path: Path) -> None:
    folder = schedules.write_dias(tmp_path)[2]
    schedules.write_analytic(folder, classes={})
    with pytest.raises(TrimtabError, match="not_possible_because does not say why"):
        read_cells([folder])
    schedules.write_analytic(folder, classes={}, not_possible_because="a budget")
    (cell,) = read_cells([folder])
    assert cell.analytic and cell.analytic.not_possible_because == "a budget"


def test_a_real_run_without_its_jobs_is_refused(tmp_path: Path) -> None:
    folder = schedules.write_dias(tmp_path)[2]
    schedules.write_real(folder)
    (folder / "real.parquet").unlink()
    with pytest.raises(UserError, match=r"real\.parquet: missing"):
        read_cells([folder])


@pytest.mark.parametrize("key", ["drop_ratio", "timeout_s", "response_mean_s", "accuracy_loss_pct"])
def test_a_candidate_that_lacks_a_class_is_refused(tmp_path: Path, key: str) -> None:
    path = schedules.write_deflator(tmp_path)
    document = read_json(path)
    del document["rows"][1][key]["low"]
    write_json(path, document)
    with pytest.raises(TrimtabError, match=rf"least_latency\.json: row 2: {key}: lacks low"):
        read_deflator(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"arrivals": [[0, 1]]},
        {"arrivals": {"bin_s": 1.0}},
        {"classes": {"low": {"accuracy_loss": [0.1]}}},
        {"classes": {"low": None}},
    ],
)
def test_a_trace_of_another_form_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = schedules.write_trace(tmp_path, **changes)
    with pytest.raises(TrimtabError, match=r"trace\.json: expected arrivals with bin_s"):
        read_trace(path)


def test_neither_a_target_nor_a_schedule_is_refused() -> None:
    with pytest.raises(UserError, match="no debloated target and no schedule"):
        load(files.inputs([], []))
