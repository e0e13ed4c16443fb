"""A deployment's files: the command that its script runs is the tuned one, word for word."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trimtab.config.groups.workload import Workload
from trimtab.errors import UserError
from trimtab.tuning.deployment.folder import deploy, module_folders
from trimtab.tuning.deployment.program_files import ProgramFiles
from trimtab.tuning.deployment.requirements import requirements_of

SHOWS = "import json, os, sys\nprint(json.dumps([sys.argv, dict(os.environ)]))\n"
RESULT = {"score": 0.5, "training_s": 1.5, "training_j": 3.0, "energy_source": "modelled"}


def deployed(folder: Path, command: list[str], document: dict[str, Any], **keys: Any) -> Path:
    place = folder / "out"
    given = {"python": sys.executable, "workdir": str(folder), **keys}
    workload = Workload(name="program", command=command, **given)
    deploy(place, workload, document, {**RESULT, "system": {}})
    return place


def run(place: Path, *more: str) -> tuple[list[str], dict[str, str]]:
    """Run a deployment, with this Python as its python3."""
    own = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", place / "run.sh", *more], cwd=place.parent, env=own, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    words, environment = json.loads(done.stdout)
    return words, environment


SHELL = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=12)


@settings(
    max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(SHELL, SHELL)
def test_no_word_is_changed_by_the_shell(tmp_path: Path, word: str, value: str) -> None:
    (tmp_path / "show.py").write_text(SHOWS)
    words = [word for word in (word,) if "{" not in word and not (tmp_path / word).exists()]
    document = {"parameters": {"a_b": value}, "env": {"OWN": value}}
    place = deployed(tmp_path, ["python", "show.py", *words], document)
    found, environment = run(place, "last one")
    assert found == [str(place / "program/show.py"), *words, "--a-b", value, "last one"]
    assert environment["OWN"] == value


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["python", "show.py"], {"show.py", "lib.py"}),
        (["python", "-m", "pack.main"], {"pack/main.py", "lib.py"}),
        (
            ["python", "whole.py"],
            {"whole.py", "own/__init__.py", "own/a.py", "own/b.json", "lib.py"},
        ),
        (["python", "sub/show.py", "conf.yaml"], {"sub/show.py", "conf.yaml"}),
        (["python", "show.py", "large.bin"], {"show.py", "lib.py"}),
        (["python", "-c", "pass"], set()),
    ],
)
def test_the_files_of_a_command(tmp_path: Path, command: list[str], expected: set[str]) -> None:
    for name in ("show.py", "pack/main.py", "sub/show.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("import lib, json, unknown_module\n")
    (tmp_path / "whole.py").write_text("import own.a\n")
    (tmp_path / "own").mkdir()
    (tmp_path / "own/__init__.py").write_text("from . import a\n")
    (tmp_path / "own/a.py").write_text("import lib\n")
    (tmp_path / "own/b.json").touch()
    (tmp_path / "lib.py").touch()
    (tmp_path / "unused.py").touch()
    (tmp_path / "conf.yaml").touch()
    (tmp_path / "large.bin").write_bytes(bytes(2 << 20))
    found = ProgramFiles.of(command, tmp_path)
    assert {str(path.relative_to(tmp_path)) for path in found.files} == expected


@pytest.mark.parametrize("is_package", [True, False])
def test_modules_of_the_start_folder(tmp_path: Path, is_package: bool) -> None:
    """By PYTHONPATH=. or a line of its own, a script in a folder imports from where it starts."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/run.py").write_text(
        "import json, yaml, pkg.sub\nprint(json.dumps([[pkg.sub.NAME], {}]))\n"
    )
    (tmp_path / "pkg/sub.py").write_text("import other\nNAME = other.NAME\n")
    if is_package:
        (tmp_path / "pkg/__init__.py").touch()
    (tmp_path / "other.py").write_text("NAME = 'found'\n")
    # The interpreter has a yaml and a json of its own, which these must not hide.
    (tmp_path / "yaml.py").write_text("raise SystemExit('hidden')\n")
    (tmp_path / "json.py").write_text("raise SystemExit('hidden')\n")
    place = deployed(tmp_path, ["python", "pkg/run.py"], {"parameters": {}})
    files = {str(path.relative_to(place / "program")) for path in (place / "program").rglob("*.py")}
    assert files - {"pkg/__init__.py"} == {"pkg/run.py", "pkg/sub.py", "other.py"}
    for path in ("pkg/run.py", "pkg/sub.py", "other.py"):
        (tmp_path / path).unlink()
    assert run(place)[0] == ["found"]


def test_modules_of_a_searched_folder(tmp_path: Path) -> None:
    for name in ("scripts", "src/own"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "scripts/run.py").write_text(
        "import json, own.a\nprint(json.dumps([[own.a.NAME], {}]))\n"
    )
    (tmp_path / "src/own/__init__.py").touch()
    (tmp_path / "src/own/a.py").write_text("NAME = 'found'\n")
    env = {"PYTHONPATH": "src"}
    place = deployed(tmp_path, ["python", "scripts/run.py"], {"parameters": {}}, env=env)
    (tmp_path / "src").rename(tmp_path / "away")
    assert run(place)[0] == ["found"]
    (tmp_path / "away").rename(tmp_path / "src")
    workload = Workload(
        name="program", command=["python", "scripts/run.py"], python=sys.executable,
        workdir=str(tmp_path), env=env,
    )  # fmt: skip
    assert module_folders(place, workload) == [place, place / "program", place / "program/src"]


def test_a_module_and_its_output(tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack/main.py").write_text(SHOWS)
    command = ["python", "-m", "pack.main", "--output", "{output}/a b.json"]
    place = deployed(tmp_path, command, {"parameters": {"epochs": 3}})
    (tmp_path / "pack/main.py").unlink()
    found, _ = run(place)
    assert found[1:] == ["--output", f"{place}/output/a b.json", "--epochs", "3"]
    assert (place / "output").is_dir()


def test_a_folder_of_others_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "show.py").write_text(SHOWS)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine.txt").write_text("mine")
    with pytest.raises(UserError, match="has other files"):
        deployed(tmp_path, ["python", "show.py"], {"parameters": {}})
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]
    (tmp_path / "out/mine.txt").unlink()
    deployed(tmp_path, ["python", "show.py"], {"parameters": {}})
    deployed(tmp_path, ["python", "show.py"], {"parameters": {"epochs": 1}})  # its own, again
    assert json.loads((tmp_path / "out/parameters.json").read_text()) == {"epochs": 1}


def test_requirements_are_what_is_imported(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import yaml\ndef later():\n    from numpy import array\n")
    (tmp_path / "b.py").write_text("import os, trimtab_trial, no_such_module\n")
    found = requirements_of([tmp_path / "a.py", tmp_path / "b.py"], Path(sys.executable))
    assert [line.split("==")[0].lower() for line in found] == ["numpy", "pyyaml"]
