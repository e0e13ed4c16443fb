"""Every verb takes --quiet, --verbose and --json, and means by them what all others do."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import experiment_files as files
import pytest
from fake_registry import FakeRegistry
from handmade import entry, layer, oci_image
from machine_root import root_of_programs, tar_of_entered
from rich.table import Table
from typer.main import get_command
from typer.testing import CliRunner

from trimtab.cli.output.command_group import CommandGroup
from trimtab.cli.output.console import console
from trimtab.cli.output.log import told_to
from trimtab.cli.output.progress_lines import RUNS, ProgressLines
from trimtab.cli.overview import overview
from trimtab.cli.verbs import command_line
from trimtab.debloating.verification.verify import VerificationError
from trimtab.errors import TrimtabError, UserError
from trimtab.records.imports.saved_starts import SavedStarts
from trimtab.records.outcome import Outcome
from trimtab.records.verdict import Verdict

app = command_line()

pytestmark = pytest.mark.xdist_group("speaking")  # they share what is made once
PROJECT = Path(__file__).parents[3]
OPTIONS = {"--quiet": "-q", "--verbose": "-v", "--json": None}
ONCE = ("--runs", "1", "--settle", "1")
LIBRARY = "int used(int x) { return x + 1; } int unused(int x) { return x + 2; }"
PROGRAM = '#include <stdio.h>\nint used(int); int main() { printf("%d\\n", used(1)); }'
QUEUE = "classes: {only: {priority: 0}}\njobs: [{class: only, at_s: 0, command: [sh, -c, ':']}]\n"
JOBS = "submit,run,cores,image\n0,60,2,a\n1,60,4,a\n2,60,2,a\n"
TRAINING = """
import trimtab_trial
for epoch in range(trimtab_trial.first_epoch(), 1):
    trimtab_trial.epoch_end(epoch, accuracy=0.5)
"""


def verbs(command: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of every verb of the command line, those of groups too."""
    for name, each in command.commands.items():
        if each.hidden:  # an old name
            continue
        if hasattr(each, "commands"):
            yield from verbs(each, (*before, name))
        else:
            yield (*before, name)


ALL = list(verbs(get_command(app)))
ENDLESS = ("cold-store", "serve")  # tests/unit/cold_store/test_cold_server.py runs it
ENDING = [words for words in ALL if words != ENDLESS]
GROUPS = [("image",), ("schedule",), ("advanced",), ("cold-store",)]


def command_of(words: tuple[str, ...]) -> Any:
    command: Any = get_command(app)
    for word in words:
        command = command.commands[word]
    return command


def trimtab(*words: object) -> None:
    app([*map(str, words)], standalone_mode=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program, its slim one, and what else verbs are given."""
    place = tmp_path_factory.mktemp("speaking")
    for name in ("bin", "lib"):
        (place / "program" / name).mkdir(parents=True)
    library = ["-shared", "-fPIC", "-o", place / "program/lib/libparts.so"]
    link = ["-L", place / "program/lib", "-lparts", "-Wl,-rpath,$ORIGIN/../lib"]
    program = ["-o", place / "program/bin/program"]
    for source, options in ((LIBRARY, library), (PROGRAM, [*program, "-x", "none", *link])):
        subprocess.run(["gcc", "-x", "c", "-", *options], input=source, text=True, check=True)
    (place / "queue.yaml").write_text(QUEUE)
    (place / "jobs.csv").write_text(JOBS)
    (place / "fleet.csv").write_text("image,bytes,slim_bytes\na,1e9,1e8\n")
    (place / "train.py").write_text(TRAINING)
    slim = ("debloat", "--workspace", place / "slim", *of_program(place, *ONCE))
    trimtab(*slim)
    trimtab("advanced", "locate", "--workspace", place / "slim")
    trimtab("new", place / "my project", "--", sys.executable, place / "train.py")
    oci_image(place / "small.tar", layer(entry("a", b"a" * 4096)), config={})
    files.weigh(files.write_debloat(place / "weighed"))
    return place


@pytest.fixture(scope="module")
def images(place: Path) -> Iterator[Path]:
    """The same folder, with two workspaces of images, and the name of one in a registry."""
    root = place / "root"
    root_of_programs(root, ["sh", "sort"])
    data = tar_of_entered(root)
    config = {"Entrypoint": ["/bin/sh", "-c"], "Cmd": ["echo b | sort"]}
    oci_image(place / "image.tar", data, config=config)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(place / "cache"))
        for name in ("one", "two"):
            trimtab("image", "slim", place / "image.tar", "--workspace", place / name, *ONCE)
        with FakeRegistry().serving() as host:
            (place / "pushed").write_text(f"{host}/demo:slim")
            trimtab("image", "push", place / "one/slim.tar", "--to", pushed(place))
            yield place


def pushed(place: Path) -> str:
    return (place / "pushed").read_text()


def of_program(place: Path, *options: object) -> list[Any]:
    target = f"native_folder:{place / 'program'}"
    return ["--target", target, *options, "--", place / "program/bin/program"]


def spans(place: Path) -> Path:
    return next((place / "slim/spans").glob("*libparts.so.json"))


# What each verb is given to succeed: from the shared folder, and one of this run's own.
Given = Callable[[Path, Path], list[Any]]
GIVEN: dict[tuple[str, ...], Given] = {
    ("doctor",): lambda place, own: [],
    ("check",): lambda place, own: [place / "weighed", "--max-size", "1GB"],
    ("advanced", "compare"): lambda place, own: [place / "weighed", place / "slim"],
    ("new",): lambda place, own: [own / "made", "--", sys.executable, place / "train.py"],
    ("run",): lambda place, own: ["--dry-run"],
    ("advanced", "trace"): lambda place, own: [
        "--workspace", own / "w", *of_program(place, "--runs", 1),
    ],
    ("debloat",): lambda place, own: ["--workspace", own / "w", *of_program(place, *ONCE)],
    ("advanced", "locate"): lambda place, own: ["--workspace", place / "slim"],
    ("advanced", "reconstruct"): lambda place, own: [
        "--span-path", spans(place), "--output-dir", own / "rebuilt",
    ],
    ("verify",): lambda place, own: ["--workspace", place / "slim", "--repeats", 1],
    ("snapshot",): lambda place, own: ["--workspace", place / "slim", "--remove"],
    ("advanced", "learn"): lambda place, own: ["--workspace", place / "slim", "--repeats", 1],
    ("tune",): lambda place, own: [
        "--workspace", own / "w", "--parameter", "training.width=1,2", "--epochs", "1:1",
        "--tuner", "random_search", "--", sys.executable, place / "train.py",
    ],
    ("advanced", "probe"): lambda place, own: [
        "sh", "--output", own / "sh.yaml", "--", "sh", "-c", ":",
    ],
    ("schedule", "run"): lambda place, own: [place / "queue.yaml", "--output", own / "out"],
    ("schedule", "simulate"): lambda place, own: [
        place / "jobs.csv", "--nodes", "4c:1", "--output", own / "out",
    ],
    ("worth",): lambda place, own: [
        place / "jobs.csv", "--images", place / "fleet.csv", "--nodes", "4c:1",
        "--output", own / "out",
    ],
    ("image", "compare"): lambda place, own: [place / "small.tar", place / "small.tar"],
    ("image", "slim"): lambda place, own: [place / "image.tar", "--workspace", own / "w", *ONCE],
    ("image", "start"): lambda place, own: [
        place / "image.tar", place / "one/slim.tar", "--rounds", 1,
    ],
    ("image", "share"): lambda place, own: [place / "one", place / "two", "--output", own / "f"],
    ("imports",): lambda place, own: ["--output", own / "imports", "--", sys.executable, "-c", ""],
    ("cold-store", "file"): lambda place, own: [own / "cold.pyz"],
    ("cold-store", "program"): lambda place, own: [own / "cold-store"],
    ("image", "partition"): lambda place, own: [place / "one", "--output", own / "parts"],
    ("image", "pack"): lambda place, own: [place / "program", own / "packed.tar"],
    ("image", "push"): lambda place, own: [place / "one/slim.tar", "--to", pushed(place)],
    ("image", "pull"): lambda place, own: [pushed(place), "--output", own / "pulled.tar"],
    ("image", "inspect"): lambda place, own: [pushed(place)],
}  # fmt: skip
# Of these a table is what was asked for, or a program's own output; of all others the path of a
# result, or nothing.
SHOWN = {
    ("doctor",), ("advanced", "compare"), ("run",), ("imports",), ("schedule", "simulate"),
    ("worth",),
    *(("image", verb) for verb in ("compare", "start", "share", "partition", "push", "inspect")),
}  # fmt: skip
STORED = {
    ("debloat",): Outcome, ("image", "slim"): Outcome, ("verify",): Verdict,
    ("snapshot",): SavedStarts,
}  # fmt: skip


def test_there_is_a_run_of_every_verb() -> None:
    assert GIVEN.keys() == set(ENDING)


@pytest.mark.parametrize("help_option", ["-h", "--help"])
@pytest.mark.parametrize("words", [(), *GROUPS, *ALL], ids=" ".join)
def test_help_has_the_three_in_a_panel_of_their_own(
    words: tuple[str, ...], help_option: str
) -> None:
    said = CliRunner().invoke(app, [*words, help_option], terminal_width=120)
    assert said.exit_code == 0
    panel = said.output.partition("─ Output ─")[2].partition("╰")[0]
    for option, short in OPTIONS.items():
        assert option in panel and (short is None or f" {short} " in panel)
        found = [each for each in command_of(words).params if option in each.opts]
        assert len(found) == 1
    assert panel.count("│ ") - panel.count("│  ") <= len(OPTIONS)


def test_what_is_said_without_a_verb_names_them_too() -> None:
    said = CliRunner().invoke(overview(), ["-h"])
    assert said.exit_code == 0 and all(option in said.output for option in OPTIONS)


@pytest.fixture
def succeed(
    request: pytest.FixtureRequest,
    place: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Callable[..., tuple[str, str]]:
    """Runs a verb with options before and after it; returns what it wrote on both streams."""

    def run(
        words: tuple[str, ...], before: tuple[str, ...], after: tuple[str, ...]
    ) -> tuple[str, str]:
        if words[0] == "image" and words != ("image", "compare"):
            request.getfixturevalue("images")
        monkeypatch.setenv("XDG_CACHE_HOME", str(place / "cache"))
        monkeypatch.chdir(place / "my project" if words == ("run",) else place)
        shutil.rmtree(tmp_path / "own", ignore_errors=True)
        (tmp_path / "own").mkdir()
        capfd.readouterr()
        try:
            trimtab(*before, *words, *after, *GIVEN[words](place, tmp_path / "own"))
        except TrimtabError as error:
            if "stays in memory" in str(error):
                pytest.skip("temporary files lie in memory: set TMPDIR to a folder on a disk")
            raise
        written = capfd.readouterr()
        return written.out, written.err

    return run


@pytest.mark.parametrize("words", ENDING, ids=" ".join)
def test_json_is_one_document_and_people_are_told_elsewhere(
    words: tuple[str, ...], succeed: Callable[..., tuple[str, str]]
) -> None:
    out, err = succeed(words, (), ("--json", "-v"))
    document = json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert isinstance(document["version"], int) and len(document) > 1
    if words in STORED:
        STORED[words].model_validate_json(out)
    first, *details = [line for line in err.splitlines() if " s  " in line]
    assert "trimtab 0" in first and "the end" in details[-1]


@pytest.mark.parametrize("words", ENDING, ids=" ".join)
def test_quiet_says_nothing_to_people(
    words: tuple[str, ...], place: Path, succeed: Callable[..., tuple[str, str]]
) -> None:
    """Before the verb, and among the options of a group where there is one."""
    out, err = succeed(words, ("-q",), ())
    assert err == ""
    if words == ("check",):
        assert out == ""
    elif words not in SHOWN:
        assert out and all((place / line).exists() for line in out.splitlines())


def test_verbose_names_commands_and_files_and_how_long_it_took(
    succeed: Callable[..., tuple[str, str]],
) -> None:
    out, err = succeed(("debloat",), (), ("--verbose",))
    assert out.endswith("own/w/env\n")
    started = [line for line in err.splitlines() if "s  started " in line]
    assert any("program/bin/program" in line for line in started)
    for name in ("usage.json", "manifest.json", "environment.json"):
        assert f"own/w/{name}\n" in err
    assert ".partial" not in err
    assert "making and settling the slim environment: took " in err


def test_without_a_terminal_a_step_is_a_line_with_a_count(
    succeed: Callable[..., tuple[str, str]],
) -> None:
    """Before the result, and of few words, which is all that logs of builds have."""
    out, err = succeed(("debloat",), (), ("--json",))
    assert Outcome.model_validate_json(out).environments
    steps = [line for line in err.splitlines() if re.match(r"[a-z]+: \d", line)]
    assert steps == ["tracing: 3 runs", "building: 1 library", "settling: 1 run"]
    assert err.startswith("tracing: 3 runs\n") and "━" not in err.partition("settling")[0]


def test_a_long_step_is_told_once_in_a_while() -> None:
    told: list[str] = []
    now_s = 0.0
    lines = ProgressLines(told.append, lambda: now_s)
    task = lines.add_task("settling", total=5, visible=False, unit=RUNS)
    assert not told
    for run in range(1, 6):
        lines.update(task, completed=run, visible=True)
        now_s += 12.0
    assert told == ["settling: 5 runs", "settling: 4 of 5 runs"]


def test_a_command_is_told_as_it_can_be_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIST", "a b:$c")
    set_here = {"LIST": "/x y:a b:$c", "NEW": "it's $new", "PATH": os.environ["PATH"]}
    show = [sys.executable, "-c", "import os; print(os.environ['LIST'], os.environ['NEW'])"]
    told: list[str] = []
    with told_to(told.append):
        ran = subprocess.run(show, env={**os.environ, **set_here}, capture_output=True, check=True)
    (line,) = told
    assert "PATH=" not in line and line.startswith("started ")
    typed = ["/bin/sh", "-c", line.removeprefix("started ")]
    again = subprocess.run(typed, capture_output=True, check=True)
    assert again.stdout == ran.stdout == b"/x y:a b:$c it's $new\n"


def test_a_verification_that_fails_has_its_verdict(
    place: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of a program that says how long its path is, which is shorter in the slim environment."""
    shutil.copytree(place / "program", tmp_path / "program")
    link = ["-L", tmp_path / "program/lib", "-lparts", "-Wl,-rpath,$ORIGIN/../lib"]
    command = ["gcc", "-x", "c", "-", "-o", tmp_path / "program/bin/program", "-x", "none", *link]
    tell = '{ printf("%d\\n", (int) __builtin_strlen(words[0])); '
    source = PROGRAM.replace("{ ", tell).replace("()", "(int n, char **words)")
    subprocess.run(command, input=source, text=True, check=True)
    workspace = ("--workspace", tmp_path / "w")
    trimtab("debloat", *workspace, *of_program(tmp_path, *ONCE))
    capfd.readouterr()
    with pytest.raises(VerificationError):
        trimtab("verify", *workspace, "--repeats", 1, "--json", "-q")
    written = capfd.readouterr()
    assert written.err == "" and not Verdict.model_validate_json(written.out).passed


# A small command line of its own, for what no verb of trimtab's does to order.
small = CommandGroup(no_args_is_help=True)


@small.command()
def fails(after: bool = False) -> None:
    """Fail as the user's mistake, before or after there is a result."""
    if after:
        console.result({"figure": float("nan"), "path": Path(os.fsdecode(b"\xff"))})
    console.notes.print("a note")
    console.answer(Table("a table"))
    console.path(Path("a path"))
    raise UserError("a mistake")


@small.command()
def other() -> None:
    """Be another verb."""


def test_an_error_is_no_document_and_a_result_before_it_is_one(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(UserError):
        small(["fails", "--json"], standalone_mode=False)
    assert capfd.readouterr() == ("", "a note\n")
    with pytest.raises(UserError):
        small(["fails", "--json", "--after"], standalone_mode=False)
    written = json.loads(capfd.readouterr().out)
    assert written == {"version": 1, "figure": None, "path": "\\xff"}


def test_verbose_says_where_an_error_comes_from(capfd: pytest.CaptureFixture[str]) -> None:
    for words, has_it in ((["fails"], False), (["-v", "fails"], True)):
        with pytest.raises(UserError):
            small(words, standalone_mode=False)
        assert ("test_console.py" in capfd.readouterr().err) == has_it


def test_one_verb_does_not_speak_as_the_one_before(capfd: pytest.CaptureFixture[str]) -> None:
    for words in (["-q", "fails"], ["fails"]):
        with pytest.raises(UserError):
            small(words, standalone_mode=False)
    assert capfd.readouterr().err == "a note\n"


def test_quiet_and_verbose_are_a_mistake(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match="--quiet and --verbose"):
        small(["-q", "fails", "-v"], standalone_mode=False)
    assert capfd.readouterr() == ("", "")


def test_an_error_is_said_though_it_is_quiet(tmp_path: Path) -> None:
    command = [Path(sys.executable).parent / "trimtab", "-q", "check", tmp_path, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
