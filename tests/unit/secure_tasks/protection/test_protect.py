"""The stage on a real program: all rows, none twice, and it goes on where it was ended."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from trimtab.config.groups.enclave import CostRange, Enclave
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.protection.protect import EnclaveKind, Protect, Variant
from trimtab.config.groups.protection.task_program import TaskProgram
from trimtab.config.stages import ProtectStage
from trimtab.errors import TrimtabError, UserError
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import PROTECTED_RUNS
from trimtab.secure_tasks.protection.measured import run_once
from trimtab.secure_tasks.protection.plan import set_ups
from trimtab.secure_tasks.protection.program import NativeProgram, native_program
from trimtab.secure_tasks.protection.protect import protect
from trimtab.secure_tasks.protection.simulated import simulated_rows

HARDWARE = Hardware("it", 2, 1.0, 5.0, 0.1, 8.0, "a test")
CALL_S = 2e-3
ENCLAVE = Enclave("dear", call_s=CostRange(CALL_S, CALL_S, "a test"))


def stage(**keys: Any) -> ProtectStage:
    asked = {"variants": [Variant.ORIGINAL, Variant.SGX], "repeats": 1, "workers": [1, 2], **keys}
    program = TaskProgram("it", "matmul", 64, 16, blocks=[32])
    return ProtectStage(program, Protect(**asked), [ENCLAVE], HARDWARE)


def rows_of(asked: ProtectStage, folder: Path) -> tuple[pd.DataFrame, list[str]]:
    told: list[str] = []
    protect(asked, folder, told.append)
    return read_table(folder / "runs.parquet", PROTECTED_RUNS), told


def test_it_runs_simulates_and_goes_on(tmp_path: Path) -> None:
    asked = stage(enclaves=[EnclaveKind.PROCESS, EnclaveKind.MODELLED], costs=["dear"])
    table, told = rows_of(asked, tmp_path)
    here = table[table["schedule_policy"] == "openmp"]
    assert len(here) == len(set_ups(asked)) == 6 and len(told) == 6 + 1
    assert here["complete"].all() and (here["run_s"] > 0).all()
    assert set(here["source"][here["enclave"] == "modelled"]) == {"modelled"}
    assert set(here["source"][here["enclave"] != "modelled"]) == {"measured"}
    # (64 / 16)^3 calls of 2 ms each, which it has waited for.
    waited = here[(here["enclave"] == "modelled") & (here["block"] == 16)].iloc[0]
    assert waited["enclave_calls"] == 64 and waited["run_s"] >= 64 * CALL_S
    assert here["protection"][here["enclave"] == "process"].str.contains("seccomp").all()
    # Joules of runs that are long enough, of 5 W and the memory at most.
    known = here.dropna(subset="energy_j")
    assert (known["run_s"] >= 0.1).all() and len(known) >= 1
    assert known["energy_j"].between(0, 20 * known["run_s"]).all()

    simulated = table[table["schedule_policy"] != "openmp"]
    inside = simulated[(simulated["variant"] == "sgx") & (simulated["block"] == 16)]
    original = simulated[(simulated["variant"] == "original") & (simulated["block"] == 16)]
    assert (inside["run_s"] - original["run_s"].iloc[0]).to_list() == pytest.approx(
        [64 * CALL_S] * 3, abs=1e-9
    )
    assert set(inside["schedule_policy"]) == {"breadth_first", "work_first", "enclave_aware"}
    assert set(simulated["source"]) == set(simulated["energy_source"]) == {"modelled"}

    # The last run is lost, and half a line is there: only that run is made again.
    journal = tmp_path / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:-1]) + lines[-1][:40])
    again, told = rows_of(asked, tmp_path)
    assert len(told) == 1 + 1
    pd.testing.assert_frame_equal(
        again.iloc[: len(here) - 1], table.iloc[: len(here) - 1], check_dtype=False
    )


def test_a_run_that_failed_is_tried_again(tmp_path: Path) -> None:
    asked = replace(stage(variants=[Variant.ORIGINAL], costs=[]), enclaves=[])
    assert len(rows_of(asked, tmp_path)[1]) == 2 + 1
    journal = tmp_path / "journal.jsonl"
    *others, last = journal.read_text().splitlines(keepends=True)
    failed = json.loads(last) | {"complete": False, "error": "exceeded its time", "run_s": None}
    journal.write_text("".join(others) + json.dumps(failed) + "\n")
    for tried in (1, 0):
        table, told = rows_of(asked, tmp_path)
        assert table["complete"].all() and len(table) == 2
        assert len(told) == tried + 1


def test_encryption_that_has_no_known_cost_is_not_simulated(tmp_path: Path) -> None:
    program = TaskProgram("it", "matmul", 64, 16)
    known = Enclave("known", encryption_s_per_byte=CostRange(1e-6, 1e-6, "a test"))
    asked = Protect(variants=[Variant.SGX, Variant.ESGX], policies=["breadth_first"])
    stage_of_both = ProtectStage(program, asked, [ENCLAVE, known], HARDWARE)
    rows = list(simulated_rows(stage_of_both, native_program(stage_of_both, tmp_path), tmp_path))
    assert [(row["variant"], row["enclave"]) for row in rows] == [
        ("sgx", "dear"), ("sgx", "known"), ("esgx", "known")
    ]  # fmt: skip
    # 64 tasks have three blocks in and one out.
    encrypted_s = 64 * 4 * 16 * 16 * 8 * 1e-6
    assert rows[2]["run_s"] - rows[1]["run_s"] == pytest.approx(encrypted_s)


def test_what_a_machine_lacks_is_a_row_with_its_error(tmp_path: Path) -> None:
    if "pku" in Path("/proc/cpuinfo").read_text().split():
        pytest.skip("this machine has protection keys")
    asked = stage(enclaves=[EnclaveKind.PKEYS], variants=[Variant.SGX], costs=[])
    row = run_once(asked, native_program(asked, tmp_path), set_ups(asked)[0], 0, tmp_path)
    assert (row["complete"], row["run_s"]) == (False, None)
    assert "this machine lacks" in row["error"]


def test_a_wrong_result_ends_the_stage(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("#!/bin/sh\nexit 1\n")
    wrong.chmod(0o755)
    with pytest.raises(TrimtabError, match="the result is wrong"):
        run_once(stage(), NativeProgram(wrong, None), set_ups(stage())[0], 0, tmp_path / "runs")


def test_what_a_program_refuses_is_said_in_its_words(tmp_path: Path) -> None:
    """And not in the last ones, which are its usage's."""
    program = TaskProgram("it", "lenet", 64, 16)
    asked = replace(stage(), program=program)
    with pytest.raises(TrimtabError, match="task program it: --network: missing; change its file"):
        run_once(asked, native_program(asked, tmp_path), set_ups(asked)[0], 0, tmp_path)


@pytest.mark.parametrize("said", ["", "not JSON", "[1]", "{}", '{"run_s": 1}'])
def test_what_no_task_program_prints(tmp_path: Path, said: str) -> None:
    other = tmp_path / "other"
    other.write_text(f"#!/bin/sh\necho tasks begin\necho tasks end\necho '{said}'\n")
    other.chmod(0o755)
    with pytest.raises(TrimtabError, match="make native"):
        run_once(stage(), NativeProgram(other, None), set_ups(stage())[0], 0, tmp_path / "runs")


def with_network(*command: str) -> ProtectStage:
    program = TaskProgram("it", "matmul", 64, 16, network=list(command))
    return ProtectStage(program, Protect(), [ENCLAVE], HARDWARE)


def test_a_network_is_written_once_and_given_to_the_program(tmp_path: Path) -> None:
    comment = "#" * 300  # longer than a file's name may be
    command = f"echo made >> {tmp_path}/times; echo weights > {{network}} {comment}"
    asked = with_network("sh", "-c", command)
    first, second = (native_program(asked, tmp_path / "it") for _ in range(2))
    assert (tmp_path / "times").read_text() == "made\n"
    assert first == second and first.network is not None
    assert first.network.read_text() == "weights\n"
    words = first.command(set_ups(asked)[0], [])
    assert words[words.index("--network") + 1] == str(first.network)
    other = native_program(with_network("sh", "-c", "echo others > {network}"), tmp_path / "it")
    assert other.network != first.network and other.digest != first.digest


def test_a_network_is_written_anew_by_a_command_that_has_changed(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import sys; open(sys.argv[1], 'w').write('weights')")
    asked = with_network("python", str(script), "{network}")
    first = native_program(asked, tmp_path / "it")
    script.write_text("import sys; open(sys.argv[1], 'w').write('better')")
    second = native_program(asked, tmp_path / "it")
    assert first.network is not None and second.network is not None
    assert second.network.read_text() == "better" and first.digest != second.digest


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo no data >&2; exit 3; {network}", "no data"),
        ("echo {network}", "no network was written"),
    ],
)
def test_a_network_that_is_not_written_is_said(tmp_path: Path, command: str, said: str) -> None:
    with pytest.raises(TrimtabError, match=rf"task program it: network: .*{said}"):
        native_program(with_network("sh", "-c", command), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_leaves_the_network_out_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a word with"):
        TaskProgram("it", "lenet", 64, 16, network=["python", "train.py"])


def test_a_program_that_was_not_built_is_said(tmp_path: Path) -> None:
    asked = stage()
    asked.program.program = "fft"
    with pytest.raises(UserError, match="trimtab-task-fft"):
        protect(asked, tmp_path, print)


def test_a_policy_that_is_not_there_is_said_before_anything_runs(tmp_path: Path) -> None:
    asked = stage(policies=["breadth_first", "last_come"])
    with pytest.raises(UserError, match="'last_come' given, expected one of breadth_first"):
        protect(asked, tmp_path, print)
    assert not list(tmp_path.iterdir())
