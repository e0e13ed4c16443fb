"""What failed or was not measured is said."""

from pathlib import Path
from typing import Any

import experiment_files as files
import pytest

from trimtab.evaluation.inputs.measurements import Measurements
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.report.page import said
from trimtab.evaluation.runs.debloated import Debloated
from trimtab.evaluation.runs.verification import Verification
from trimtab.files import read_json, write_json


def caveats_of(measurements: Measurements) -> list[str]:
    """What the page says is missing."""
    return said(Debloated(measurements).caveats())


def outcome(equal: object) -> list[dict[str, Any]]:
    return [
        {
            "workload": "lenet5_train",
            "repeats": 5,
            "equal": equal,
            "comparison": "digest",
            "library": "libtorch_cpu.so",
            "function": "at::add",
            "digests": ["a", "b"],
        }
    ]


@pytest.mark.parametrize(
    ("passed", "equal", "expected"),
    [(True, True, True), (True, False, False), (False, True, False), (True, None, False)],
)
def test_it_is_verified_only_when_everything_says_so(
    tmp_path: Path, passed: bool, equal: object, expected: bool
) -> None:
    profile = files.write_profile(tmp_path / "p")
    debloat = files.write_debloat(tmp_path / "d", passed=passed)
    measurements = load(files.inputs([profile], [debloat]))
    measurements.targets[0].verify["workloads"][0]["equal"] = equal
    assert Verification(measurements).passed is expected


def test_a_workload_that_was_not_verified_is_not_taken_for_equal(tmp_path: Path) -> None:
    measurements = load(files.write_experiment(tmp_path))
    measurements.targets[0].verify["workloads"].clear()
    assert not Verification(measurements).passed


def test_the_table_tells_what_is_known_of_a_mismatch(tmp_path: Path) -> None:
    measurements = load(files.write_experiment(tmp_path))
    measurements.targets[0].verify["workloads"][:] = outcome(False)
    (row,) = Verification(measurements).tables[0].rows
    assert (row["workload"], row["repeats"], row["equal"]) == ("lenet5_train", 5, False)
    assert row["details"] == "function: at::add; library: libtorch_cpu.so"


def test_what_is_missing_is_said_plainly(tmp_path: Path) -> None:
    loaded = [files.used_library("/a.so"), files.used_library("/b.so", traced=False)]
    profile = files.write_profile(tmp_path / "p", libraries=loaded)
    runs = [row | {"start_up_s": None} for row in files.verify_runs("lenet5_train")]
    runs[3]["exit_code"] = -5
    debloat = files.write_debloat(tmp_path / "d", runs=runs, resident_bytes={})
    remarks = caveats_of(load(files.inputs([profile], [debloat], workloads={})))
    assert remarks[0].startswith("No GPU code in this environment. Only CPU code")
    assert [line.removeprefix("lenet5_train: ") for line in remarks[1:]] == [
        "1 of 6 runs failed; their pairs are left out.",
        "3 interleaved pairs of lenet5_train; with fewer than 5 the spread says little.",
        "the start-up of lenet5_train was not measured.",
        "resident pages of lenet5_train were not measured.",
        "1 of 4 libraries were left as they were: no .eh_frame.",
        "energy is modelled, not measured (power model).",
        "the machine gave no hardware counters.",
        "which data set it read was not stated.",
        "1 of 2 loaded libraries could not be traced.",
    ]


def test_what_holds_for_several_is_said_once(tmp_path: Path) -> None:
    names = ("lenet5_train", "lstm_train")
    profiles = [files.write_profile(tmp_path / "p" / name, name) for name in names]
    debloats = [files.write_debloat(tmp_path / "d" / name, name, (name,)) for name in names]
    remarks = caveats_of(load(files.inputs(profiles, debloats)))
    assert "lenet5_train, lstm_train: the machine gave no hardware counters." in remarks
    assert "lstm_train: which data set it read was not stated." in remarks


def test_what_is_missing_of_gpu_code_is_said(tmp_path: Path) -> None:
    inputs = files.write_gpu_experiment(tmp_path)
    for name, change in (
        ("profile/mobilenet_infer/usage.json", {"kernels_traced": False}),
        ("debloat/mobilenet_infer/manifest.json", {"gpu_code_kept_because": "no kernels"}),
    ):
        write_json(tmp_path / name, read_json(tmp_path / name) | change)
    remarks = caveats_of(load(inputs))
    assert remarks[:3] == [
        "mobilenet_infer: all GPU code was kept: no kernels.",
        "mobilenet_infer: the kernels of mobilenet_infer were not traced: no reason was recorded.",
        "lenet5_train: no GPU code in this environment.",
    ]
    assert not any("Only CPU code" in remark for remark in remarks)


def test_energy_that_is_not_known_is_not_called_modelled(tmp_path: Path) -> None:
    unknown = {"energy_j": None, "energy_source": "unknown", "energy_method": "no power model"}
    runs = [row | unknown for row in files.profile_runs("lenet5_train")]
    profile = files.write_profile(tmp_path / "p", runs=runs)
    remarks = caveats_of(load(files.inputs([profile], [files.write_debloat(tmp_path / "d")])))
    assert "lenet5_train: energy was not measured (no power model)." in remarks
    assert not any("modelled" in remark for remark in remarks)
