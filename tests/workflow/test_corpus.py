"""A small part of the corpus: programs of real packages in slim environments, by its own runner."""

import csv
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

CORPUS = Path("benchmarks/corpus").resolve()
NUMPY = "numpy_linear_algebra"
PROGRAMS = ["pandas_tables", "pillow_images"]
ROW = {
    "program": "spacy_tests", "runs": "20", "strict_runs": "20",
    "libraries_before_bytes": "100", "libraries_after_bytes": "40",
    "environment_before_bytes": "100", "environment_after_bytes": "8",
}  # fmt: skip
PACKAGES = ["numpy", "pandas", "PIL", "dateutil", "six"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runner's folder, with an environment in it whose packages are those of this one."""
    data = tmp_path_factory.mktemp("corpus")
    environment = data / "venvs" / "scientific"
    venv.create(environment, symlinks=True)
    (packages,) = environment.glob("lib/python3*/site-packages")
    for name in PACKAGES:
        spec = find_spec(name)
        assert spec is not None and spec.origin is not None
        source = Path(spec.origin)
        if source.name == "__init__.py":
            shutil.copytree(source.parent, packages / name)
        else:
            shutil.copy2(source, packages)
        own = source.parents[1] / f"{'pillow' if name == 'PIL' else name}.libs"
        if own.is_dir():
            shutil.copytree(own, packages / own.name)
    pins = CORPUS / "environments" / "scientific.txt"
    (environment / "corpus.sha256").write_text(hashlib.sha256(pins.read_bytes()).hexdigest())
    return data


def measure(
    data: Path, output: Path, program: str, *options: str, programs: Sequence[str] = ()
) -> dict[str, str]:
    """Have the runner measure `program`, or all `programs`, and return the row of `program`."""
    command = [
        sys.executable, CORPUS / "run.py", "--data", data, "--output", output,
        "--programs", *(programs or [program]), *options,
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(Path("src").resolve())}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with open(output / "corpus.csv", newline="") as file:
        rows = {row["program"]: row for row in csv.DictReader(file)}
    assert program in rows, done.stdout + done.stderr
    return rows[program]


@pytest.mark.nightly
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_run_of_a_slim_environment_is_as_the_original(
    data: Path, tmp_path: Path, program: str
) -> None:
    options = ["--runs", "2", "--strict-runs", "0", "--others", NUMPY]
    row = measure(data, tmp_path, program, *options)
    assert row["differing"] == ""
    assert row["runs_equal"] == row["runs"] == "2"
    assert row["held_out_equal"] == row["held_out_runs"] == "2"
    assert row["other_equal"] == row["other_runs"] == "3"
    assert int(row["libraries_after_bytes"]) < 0.8 * int(row["libraries_before_bytes"])
    assert int(row["environment_after_bytes"]) < int(row["environment_before_bytes"])


def test_a_found_environment_has_rows_of_its_own_and_runs_what_it_can(
    data: Path, tmp_path: Path
) -> None:
    here = data / "venvs" / "scientific"
    skipped, program = "lxml_documents", NUMPY
    options = ["--environment", str(here), "--jobs", "2", "--deadline", "250", "--others"]
    options += ["--runs", "2", "--strict-runs", "2", "--pairs", "1", "--option=--settle=1"]
    row = measure(tmp_path / "data", tmp_path, program, *options, programs=[skipped, program])
    assert row["environment"].startswith("found, Python 3.")
    assert row["runs_equal"] == row["strict_runs_clean"] == row["runs"] == "2"
    assert float(row["risk_bound"]) == pytest.approx(0.95)  # of one run that missed nothing
    assert row["pairs"] == "1" and float(row["slim_s"]) > 0
    assert float(row["slim_cpu_s"]) > 0 and row["wall_ratio"] == row["wall_ratio_high"]
    assert bool(row["slim_calls"]) == bool(row["original_calls"]) == bool(shutil.which("strace"))
    # Two as it is, one traced, one in the slim environment.
    assert row["debloat_runs"] == "4"
    assert 0 < float(row["usable_s"]) < float(row["debloat_s"])
    rows = (tmp_path / "corpus.csv").read_text()
    assert skipped not in rows
    log = (tmp_path / "data" / "logs" / f"{skipped}.log").read_text()
    assert "skipped: ModuleNotFoundError" in log


def test_a_program_that_has_its_row_is_not_measured_again(tmp_path: Path) -> None:
    row = "program,environment,runs,strict_runs\nspacy_tests,language,20,20\n"
    (tmp_path / "corpus.csv").write_text(row)
    assert measure(tmp_path / "data", tmp_path, "spacy_tests")["runs"] == "20"
    assert not (tmp_path / "data" / "venvs").exists()


def test_the_times_of_all_other_programs_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(CORPUS.parent)
    both = {"runs": "3", "equal": "3", "slim_environment_of": "spacy_tests"}
    rows = [
        {**both, "program": "slow", "original_s": "9.0 9.1 9.2", "slim_s": "9.1 9.2 9.3"},
        {**both, "program": "quick", "original_s": "0.9 0.8 0.7", "slim_s": "1.9 1.8 1.7"},
    ]
    table = import_module("corpus_table")
    bars = {what: rest for what, *rest in table.bars([ROW, {**ROW, "runs": "19"}], rows)}
    _, measured, _ = next(bar for what, bar in bars.items() if what.startswith("other programs"))
    assert measured.endswith("2 slim environments, 6 of 6 runs; 1.11x (1.11 to 1.11) the time")


def test_a_row_of_before_a_column_was_measured_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(CORPUS.parent)
    table = import_module("corpus_table")
    old = {**ROW, "pairs": "5", "original_s": "2.0", "slim_s": "3.0"}
    new = {
        **old, "wall_ratio": "1.02", "wall_ratio_low": "1.0", "wall_ratio_high": "1.05",
        "cpu_ratio": "0.99", "original_calls": "200", "slim_calls": "220",
        "debloat_runs": "8", "debloat_s": "61.0", "usable_s": "9.0",
    }  # fmt: skip
    assert [table.ratio_of(row, "s") for row in (ROW, old, new)] == [None, 1.5, 1.02]
    assert [table.ratio_of(row, "cpu_s") for row in (old, new)] == [None, 0.99]
    bars = {what: rest for what, *rest in table.bars([old, new], [])}
    sizes = bars["whole environment of a CPU, on disk"]
    assert sizes[1] == "92.0% in the median (92% to 92%) in 2 programs"
    assert sizes[2] == "**missed**"  # too few
    _, calls, verdict = bars["system calls of the traced input when nothing is missed"]
    assert calls == "1 programs: 1.10x in the median, at most 1.10x" and verdict == "**missed**"
    _, made, _ = bars["command to slim environment, programs of at most 3 s"]
    slowest = "1 programs: 61 s in the median, at most 61 s and 8 runs"
    assert made == f"{slowest}; usable after 9 s in the median"


def test_the_ratio_of_each_pair_is_taken_before_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(CORPUS.parent)
    monkeypatch.syspath_prepend(CORPUS)
    measure = import_module("measure")
    assert measure.quartiles([1.5]) == (1.5, 1.5, 1.5)
    assert measure.quartiles([1.0, 3.0, 2.0, 5.0, 4.0]) == (2.0, 3.0, 4.0)
    assert measure.total_calls("syscall  calls\n-------- -----\nread  7\ntotal  12\n") == 12


def test_every_program_names_what_is_there_and_holds_inputs_out() -> None:
    paths = sorted((CORPUS / "programs").glob("*.yaml"))
    assert len(paths) >= 40
    for path in paths:
        program = yaml.safe_load(path.read_text())
        assert (CORPUS / "environments" / f"{program['environment']}.txt").is_file(), path
        assert program["held_out"] and program["traced"] not in program["held_out"], path
        for word in program["command"]:
            if word.startswith("{scripts}/"):
                assert (CORPUS / "scripts" / word.removeprefix("{scripts}/")).is_file(), path


def test_every_environment_is_pinned_and_used() -> None:
    used = {
        yaml.safe_load(path.read_text())["environment"]
        for folder in ("programs", "starts")
        for path in (CORPUS / folder).glob("*.yaml")
    }
    files = {path.stem: path for path in (CORPUS / "environments").glob("*.txt")}
    assert set(files) == used
    for path in files.values():
        assert all("==" in line for line in path.read_text().split()), path
