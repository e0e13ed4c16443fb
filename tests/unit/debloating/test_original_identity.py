"""A slim environment knows the original that it depends on, and says when that is another."""

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trimtab.cli import doctor
from trimtab.cli.verbs import command_line
from trimtab.debloating.original_identity import problem_of_original
from trimtab.errors import UserError

app = command_line()

PACKAGES = f"lib/python3.{sys.version_info.minor}/site-packages"
PROGRAM = "import shapes.round; print(shapes.round.area)"
LOST = "import shapes.square; print(shapes.square.area)"


def install(environment: Path, version: str = "1.0", area: int = 4, at_s: int = 10**9) -> None:
    """Install a package as pip does, with byte code, which holds the times of the sources."""
    packages = environment / PACKAGES
    metadata = packages / f"shapes-{version}.dist-info"
    for old in packages.glob("shapes*"):
        shutil.rmtree(old)
    files = {"__init__": "", "round": "area = 3\n", "square": f"area = {area}\n"}
    (packages / "shapes").mkdir()
    for name, text in files.items():
        (packages / f"shapes/{name}.py").write_text(text)
        os.utime(packages / f"shapes/{name}.py", (at_s, at_s))
    metadata.mkdir()
    rows = [f"shapes/{name}.py,sha256={hash(text)},{len(text)}" for name, text in files.items()]
    cached = [f"shapes/__pycache__/{name}.{sys.implementation.cache_tag}.pyc,," for name in files]
    record = f"{metadata.name}/RECORD,,"
    (metadata / "RECORD").write_text("\n".join([*rows, *cached, record]) + "\n")
    command = [environment / "bin/python", "-m", "compileall", "-q", packages / "shapes"]
    subprocess.run(command, check=True)


@pytest.fixture(scope="module")
def delivered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an original in `original`, and its slim environment in `workspace/env`."""
    top = tmp_path_factory.mktemp("dependent")
    venv.create(top / "original", symlinks=True)
    install(top / "original")
    (top / "program.py").write_text(PROGRAM)
    debloat(top / "original", top / "workspace", top / "program.py")
    return top


def debloat(original: Path, workspace: Path, program: Path, *options: str) -> None:
    said = CliRunner().invoke(app, [
        "debloat", "--workspace", str(workspace), "--runs", "1", "--settle",
        "1", *options, "--python", str(original / "bin/python"), "--", "python", str(program),
    ])  # fmt: skip
    assert said.exit_code == 0, said.stderr


@pytest.fixture
def place(delivered: Path, tmp_path: Path) -> Iterator[Path]:
    """A folder with the workspace in it, where a test changes the original, which is put back."""
    (delivered / "original").rename(delivered / "kept")
    shutil.copytree(delivered / "kept", delivered / "original", symlinks=True)
    shutil.copytree(delivered / "workspace", tmp_path / "workspace", symlinks=True)
    yield tmp_path
    shutil.rmtree(delivered / "original", ignore_errors=True)
    (delivered / "kept").rename(delivered / "original")


def run(place: Path, code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    python = place / "workspace/env/bin/python"
    environment = {"PATH": os.environ["PATH"], **variables}
    return subprocess.run(
        [python, "-c", code], env=environment, capture_output=True, text=True, check=False
    )


def nothing(original: Path) -> None:
    """Leave it as it is."""


def unrelated(original: Path) -> None:
    (original / PACKAGES / "other").mkdir()
    (original / PACKAGES / "other-2.dist-info").mkdir()
    (original / PACKAGES / "other-2.dist-info/RECORD").write_text("other-2.dist-info/RECORD,,\n")


def byte_code(original: Path) -> None:
    (original / PACKAGES / "__pycache__").mkdir()
    (original / PACKAGES / "__pycache__/new.pyc").write_bytes(b"new")


def reinstalled(original: Path) -> None:
    install(original, at_s=2 * 10**9)


def upgraded(original: Path) -> None:
    install(original, "1.1", 5)


def other_build(original: Path) -> None:
    install(original, area=55)


def removed(original: Path) -> None:
    for path in (original / PACKAGES).glob("shapes*"):
        shutil.rmtree(path)


def missing(original: Path) -> None:
    shutil.rmtree(original)


@pytest.mark.parametrize("change", [nothing, unrelated, byte_code, reinstalled])
def test_where_nothing_is_wrong_not_a_byte_is_written(
    delivered: Path, place: Path, change: Callable[[Path], None]
) -> None:
    """Also where the package was installed again as it was, which has byte code of other times."""
    change(delivered / "original")
    done = run(place, LOST)
    assert (done.returncode, done.stdout, done.stderr) == (0, "4\n", "")
    assert problem_of_original(place / "workspace/environment.json") is None


@pytest.mark.parametrize("change", [upgraded, other_build, removed, missing])
def test_another_original_is_named_before_anything_is_missed(
    delivered: Path, place: Path, change: Callable[[Path], None]
) -> None:
    """Once for a program and those that it starts, whatever variables these get."""
    change(delivered / "original")
    child = f"subprocess.run([sys.executable, '-c', {PROGRAM!r}], check=True, env=dict(os.environ))"
    done = run(place, f"import os, subprocess, sys; {child}; {PROGRAM}")
    assert (done.returncode, done.stdout) == (0, "3\n3\n")
    problem = problem_of_original(place / "workspace/environment.json")
    assert problem is not None and done.stderr == f"trimtab: {problem}\n"
    named = "is missing or" if change is missing else "was changed: shapes 1.0 is no longer there"
    assert str(delivered / "original") in problem and named in problem
    assert "`trimtab debloat` again (with --fallback packed it depends on nothing)" in problem


@pytest.mark.parametrize("change", [upgraded, missing])
def test_a_miss_ends_with_the_same_cause(
    delivered: Path, place: Path, change: Callable[[Path], None]
) -> None:
    change(delivered / "original")
    done = run(place, LOST, TRIMTAB_ORIGINAL_TOLD="1")
    [said] = done.stderr.splitlines()
    assert done.returncode == 70 and said.startswith(f"trimtab: {PACKAGES}/shapes/square.py: was")
    assert said.endswith(problem_of_original(place / "workspace/environment.json") or "none")


@pytest.mark.parametrize("change", [upgraded, missing])
def test_verbs_say_it(delivered: Path, place: Path, change: Callable[[Path], None]) -> None:
    change(delivered / "original")
    workspace = str(place / "workspace")
    problem = problem_of_original(place / "workspace/environment.json") or "none"
    for verb in (["verify"], ["advanced", "learn"]):
        said = CliRunner().invoke(app, [*verb, "--workspace", workspace])
        assert isinstance(said.exception, UserError) and str(said.exception) == problem
    said = CliRunner().invoke(app, ["check", workspace, "--json"])
    assert said.exit_code == 3 and json.loads(said.stdout)["problems"] == [problem]


def test_what_needs_no_original_looks_at_none(delivered: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    debloat(delivered / "original", workspace, delivered / "program.py", "--fallback", "packed")
    assert not (workspace / "env/trimtab/original.identity").exists()
    assert problem_of_original(workspace / "environment.json") is None


def test_looking_costs_four_system_calls(delivered: Path, tmp_path: Path) -> None:
    """The file is read, and what is installed into is asked for once."""
    if words := doctor.missing("strace"):
        pytest.skip(words)
    log, python = tmp_path / "calls", delivered / "workspace/env/bin/python"
    subprocess.run(["strace", "-o", log, python, "-c", "pass"], check=True)
    calls = log.read_text().splitlines()
    at = next(number for number, call in enumerate(calls) if "original.identity" in call)
    names = [call.partition("(")[0] for call in calls[at : at + 4]]
    assert names == ["openat", "read", "newfstatat", "close"]
    assert sum("original.identity" in call for call in calls) == 1


def test_an_environment_that_grew_says_so_and_is_put_back(place: Path) -> None:
    workspace = str(place / "workspace")
    before = CliRunner().invoke(app, ["check", workspace])
    assert "came back" not in before.stdout + before.stderr
    assert run(place, LOST).returncode == 0
    grown = CliRunner().invoke(app, ["check", workspace])
    assert "files, 0.0 MB came back since delivery" in grown.stdout
    assert "`trimtab advanced learn --forget` removes them again" in grown.stderr
    said = CliRunner().invoke(
        app, ["advanced", "learn", "--forget", "--json", "--workspace", workspace]
    )
    assert said.exit_code == 0 and json.loads(said.stdout)["removed_files"] > 0
    assert not (place / "workspace/env" / PACKAGES / "shapes/square.py").exists()
    assert CliRunner().invoke(app, ["check", workspace]).stdout == before.stdout
    assert run(place, LOST).stdout == "4\n"
