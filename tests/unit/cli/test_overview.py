"""What `trimtab` says without a verb: light, and true of every verb."""

import os
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from trimtab import extras
from trimtab.cli.overview import overview
from trimtab.cli.verbs import app
from trimtab.errors import exit_code_of, format_error
from trimtab.installation import how_to_add

PROJECT = Path(__file__).resolve().parents[3]
HEAVY = {"numpy", "pandas", "pyarrow", "pydantic", "scipy", "hydra", "torch"}
RUN = """
import sys
from trimtab.cli.main import main
sys.argv = ["trimtab", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(*{name.partition(".")[0] for name in sys.modules})
"""
WITHOUT = """
import sys
from trimtab.extras import extra_of
sys.modules["sklearn"] = None
try:
    import trimtab.tuning.system.ground_truth
except ModuleNotFoundError as error:
    print(extra_of(error))
"""


@pytest.mark.parametrize("word", ["--help", "-h", "--version"])
def test_it_imports_none_of_what_verbs_need(word: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN, word], capture_output=True, text=True, check=True
    )
    *said, modules = done.stdout.splitlines()
    assert set(modules.split()) & HEAVY == set()
    text = "\n".join(said)
    assert f"trimtab {version('trimtab')}" == text if word == "--version" else "debloat" in text


def test_every_verb_is_there_in_its_own_words() -> None:
    shown, real = get_command(overview()).commands, get_command(app).commands
    assert shown.keys() == real.keys()
    for name, command in real.items():
        first = (command.help or "").split("\n\n")[0]
        assert " ".join(first.split()) == shown[name].help, name


def test_every_verb_has_its_help_by_the_short_option_too() -> None:
    said = CliRunner().invoke(app, ["image", "slim", "-h"])
    assert said.exit_code == 0 and "--workspace" in said.output


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("deb", "debloat"),
        ("-q image sl", "slim"),
        ("verify --verb", "--verbose"),
        ("--js", "--json"),
    ],
)
def test_the_shell_completes_verbs_and_options(typed: str, completed: str) -> None:
    program = Path(sys.executable).parent / "trimtab"
    last = str(len(typed.split()))
    asked = {"_TRIMTAB_COMPLETE": "complete_bash", "COMP_CWORD": last}
    asked["COMP_WORDS"] = f"trimtab {typed}"
    done = subprocess.run([program], env={**os.environ, **asked}, capture_output=True, text=True)
    assert done.stdout.split() == [completed], done.stderr


def test_every_missing_package_leads_to_an_extra_that_has_it() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    named = {
        extra: " ".join(wanted).lower().replace("-", "_")
        for extra, wanted in project["optional-dependencies"].items()
    }
    spelled = {
        "pil": "pillow",
        "sklearn": "scikit_learn",
        "requests": "docker",
        "urllib3": "docker",
    }
    for module, extra in extras._OF_ONE.items():
        assert spelled.get(module.lower(), module.lower()) in named[extra], module
    for module in extras._OF_SEVERAL:
        for extra in {"simulate", "tune"}:
            assert spelled.get(module, module) in named[extra], module


def test_a_missing_package_is_told_with_its_extra() -> None:
    missing = ModuleNotFoundError("No module named 'numba.core'", name="numba.core")
    assert format_error(missing) == (
        f"numba.core is not installed; this needs: {how_to_add('simulate')}"
    )
    assert exit_code_of(missing) == 2
    assert format_error(ModuleNotFoundError("No module named 'mine'", name="mine")) is None


def test_the_room_that_asks_says_which_extra_it_is() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)
    assert done.stdout == "tune\n", done.stderr
