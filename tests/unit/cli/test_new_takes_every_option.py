"""`trimtab new` takes the options of the verbs that its project replaces, and writes them down."""

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.core import TyperOption
from typer.main import get_command

from trimtab.cli.config_options.run_counts import RUN_COUNTS
from trimtab.cli.program_options import EVERY_OPTION as OF_PROGRAM
from trimtab.cli.project.conf import configurations
from trimtab.cli.project.options import OF_PROJECT
from trimtab.cli.verbs import command_line
from trimtab.config.groups.debloat import Debloat
from trimtab.config.parameters import read_overrides
from trimtab.config.root import Profiling, Settle, Verify
from trimtab.config.validate import steps_of
from trimtab.errors import UserError

# Why `trimtab new` has no such option.
NOT_TAKEN = {
    "folder": "results of a project are in its folder",
    "help_all": "of the command line",
    "quiet": "of the command line, and taken by every verb",
    "verbose": "of the command line, and taken by every verb",
    "as_json": "of the command line, and taken by every verb",
}
# Full keys of the configuration, by the names of options.
KEYS = {
    **{name: f"debloat.{key}" for name, key in OF_PROJECT.key_of.items()},
    **{name: f"workload.{key}" for name, key in OF_PROGRAM.key_of.items()},
    **RUN_COUNTS.key_of,
    "gpus": "hardware.gpus",
    "files": "debloat.remove",
    "unloaded": "debloat.remove",
}
PYTHON = {"python": ("env/bin/python", "../env/bin/python")}
# Projects: the typed text of each option, with its value in the configuration if that is another.
PROJECTS: dict[str, dict[str, Any]] = {
    "of_much": {
        **PYTHON, "mode": "zero", "symbols": "keep", "gpu": "architecture",
        "start_up_only": "remove", "share": "copy", "keep": ("options", ["options"]),
        "keep_paths": ("/app/**", ["/app/**"]), "keep_library": ("a*", ["a*"]),
        "package_database": "drop", "fallback": "store", "store": ("kept", "../kept"),
        "store_address": "/srv/kept", "start": "snapshot", "gpus": ("sm_90", ["9.0"]),
        "runs": ("2", 2), "settle": ("0", 0), "repeats": ("7", 7), "timeout_s": ("5", 5.0),
        "ends_with": "3", "output": "o.${x}", "compare": "numeric_file",
        "relative_tolerance": ("0.1", 0.1), "absolute_tolerance": ("0.2", 0.2), "user": "nobody",
    },
    "of_code": {
        **PYTHON, "remove": "code", "kernels": "prune", "fallback": "none",
        "drive": ("env/bin/python 'a b'", ["env/bin/python", "a b"]), "ready": "up $",
        "stop": "SIGINT", "held_out": ("x.py", {"input_1": {"drive": ["x.py"]}}),
        "compare_command": ("cmp x.py {after}", ["cmp", "../x.py", "{after}"]),
    },
    "of_address": {**PYTHON, "drive": ("true", ["true"]), "address": "localhost:80"},
    "of_a_root": {
        "target": ("root_folder:env", {"kind": "root_folder", "location": "../env"}),
        "health_check": ("true 'a b'", [["true", "a b"]]), "user": "nobody",
        "held_out": ("env/bin/python x.py",
                     {"input_1": {"command": ["env/bin/python", "x.py"]}}),
    },
    "of_files": {**PYTHON, "files": ("keep", "code")},
    "of_libraries": {**PYTHON, "unloaded": ("remove", "libraries")},
    "of_an_image": {
        "image": ("image.tar", "../image.tar"), "compression": "zstd", "ends_with": "3",
    },
}  # fmt: skip


@cache
def options_of(*verb: str) -> dict[str, TyperOption]:
    """The options of a verb, by their names in Python."""
    command: Any = get_command(command_line(verb[0]))
    for name in verb:
        command = command.commands[name]
    return {one.name: one for one in command.params if isinstance(one, TyperOption)}


def new(*words: str) -> None:
    get_command(command_line("new")).main(["new", *words], standalone_mode=False)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what looks like a program, an environment and an image."""
    (tmp_path / "env/bin").mkdir(parents=True)
    (tmp_path / "env/bin/python").touch(0o755)
    (tmp_path / "x.py").touch()
    (tmp_path / "image.tar").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def composed(name: str) -> dict[str, Any]:
    """What a project's workflow reads of its configuration."""
    overrides = read_overrides(Path(name, "params.yaml"))
    found = configurations(Path(name, "conf"), overrides, to_run=True)
    options = {
        group: found.option(group, option)
        for group, option in (("workload", name), ("hardware", "this_machine"))
    }
    return {**vars(found.root), **options}


def value_at(composed: Mapping[str, Any], key: str) -> Any:
    first, *steps = steps_of(key)
    value = composed[first]
    for step in steps:
        value = getattr(value, step)
    return value


def is_value(found: Any, expected: Any) -> bool:
    """Whether a value, or each of an object's values that are `expected`, is as expected."""
    if isinstance(expected, dict) and found is not None:
        parts = found if isinstance(found, dict) else vars(found)
        return all(is_value(parts.get(name), value) for name, value in expected.items())
    return bool((found.value if isinstance(found, Enum) else found) == expected)


@pytest.mark.parametrize("verb", [("debloat",), ("image", "slim"), ("verify",)])
def test_every_option_of_another_verb_is_taken_and_tried_here(verb: tuple[str, ...]) -> None:
    names = options_of(*verb).keys() - NOT_TAKEN
    assert names <= options_of("new").keys()
    assert names <= {name for project in PROJECTS.values() for name in project}
    assert names <= KEYS.keys()


@pytest.mark.parametrize("project", PROJECTS)
def test_what_is_typed_is_in_the_configuration(here: Path, project: str) -> None:
    typed = {
        name: given if isinstance(given, tuple) else (given, given)
        for name, given in PROJECTS[project].items()
    }
    options = options_of("new")
    words = [word for name, (text, _) in typed.items() for word in (options[name].opts[0], text)]
    new(project, *words, "--", "env/bin/python", "x.py")
    new("plain", "--", "env/bin/python", "x.py")
    found, plain = composed(project), composed("plain")
    location = typed.pop("image", ("", None))[1]
    for name, (_, expected) in typed.items():
        assert is_value(value_at(found, KEYS[name]), expected), name
        assert not is_value(value_at(plain, KEYS[name]), expected) or name == "python", name
    if location is not None:
        assert found["workload"].target.kind == "image"
        assert found["workload"].target.location == location
        debloat = found["debloat"]
        assert debloat.store == f"results/debloat/{project}/this_machine/store"
        assert (debloat.fallback.value, debloat.store_address) == ("store", "/trimtab/store")


def test_what_is_not_typed_is_not_written(here: Path) -> None:
    new("plain", "--", "env/bin/python", "x.py")
    assert list(yaml.safe_load(Path("plain/conf/experiment/plain.yaml").read_text())) == [
        "experiment"
    ]
    found = composed("plain")  # what is left out is what the shipped configuration says, too
    assert replace(found["debloat"], name="x") == Debloat(name="x")
    assert [found[part] for part in ("profiling", "settle", "verify")] == [
        Profiling(), Settle(), Verify(),
    ]  # fmt: skip


def test_a_servers_driver_is_found_from_the_projects_folder(here: Path) -> None:
    """A root's driver runs in the folder in which the workflow runs."""
    words = ("--image", "image.tar", "--drive", "python x.py", "--ready", "up")
    new("served", *words, "--held-out", "python x.py 2")
    workload = composed("served")["workload"]
    assert workload.server.drive == ["python", "../x.py"]
    assert workload.held_out["input_1"].drive == ["python", "../x.py", "2"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--compression", "zstd"), "--compression: expected --image"),
        (("--image", "image.tar", "--start", "snapshot"), "--start snapshot: images start"),
        (("--image", "image.tar", "--python", "env/bin/python"), "--python: is of an environment"),
        (("--image", "image.tar", "--fallback", "original"), "--fallback original: "),
        (("--store", "kept"), "--store: 'kept' given"),
        (("--runs", "0"), "--runs: 0 given, expected a number of at least 1"),
        (("--for", "big"), "'big' is no GPU architecture"),
        (("--held-out", ""), "--held-out: "),
    ],
)
def test_what_does_not_fit_is_told_before_anything_is_written(
    here: Path, words: tuple[str, ...], said: str
) -> None:
    with pytest.raises(UserError) as error:
        new("refused", *words, "--", "env/bin/python", "x.py")
    assert said in str(error.value)
    assert not Path("refused").exists()
