"""The commands that the pages show are ones that the programs take, down to each option."""

import re
import shlex
from contextlib import suppress
from typing import Any, NamedTuple

import documents
import pytest
import typer
import yaml
from documents import PROJECT
from dvc.cli.parser import get_main_parser
from snakemake.cli import get_argument_parser

from trimtab.cli.verbs import command_line
from trimtab.config import Configurations
from trimtab.config.parameters import overrides_of

app = command_line()

PROGRAMS = ("trimtab", "snakemake", "make", "dvc")
TARGET = re.compile(r"^([\w.-]+(?: [\w.-]+)*):", re.MULTILINE)


class Shown(NamedTuple):
    """A command of a page."""

    place: str
    words: list[str]


COMMANDS = [
    Shown(command.page, shlex.split(one))
    for command in documents.shown()
    for line in command.text.splitlines()
    for one in line.split(" && ")
    if one.partition(" ")[0] in PROGRAMS
]


def of(program: str) -> list[Any]:
    """The commands of one program, each text once."""
    found = {shlex.join(each.words): each for each in COMMANDS if each.words[0] == program}
    return [pytest.param(each.words, id=f"{each.place}: {text}") for text, each in found.items()]


def test_commands_are_found() -> None:
    assert len(COMMANDS) > 60
    assert {each.words[0] for each in COMMANDS} == set(PROGRAMS)


@pytest.mark.parametrize("words", of("trimtab"))
def test_trimtab_takes_what_is_shown(words: list[str]) -> None:
    program: Any = typer.main.get_command(app)
    rest, parent = words[1:], None
    while hasattr(program, "resolve_command") and not rest[0].startswith("-"):
        parent = program.context_class(program, parent=parent)
        _, program, rest = program.resolve_command(parent, rest)
    with suppress(typer.Exit):  # as --version does
        program.make_context(program.name, rest, parent=parent)


@pytest.mark.parametrize("words", of("snakemake"))
def test_snakemake_takes_what_is_shown(words: list[str]) -> None:
    parser = get_argument_parser()
    for action in parser._actions:
        if action.dest == "executor":
            action.choices = None  # those of plugins that nobody may have here
    arguments = parser.parse_args(words[1:])
    for text in arguments.config or []:
        name, _, value = text.partition("=")
        overrides = overrides_of({name: yaml.safe_load(value)}, "--config")
        if not any("my_" in each or "$" in each for each in overrides):
            Configurations(PROJECT / "conf", list(overrides))


@pytest.mark.parametrize("words", of("make"))
def test_make_has_the_targets_that_are_shown(words: list[str]) -> None:
    targets = set(" ".join(TARGET.findall((PROJECT / "Makefile").read_text())).split())
    asked = {word for word in words[1:] if "=" not in word and not word.startswith("-")}
    assert asked - targets - {".venv/.installed"} == set()


@pytest.mark.parametrize("words", of("dvc"))
def test_dvc_takes_what_is_shown(words: list[str]) -> None:
    get_main_parser().parse_args(words[1:])
