"""Files that are missing, contradict themselves or do not belong together are refused."""

from pathlib import Path

import experiment_files as files
import pytest

from trimtab.errors import TrimtabError, UserError
from trimtab.evaluation.inputs.read import load
from trimtab.records.usage import UsedGpu
from trimtab.records.used import UsedCode

FILES = [
    *(f"profile/{name}" for name in ("usage.json", "runs.parquet", "epochs.parquet")),
    *(f"debloat/{name}.json" for name in ("manifest", "verify", "used")),
    *(f"debloat/{name}.parquet" for name in ("libraries", "verify_runs", "files")),
]


def test_a_whole_experiment_is_read(tmp_path: Path) -> None:
    measurements = load(files.write_experiment(tmp_path))
    (target,), (profile,) = measurements.targets, measurements.profiles
    assert (target.label, profile.label) == ("lenet5_train", "lenet5_train")
    assert len(target.libraries) == 4
    assert len(target.runs) == 6
    assert len(profile.epochs) == 6


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_names_itself_and_its_stage(tmp_path: Path, name: str) -> None:
    inputs = files.write_experiment(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(UserError, match=rf"{name}: missing; run "):
        load(inputs)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", [b"", b"[]", b"\x00\xff{"])
def test_a_broken_file_names_itself(tmp_path: Path, name: str, content: bytes) -> None:
    inputs = files.write_experiment(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TrimtabError, match=name):
        load(inputs)


def test_an_incomplete_trace_is_refused_with_its_reasons(tmp_path: Path) -> None:
    reasons = ["process 7 was killed", "libx.so changed"]
    folder = files.write_profile(tmp_path / "p", complete=False, incomplete_because=reasons)
    with pytest.raises(UserError, match=r"incomplete \(process 7 was killed; libx.so changed\)"):
        load(files.inputs([folder], [files.write_debloat(tmp_path / "d")]))


def test_a_target_needs_the_profile_of_each_of_its_workloads(tmp_path: Path) -> None:
    profile = files.write_profile(tmp_path / "p")
    debloat = files.write_debloat(tmp_path / "d", "both", ("lenet5_train", "lstm_train"))
    with pytest.raises(UserError, match=r"both .* lstm_train .* add its folder"):
        load(files.inputs([profile], [debloat]))


def test_no_target_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no results were given"):
        load(files.inputs([files.write_profile(tmp_path / "p")], []))


def test_the_same_target_or_profile_twice_is_refused(tmp_path: Path) -> None:
    profile, debloat = files.write_profile(tmp_path / "p"), files.write_debloat(tmp_path / "d")
    with pytest.raises(UserError, match="target lenet5_train / desk is given twice"):
        load(files.inputs([profile], [debloat, debloat]))
    with pytest.raises(UserError, match="workload lenet5_train / desk is given twice"):
        load(files.inputs([profile, profile], [debloat]))


def test_a_run_recorded_twice_is_refused(tmp_path: Path) -> None:
    runs = files.verify_runs("lenet5_train")
    debloat = files.write_debloat(tmp_path / "d", runs=[*runs, runs[0]])
    with pytest.raises(UserError, match="run lenet5_train / original / 0 is given twice"):
        load(files.inputs([files.write_profile(tmp_path / "p")], [debloat]))


def test_a_profiling_run_recorded_twice_is_refused(tmp_path: Path) -> None:
    runs = files.profile_runs("lenet5_train")
    profile = files.write_profile(tmp_path / "p", runs=[*runs, runs[1]])
    with pytest.raises(UserError, match=r"run traced_functions / 0 is given twice"):
        load(files.inputs([profile], [files.write_debloat(tmp_path / "d")]))


@pytest.mark.parametrize("column", ["kept_bytes", "removed_bytes", "overhead_bytes"])
def test_parts_that_do_not_add_up_are_refused(tmp_path: Path, column: str) -> None:
    row = files.library("lib/libwrong.so")
    row[column] += 1
    debloat = files.write_debloat(tmp_path / "d", libraries=[*files.LIBRARY_ROWS, row])
    with pytest.raises(TrimtabError, match=r"libwrong\.so: kept"):
        load(files.inputs([files.write_profile(tmp_path / "p")], [debloat]))


@pytest.mark.parametrize(
    "column", ["elements_before", "elements_after", "elements_architecture", "elements_ptx"]
)
def test_removed_elements_without_a_reason_are_refused(tmp_path: Path, column: str) -> None:
    row = files.library("lib/libwrong.so", gpu_bytes=(9, 1), elements=(1, 2, 3, 4))
    row[column] += 1
    debloat = files.write_debloat(tmp_path / "d", libraries=[*files.LIBRARY_ROWS, row])
    with pytest.raises(TrimtabError, match=r"libwrong\.so: the elements removed, by reason"):
        load(files.inputs([files.write_profile(tmp_path / "p")], [debloat]))


def test_used_code_of_a_library_that_is_not_there_is_refused(tmp_path: Path) -> None:
    used = {"lib/libother.so": UsedCode(frozenset(), frozenset())}
    debloat = files.write_debloat(tmp_path / "d", used=used)
    with pytest.raises(TrimtabError, match=r"used\.json: lib/libother\.so: not in libraries"):
        load(files.inputs([files.write_profile(tmp_path / "p")], [debloat]))


def test_gpus_are_told_by_name_and_architecture(tmp_path: Path) -> None:
    debloat = files.write_debloat(tmp_path / "d", gpus=[*files.GPUS, UsedGpu("", 75)])
    measurements = load(files.inputs([files.write_profile(tmp_path / "p")], [debloat]))
    assert measurements.targets[0].gpus == ["NVIDIA H200 (sm_90)", "GPU (sm_75)"]


def test_two_machines_are_told_apart_by_their_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = []
    for hardware in ("desk", "server"):
        monkeypatch.setattr(files, "HARDWARE", hardware)
        folders.append(
            (
                files.write_profile(tmp_path / hardware / "p"),
                files.write_debloat(
                    tmp_path / hardware / "d",
                    libraries=[row | {"hardware": hardware} for row in files.LIBRARY_ROWS],
                ),
            )
        )
    profiles, debloats = zip(*folders, strict=True)
    measurements = load(files.inputs(list(profiles), list(debloats)))
    assert [t.label for t in measurements.targets] == [
        "lenet5_train on desk",
        "lenet5_train on server",
    ]
