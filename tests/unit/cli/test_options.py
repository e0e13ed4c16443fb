"""Options that are keys of the configuration: declared once, with the key's field."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from trimtab.cli.config_options.debloat import DEBLOAT, IMAGE, LOCATE, RECONSTRUCT
from trimtab.cli.config_options.group import OptionGroup, option_groups
from trimtab.cli.output.command_group import CommandGroup
from trimtab.cli.output.console import console
from trimtab.cli.program_options import PROGRAM
from trimtab.config.groups.debloat import Debloat, Fallback, Mode, Remove, Symbols
from trimtab.config.groups.workload import Workload
from trimtab.config.validate import keys_of, kind_at
from trimtab.errors import UserError


def filled(group: OptionGroup[Any], *words: str, **arguments: Any) -> Any:
    """What a verb with nothing but `group` receives of `words`, beside other `arguments`."""
    received = []
    verbs = CommandGroup()
    changed = dataclasses.replace(
        group, fill=lambda given, _: group.fill(given, {"command": ["x"], **arguments})
    )

    @verbs.command()
    @option_groups(options=changed)
    def verb(options: Any) -> None:
        received.append(options)

    verbs([*words], standalone_mode=False)
    [options] = received
    return options


def given(values: dict[str, Any], _: Mapping[str, Any]) -> dict[str, Any]:
    return values


def test_every_key_of_debloat_but_two_is_an_option() -> None:
    every = {*keys_of(Debloat)} - {"name", "minimum_hole_bytes"}
    assert {*IMAGE.keys} == every - {"start"}
    assert {*DEBLOAT.keys} == every - {"compression"}


def test_nothing_typed_is_what_the_class_says() -> None:
    assert filled(DEBLOAT) == Debloat(name="command_line")
    assert filled(LOCATE) == Debloat(name="command_line")
    assert filled(RECONSTRUCT).mode == Mode.ZERO
    values = filled(dataclasses.replace(PROGRAM, fill=given))
    plain = Workload(name="x", command=["x"], python="x")
    assert values
    for name, value in values.items():
        meant: Any = plain
        for step in PROGRAM.key_of[name].split("."):
            meant = getattr(meant, step)
        assert value == meant, name


def test_what_is_typed_reaches_its_key() -> None:
    words = ("--symbols", "keep", "--keep-library", "a*", "--keep-library", "b*", "--mode", "zero")
    options = filled(DEBLOAT, *words)
    assert (options.symbols, options.mode) == (Symbols.KEEP, Mode.ZERO)
    assert options.keep_libraries == ["a*", "b*"]
    values = filled(dataclasses.replace(PROGRAM, fill=given), "--drive", "a b", "--timeout-s", "5")
    assert (values["drive"], values["timeout_s"]) == ("a b", 5.0)


@pytest.mark.parametrize("group", [DEBLOAT, IMAGE, PROGRAM])
def test_the_help_is_the_first_sentence_of_the_key_and_its_choices(group: Any) -> None:
    for parameter in group.parameters():
        option = parameter.annotation.__metadata__[0]
        assert option.help.endswith(".") and len(option.help.split()) <= 25, option.help
        assert not {"`", "[", "]"} & set(option.help)
        kind = kind_at(group.kind, group.key_of[parameter.name].split("."))
        if isinstance(kind, type) and issubclass(kind, Mode):
            assert list(kind) == ["zero", "punch", "compact"]


@pytest.mark.parametrize(
    "old", [("--files", "remove"), ("--unloaded", "remove", "--files", "remove")]
)
@pytest.mark.parametrize("new", [(), ("--remove", "files")])
def test_old_options_stand_beside_an_equal_new_one(
    old: tuple[str, ...], new: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    assert filled(DEBLOAT, *old, *new).remove == Remove.FILES
    assert "type --remove files" in capfd.readouterr().err
    with pytest.raises(UserError, match=r"--(files|unloaded): 'remove' given, expected nothing"):
        filled(DEBLOAT, *old, "--remove", "code")


def test_without_a_program_code_alone_goes() -> None:
    assert filled(DEBLOAT, command=None).remove == Remove.CODE
    assert filled(DEBLOAT, "--remove", "files", command=None).remove == Remove.FILES
    assert filled(DEBLOAT, "--files", "remove", command=None).remove == Remove.FILES


def test_an_image_has_its_store_in_the_workspace(tmp_path: Any) -> None:
    options = filled(IMAGE, folder=tmp_path)
    assert options.fallback == Fallback.STORE
    assert (options.store, options.store_address) == (str(tmp_path / "store"), "/trimtab/store")
    options = filled(IMAGE, "--store", "mine", folder=tmp_path)
    assert (options.store, options.store_address) == ("mine", None)
    assert filled(IMAGE, "--fallback", "packed", folder=tmp_path).store is None
    with pytest.raises(UserError, match="--fallback original: the original is not there"):
        filled(IMAGE, "--fallback", "original", folder=tmp_path)


def test_a_wrong_value_is_told_with_its_option() -> None:
    with pytest.raises(UserError, match="--store: 'x' given"):
        filled(DEBLOAT, "--store", "x")
    with pytest.raises(UserError, match="--keep-library: "):
        filled(DEBLOAT, "--keep-library", "a", "--keep-library", "")


def test_common_options_are_shown_and_all_are_taken(capfd: pytest.CaptureFixture[str]) -> None:
    verbs = CommandGroup()

    @verbs.command(common=["symbols"])
    @option_groups(options=LOCATE)
    def verb(options: Debloat) -> None:
        console.notes.print(options.gpu.value)

    few, every = (CliRunner().invoke(verbs, [asked]).output for asked in ("--help", "--help-all"))
    assert "--symbols" in few and "--gpu" not in few and few.rstrip().endswith("shows 2 more")
    assert all(option in every for option in ("--symbols", "--gpu", "--start-up-only"))
    assert not any(option.hidden for option in get_command(verbs).params)
    verbs(["--gpu", "keep"], standalone_mode=False)
    assert capfd.readouterr().err == "keep\n"


def test_every_verb_takes_help_all() -> None:
    verbs = CommandGroup()

    @verbs.command()
    def verb() -> None:
        pass

    few, every = (CliRunner().invoke(verbs, [asked]).output for asked in ("--help", "--help-all"))
    assert few == every and "--json" in every and "--help-all" not in every
