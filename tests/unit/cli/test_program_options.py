"""What the command line says of a program, as the workload that it means."""

import os
from pathlib import Path
from typing import Any

import pytest

from trimtab.cli import workspace
from trimtab.cli.program_options import ProgramOptions
from trimtab.config.groups.output import OutputComparison
from trimtab.errors import TrimtabError, UserError

PYTHON = Path("env/bin/python")


@pytest.mark.parametrize(
    ("given", "compare"),
    [
        ({}, None),
        ({"output": Path("x")}, None),
        ({"relative_tolerance": 0.1}, OutputComparison.NUMERIC_STDOUT),
        ({"output": Path("x"), "absolute_tolerance": 0.1}, OutputComparison.NUMERIC_FILE),
        ({"compare_command": "cmp {before} {after}"}, OutputComparison.COMMAND),
        ({"compare": OutputComparison.LINES, "output": Path("x")}, OutputComparison.LINES),
        ({"compare": OutputComparison.EXIT_CODE}, OutputComparison.EXIT_CODE),
    ],
)
def test_how_the_output_is_compared(
    given: dict[str, Any], compare: OutputComparison | None
) -> None:
    options = ProgramOptions(**given)
    output = options.workload(["python"], PYTHON).output
    assert options.comparison == compare
    plain = OutputComparison.DIGEST_FILE if options.output else OutputComparison.DIGEST_STDOUT
    assert output.compare == (compare or plain)
    assert output.path == (str(Path.cwd() / "x") if options.output else None)


def test_commands_are_split_as_by_a_shell() -> None:
    options = ProgramOptions(drive="curl -d 'a b' x", ready="up", stop="SIGINT", ends_with="3")
    workload = options.workload(["serve"], PYTHON)
    assert workload.server.drive == ["curl", "-d", "a b", "x"]
    assert (workload.server.stop, workload.ends_with) == ("SIGINT", "3")
    checked = ProgramOptions(health_check=["curl 'a b'", "true"], target="root_folder:/srv/root")
    assert checked.workload(["serve"], None).health_checks == [["curl", "a b"], ["true"]]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"drive": "true"}, "--ready: "),
        ({"ready": "up"}, "--drive: "),
        ({"drive": "'", "ready": "up"}, '--drive: "\'" given, expected a command'),
        ({"drive": "true", "ready": "("}, "--ready: '(' given, expected a regular expression"),
        (
            {"health_check": [""], "target": "root_folder:/srv"},
            "--health-check: [] given, expected",
        ),
        ({"health_check": ["true"]}, "--health-check: "),  # no engine sees the program
        ({"ends_with": "256"}, "--ends-with: '256' given, expected an exit code"),
        ({"timeout_s": 0.0}, "--timeout-s: "),
        ({"compare": OutputComparison.NUMERIC_FILE}, "--output: "),
        ({"compare": OutputComparison.LINES, "relative_tolerance": 1.0}, "--relative-tolerance: "),
    ],
)
def test_what_does_not_fit_is_named(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as error:
        ProgramOptions(**given).workload(["python"], PYTHON)
    assert said in str(error.value)


@pytest.fixture
def env(tmp_path: Path) -> Path:
    """An environment by its looks: an interpreter, and a file that says that it is one."""
    (tmp_path / "env/bin").mkdir(parents=True)
    (tmp_path / "env/pyvenv.cfg").touch()
    (tmp_path / "env/bin/python").touch(0o755)
    return tmp_path / "env"


@pytest.mark.parametrize(
    "first_line",
    ["#!{env}/bin/python -u", "#!/usr/bin/env -S python -u", "#!/bin/sh", "#!/bin/sh -e"],
)
def test_the_interpreter_of_a_script(
    env: Path, monkeypatch: pytest.MonkeyPatch, first_line: str
) -> None:
    """A shell starts the scripts of an environment whose path is long, or has blanks."""
    (env / "bin/serve").write_text(first_line.format(env=env) + "\n")
    (env / "bin/serve").chmod(0o755)
    monkeypatch.setenv("PATH", f"{env}/bin:/usr/bin")
    found = workspace.find_interpreter(["serve"])
    assert found == env / "bin/python"
    monkeypatch.setenv("PATH", "/usr/bin")
    assert workspace.find_interpreter(["serve"]) is None
    assert workspace.find_program("serve", env / "bin/python") == str(env / "bin/serve")


def test_a_shell_script_elsewhere_names_no_interpreter(env: Path) -> None:
    (env / "pyvenv.cfg").unlink()
    (env / "bin/serve").write_text("#!/bin/sh\n")
    (env / "bin/serve").chmod(0o755)
    assert workspace.find_interpreter([str(env / "bin/serve")]) is None


def test_a_pipe_in_place_of_a_program_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o755)
    with pytest.raises(TrimtabError, match="pipe: not a file, but a folder, a pipe"):
        workspace.find_interpreter([str(tmp_path / "pipe")])
