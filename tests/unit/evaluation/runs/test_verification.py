"""What failed or was not measured is said."""

from pathlib import Path

import experiment_files as files
import pytest

from trimtab.evaluation.inputs.measurements import Measurements
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.report.page import format_remark
from trimtab.evaluation.runs.debloated import Debloated, Verification
from trimtab.records.manifest import Manifest
from trimtab.records.misses.settling import Risk
from trimtab.records.usage import Usage
from trimtab.records.verdict import MachineLoad, Verdict, VerifiedWorkload


def caveats_of(measurements: Measurements) -> list[str]:
    """What the page says is missing."""
    return format_remark(Debloated(measurements).caveats())


@pytest.mark.parametrize("equal_runs", [[3, 3], [3, 2], [3]])
def test_it_is_verified_only_when_every_workload_was_equal(
    tmp_path: Path, equal_runs: list[int]
) -> None:
    names = ("lenet5_train", "lstm_train")
    profiles = [files.write_profile(tmp_path / name, name) for name in names]
    workloads = [
        VerifiedWorkload(name, 3, equal == 3, equal, "digest_file")
        for name, equal in zip(names, equal_runs, strict=False)
    ]
    passed = equal_runs == [3, 3]
    changes = {} if passed else files.FAILED
    debloat = files.write_debloat(tmp_path / "d", "both", names, verified=workloads, **changes)
    section = Verification(load(files.inputs(profiles, [debloat])))
    assert section.passed is passed
    assert section.metrics() == {"verified": int(passed)}
    assert [(row["workload"], row["repeats"], row["equal"], row["details"])
            for row in section.tables[0].rows] == [
        (name, 3, equal == 3, f"equal_runs: {equal}")
        for name, equal in zip(names, equal_runs, strict=False)
    ]  # fmt: skip


def test_what_is_left_to_miss_stands_beside_it(tmp_path: Path) -> None:
    risk = Risk(12, 1, 1 / 12, 10, 0, 1 - 0.05**0.1)
    told = VerifiedWorkload("lenet5_train", 3, True, 3, "digest_file", 4, 4, 9, risk)
    untold = VerifiedWorkload("lenet5_train", 3, True, 3, "digest_file", 4)
    rows = []
    for name, each in (("a", told), ("b", untold)):
        debloat = files.write_debloat(tmp_path / name, verified=[each])
        profile = files.write_profile(tmp_path / f"p{name}")
        [row] = Verification(load(files.inputs([profile], [debloat]))).tables[0].rows
        rows.append([row[key] for key in ("slim_runs", "clean_runs", "risk_percent",
                                          "risk_bound_percent")])  # fmt: skip
    assert rows[0] == [4, 4, pytest.approx(8.333, abs=0.001), pytest.approx(25.887, abs=0.001)]
    assert rows[1] == [4, None, None, None]


def test_a_workload_that_was_not_verified_is_not_taken_for_equal(tmp_path: Path) -> None:
    debloat = files.write_debloat(tmp_path / "d", workloads=("lenet5_train",))
    verdict = Verdict.read(debloat / "verify.json")
    verdict.model_copy(update={"workloads": []}).write(debloat / "verify.json")
    inputs = files.inputs([files.write_profile(tmp_path / "p")], [debloat])
    assert not Verification(load(inputs)).passed


def test_what_is_missing_is_said_plainly(tmp_path: Path) -> None:
    loaded = [files.used_library("/a.so"), files.used_library("/b.so", traced=False)]
    profile = files.write_profile(tmp_path / "p", libraries=loaded)
    runs = [row | {"start_up_s": None} for row in files.verify_runs("lenet5_train")]
    runs[3]["ended_well"] = False
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
    for path, record, change in (
        ("profile/mobilenet_infer/usage.json", Usage, {"kernels_traced": False}),
        (
            "debloat/mobilenet_infer/manifest.json",
            Manifest,
            {"gpu_code_kept_because": "no kernels"},
        ),
    ):
        document = record.read(tmp_path / path).model_copy(update=change)
        document.write(tmp_path / path)
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


def test_a_busy_machine_is_said(tmp_path: Path) -> None:
    profile = files.write_profile(tmp_path / "p")
    said_of = []
    for others in (0.05, 0.5):
        machine = MachineLoad(others, 0.0, 0.0)
        debloat = files.write_debloat(tmp_path / str(others), machine=machine)
        remarks = caveats_of(load(files.inputs([profile], [debloat])))
        said_of.append([remark for remark in remarks if "busy" in remark])
    assert said_of[0] == []
    assert said_of[1] == [
        "lenet5_train: the machine was busy while it was measured: other processes took 50% of its"
        " processors' time; times and energy are less sure than they look."
    ]
