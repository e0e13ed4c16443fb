"""Files of the schedule stage that are missing, broken or contradict each other are refused."""

from pathlib import Path

import experiment_files as files
import pytest
import schedule_files as schedules

from trimtab.errors import TrimtabError, UserError
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.inputs.stages.schedule import read_cells

FILES = ("summary.json", "jobs.parquet", "allocations.parquet", "nodes.parquet", "load.parquet")


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
    found = load(files.inputs([], [], schedule=tuple(reversed(folders)))).schedules
    assert [cell.label for cell in found.settings[0].cells] == ["P", "DA(0,20)", "NP"]
    assert found.settings[0].baseline is found.settings[0].cells[0]


def test_two_clusters_are_told_apart_by_their_labels(tmp_path: Path) -> None:
    folders = schedules.write_dias(tmp_path / "a")
    folders += schedules.write_dias(tmp_path / "b", cluster="other")
    found = load(files.inputs([], [], schedule=tuple(folders))).schedules
    assert [setting.label for setting in found.settings] == [
        "reference on cluster",
        "reference on other",
    ]


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_names_itself_and_what_to_run(tmp_path: Path, name: str) -> None:
    folder = schedules.write_dias(tmp_path)[0]
    (folder / name).unlink()
    with pytest.raises(UserError, match=rf"p/{name}: missing; run"):
        read_cells([folder])


@pytest.mark.parametrize("name", [*FILES, "formula.json", "real.json", "real.parquet"])
@pytest.mark.parametrize("content", [b"", b"[]", b"\x00\xff{"])
def test_a_broken_file_names_itself(tmp_path: Path, name: str, content: bytes) -> None:
    folder = schedules.write_dias(tmp_path)[2]
    schedules.write_formula(folder)
    schedules.write_real(folder)
    (folder / name).write_bytes(content)
    with pytest.raises(TrimtabError, match=f"da_0_20/{name}"):
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


def test_a_real_run_without_its_jobs_is_refused(tmp_path: Path) -> None:
    folder = schedules.write_dias(tmp_path)[2]
    schedules.write_real(folder)
    (folder / "real.parquet").unlink()
    with pytest.raises(UserError, match=r"real\.parquet: missing"):
        read_cells([folder])


def test_neither_a_target_nor_a_schedule_is_refused() -> None:
    with pytest.raises(UserError, match="no results were given"):
        load(files.inputs([], []))


def test_allocations_are_read_by_their_old_name(tmp_path: Path) -> None:
    folder = schedules.write_dias(tmp_path)[0]
    before = (folder / "allocations.parquet").read_bytes()
    (folder / "allocations.parquet").rename(folder / "stays.parquet")
    (cell,) = read_cells([folder])
    assert cell.allocations.read_bytes() == before
