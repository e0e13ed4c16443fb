"""`trimtab imports`: the program's own output and end, and tables beside them."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from trimtab.records.imports.imports import Imports
from trimtab.records.imports.tables import IMPORTED_MODULES, IMPORTED_NAMES
from trimtab.records.parquet.files import read_table

TRIMTAB = Path(sys.executable).parent / "trimtab"
USES = "import json, decimal; print(json.dumps([1]))"
WAITS = """
import os, signal, sys, decimal
def stop(number, frame):
    os.write(1, b"stopped by %d\\n" % number)  # the other line may still be being written
    sys.exit(5)
signal.signal(signal.SIGTERM, stop)
print("started by", os.getppid(), flush=True)
signal.pause()
"""


def imports(*words: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    command = [str(TRIMTAB), "imports", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def test_tables_and_a_figure_are_written(tmp_path: Path) -> None:
    done = imports("--top", "3", "--", sys.executable, "-c", USES, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "[1]\n"), done.stderr
    last = done.stderr.splitlines()[-1]
    folder = tmp_path / "trimtab_imports"
    document = Imports.read(folder / "imports.json")
    assert f"{document.unused_s:.2f} of {document.imports_s:.2f} s of imports went" in last
    assert document.command == [sys.executable, "-c", USES] and document.exit_code == 0
    modules = read_table(folder / "modules.parquet", IMPORTED_MODULES).set_index("module")
    assert (modules.loc["json", "use"], modules.loc["decimal", "use"]) == ("ran", "none")
    assert json.loads(str(modules.loc["decimal", "importers"])) == ["__main__"]
    names = read_table(folder / "names.parquet", IMPORTED_NAMES)
    assert set(names[names["importer"] == "__main__"]["name"]) == {"", "dumps"}
    assert (folder / "imports.svg").read_text().startswith("<svg")


def test_tables_fit_into_a_narrow_terminal(tmp_path: Path) -> None:
    """A long name is shortened from the left; each module has one line."""
    name = "a_package_of_a_long_name.and_a_module_of_a_longer_name"
    path = tmp_path / name.replace(".", "/")
    path.parent.mkdir()
    path.with_suffix(".py").write_text("def unused(): pass\n" * 1000)
    done = imports(
        "--", sys.executable, "-c", f"import sys; sys.path.append('.'); import {name}", cwd=tmp_path
    )
    lines = done.stderr.splitlines()
    assert max(len(line) for line in lines if line[:1] in "│┃") <= 80
    [row] = [line for line in lines if "a_longer_name" in line]
    assert row.startswith("│ …") and " no " in row


def test_with_json_the_program_writes_elsewhere(tmp_path: Path) -> None:
    done = imports("-q", "--json", "--", sys.executable, "-c", USES, cwd=tmp_path)
    assert done.stderr == "[1]\n"
    document = json.loads(done.stdout)
    assert document["version"] == 1 and document["folder"] == "trimtab_imports"
    assert {package["name"] for package in document["packages"]} >= {"json", "decimal"}


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("import decimal; raise SystemExit(7)", 7),
        ("import decimal, os, signal; os.kill(os.getpid(), signal.SIGKILL)", 128 + 9),
    ],
)
def test_it_ends_as_the_program_does(tmp_path: Path, program: str, code: int) -> None:
    done = imports("--", sys.executable, "-c", program, cwd=tmp_path)
    assert done.returncode == code
    assert ("1 process was killed" in done.stderr) == (code > 128)


def test_a_signal_is_the_programs(tmp_path: Path) -> None:
    command = [str(TRIMTAB), "imports", "-q", "--", sys.executable, "-c", WAITS]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert (
            running.stdout.readline() == f"started by {running.pid}\n"
        )  # no supervisor's patience
        running.send_signal(signal.SIGTERM)
        assert running.stdout.read() == f"stopped by {int(signal.SIGTERM)}\n"
    assert running.returncode == 5
    assert Imports.read(tmp_path / "trimtab_imports/imports.json").exit_code == 5


def test_a_signal_at_once_is_the_programs_too(tmp_path: Path) -> None:
    """As soon as the program runs, trimtab passes signals on."""
    program = "trap 'exit 5' TERM; kill -TERM $PPID; while :; do :; done"
    done = imports("--", "sh", "-c", program, cwd=tmp_path)
    assert done.returncode == 2 and "(exit code 5)" in done.stderr


def test_a_program_without_python_is_an_error(tmp_path: Path) -> None:
    done = imports("--", "sh", "-c", "exit 3", cwd=tmp_path)
    assert done.returncode == 2 and "no Python wrote a record (exit code 3)" in done.stderr
    assert not (tmp_path / "trimtab_imports/imports.json").exists()
