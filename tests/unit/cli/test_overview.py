"""What `trimtab` says without a verb: light, and true of every verb."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperOption
from typer.main import get_command
from typer.testing import CliRunner

from trimtab import extras
from trimtab.cli.main import main
from trimtab.cli.overview import ADVANCED, overview
from trimtab.cli.verbs import command_line
from trimtab.errors import UserError, exit_code_of, format_error
from trimtab.installation import how_to_add

app = command_line()

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
    import trimtab.tuning.system.clustering
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


NEEDED_FIRST = [
    "debloat", "verify", "snapshot", "check", "image", "new", "run", "tune", "schedule", "worth",
    "imports", "doctor", "advanced",
]  # fmt: skip


def listed(help_text: str) -> list[str]:
    """The verbs that a help lists, in its order."""
    commands = help_text.partition("Commands")[2]
    return re.findall(r"^[│ ] {1,2}([a-z]+)  ", commands, re.MULTILINE)


def test_the_help_lists_what_is_needed_first() -> None:
    for command in (overview(), app):
        said = CliRunner().invoke(command, ["--help"], terminal_width=120)
        assert listed(said.output) == NEEDED_FIRST


@pytest.mark.parametrize(
    ("typed", "says"),
    [("debloatt -- python verify", "Did you mean 'debloat'?"), ("--help verify", "schedule")],
)
def test_another_verb_further_on_changes_nothing(
    typed: str, says: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["trimtab", *typed.split()])
    with pytest.raises(SystemExit):
        main()
    assert says in "".join(capfd.readouterr())


def test_every_verb_is_there_in_its_own_words() -> None:
    shown, real = get_command(overview()).commands, get_command(app).commands
    assert {name for name, command in real.items() if command.hidden} == set(ADVANCED)
    for name, command in shown.items():
        first = (real[name].help or "").split("\n\n")[0]
        assert " ".join(first.split()) == command.help, name


def test_other_verbs_are_advanced_and_go_on_by_their_old_names() -> None:
    said = CliRunner().invoke(app, ["advanced", "--help"], terminal_width=120)
    assert listed(said.output) == list(ADVANCED)
    for name in ADVANCED:
        old = CliRunner().invoke(app, [name, "--help"]).output
        new = CliRunner().invoke(app, ["advanced", name, "--help"]).output
        assert old.split() == new.replace(f"advanced {name}", name).split()


def test_an_old_name_says_what_to_type(capfd: pytest.CaptureFixture[str]) -> None:
    said = "trimtab compare: type `trimtab advanced compare`"
    for before, told in (((), True), (("-q",), False)):
        with pytest.raises(UserError):
            app([*before, "compare", "nowhere", "nowhere"], standalone_mode=False)
        written = capfd.readouterr()
        assert written.out == ""
        assert (written.err.count("\n") == 1 and said in written.err) == told, written.err


def options(command: Any) -> list[Any]:
    shared = {"help_all", "quiet", "verbose", "as_json"}
    given = [one for one in command.params if isinstance(one, TyperOption)]
    return [one for one in given if one.name not in shared]


def every_verb(command: Any, *words: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of each verb, by its new name."""
    if not hasattr(command, "commands"):
        yield words
        return
    for name, each in command.commands.items():
        if not each.hidden:
            yield from every_verb(each, *words, name)


ALL = list(every_verb(get_command(app)))


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_help_shows_ten_options_of_a_verb_and_help_all_every_one(words: tuple[str, ...]) -> None:
    said = {
        option: CliRunner().invoke(app, [*words, option], terminal_width=200).output
        for option in ("--help", "--help-all")
    }
    command: Any = get_command(app)
    for word in words:
        command = command.commands[word]
    own = [one.opts[0] for one in options(command) if not one.hidden]
    few = [option for option in own if re.search(rf"(?m)^│[ *]+{option} ", said["--help"])]
    assert len(few) <= 10 and bool(few) == bool(own)
    more = re.search(r"--help-all shows (\d+) more", said["--help"])
    assert len(own) == len(few) + (int(more[1]) if more else 0)
    if more:
        assert said["--help"].rstrip().endswith("more")
        assert all(f"{option} " in said["--help-all"] for option in own)
        assert "--help-all shows" not in said["--help-all"]


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
        ("debloat --keep-p", "--keep-paths"),  # also what --help leaves out
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
