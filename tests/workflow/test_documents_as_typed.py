"""Every command of the pages runs as a reader would type it, or is listed with what does instead.

The commands are read from the pages, and what a page shows below one is compared with what is
said, but for figures. Those of Snakemake and make are planned, which composes the configuration and
finds every rule; what of them runs as a whole is in the list.
"""

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
from documents import PROJECT, Shown, not_run, shown
from project import make_environment, tools

READER = Path(__file__).parent / "reader"
FIGURE = re.compile(r"-?\d[\d.,]*(?:\s*(?:MB|%))?")
LINES = re.compile("[\u2500-\u257f]")  # which draw tables


def has_python(folder: Path, name: str = "ENV") -> None:
    """Make the reader's programs and their environment, which knows pytest and trimtab_trial."""
    for path in READER.iterdir():
        copy = shutil.copytree if path.is_dir() else shutil.copy
        copy(path, folder / path.name)
    environment = folder / name
    make_environment(environment)
    [packages] = environment.glob("lib/python*/site-packages")
    # Of PyYAML there is a library that no run loads.
    for name in ("PyYAML", "pytest", "pluggy", "iniconfig", "packaging", "Pygments"):
        for file in distribution(name).files or ():
            if file.parts[0] != ".." and file.suffix != ".pyc":
                (packages / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(file.locate()), packages / file)
    shutil.copy(PROJECT / "src/trimtab_trial.py", packages)
    script = environment / "bin/pytest"
    script.write_text(
        f"#!{environment}/bin/python\nimport pytest\nraise SystemExit(pytest.main())\n"
    )
    script.chmod(0o755)


def has_activated(folder: Path) -> None:
    has_python(folder, ".venv")


def has_native(folder: Path) -> None:
    has_python(folder)
    own = folder / "my_program"
    (own / "bin").mkdir()
    (own / "lib").mkdir()
    for command in (
        "gcc -O1 -shared -fPIC -o lib/libmine.so library.c",
        "gcc -o bin/my_program main.c -Llib -lmine -Wl,-rpath,$ORIGIN/../lib",
    ):
        subprocess.run(shlex.split(command), cwd=own, check=True)


def has_before(folder: Path) -> None:
    """What `compare` wants: the workspace of an earlier build."""
    has_python(folder)
    (folder / "before").mkdir()
    (folder / "before/trimtab_workspace").symlink_to("../trimtab_workspace")


def has_queue(folder: Path) -> None:
    """The queue is the first one that the page shows."""
    has_python(folder)
    page = (PROJECT / "docs/how-to/schedule.md").read_text()
    [queue] = [
        block for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "command:" in block
    ]
    (folder / "queue.yaml").write_text(queue)


def has_jobs(folder: Path) -> None:
    """The jobs are those that the page shows."""
    page = (PROJECT / "docs/how-to/schedule-your-queue.md").read_text()
    [jobs] = re.findall(r"```csv\n(.*?)```", page, re.DOTALL)
    (folder / "jobs.csv").write_text(jobs)


def has_philly(folder: Path) -> None:
    """The jobs and images are those that the tutorial names."""
    has_python(folder)
    for path in (PROJECT / "examples/queue").glob("*.csv"):
        shutil.copy(path, folder)


def has_slim(folder: Path) -> None:
    """A slim environment, of which the page says how to look at it."""
    has_python(folder)
    words = ["--runs", "1", "--settle", "1", "--python", "ENV/bin/python"]
    command = ["trimtab", "debloat", *words, "--", "python", "your_program.py"]
    subprocess.run(command, cwd=folder, env=tools(), check=True, capture_output=True)


# Which pages are walked, in which folder.
WALKS: dict[str, Callable[[Path], None]] = {
    "README.md": has_activated,
    "docs/tutorial.md": has_python,
    "docs/tutorial-operators.md": has_philly,
    "docs/how-to/check-in-ci.md": has_before,
    "docs/how-to/debloat-what-tests-need.md": has_python,
    "docs/how-to/debloat-your-program.md": has_native,
    "docs/how-to/install.md": has_python,
    "docs/how-to/measure-energy.md": has_python,
    "docs/how-to/schedule.md": has_queue,
    "docs/how-to/schedule-your-queue.md": has_jobs,
    "docs/how-to/see-what-imports-cost.md": has_python,
    "docs/how-to/tune.md": has_activated,
    "docs/how-to/when-verification-fails.md": has_slim,
}  # fmt: skip
# What a newcomer types first, on Python and on native code; the others are left to the nightly run.
EVERY_CHANGE = ("README.md", "docs/how-to/debloat-your-program.md")
# What stands for something of the reader's.
PLACEHOLDERS = {
    "trace -- COMMAND": "trace -- ENV/bin/python your_program.py",
    "trimtab_workspace/spans/LIBRARY.json": "$(ls trimtab_workspace/spans/*.json | head -n 1)",
    "../venv/bin/python": "ENV/bin/python",
}


def is_planned(command: Shown) -> bool:
    return command.text.split()[0] in ("snakemake", "make")


def is_listed(command: Shown) -> bool:
    return command.text in not_run().get(command.page, {})


def to_run() -> dict[str, list[Shown]]:
    """What is left to be walked, by page in its order."""
    left: dict[str, list[Shown]] = {}
    for command in shown():
        if not is_listed(command) and not is_planned(command):
            left.setdefault(command.page, []).append(command)
    return left


def planned() -> list[Any]:
    """Return each such text once; of each program, all but the first are left to the nightly run.

    `test_documented_commands.py` composes what every one of them names.
    """
    texts = dict.fromkeys(one.text for one in shown() if is_planned(one) and not is_listed(one))
    first = {text.split()[0]: text for text in reversed(texts)}.values()
    return [
        text if text in first else pytest.param(text, marks=pytest.mark.nightly) for text in texts
    ]


def test_every_command_runs_or_is_listed_with_its_reason() -> None:
    assert len(list(shown())) > 140
    assert set(to_run()) <= WALKS.keys()
    every = {(command.page, command.text) for command in shown()}
    steps = (PROJECT / ".ci/run").read_text()
    for page, commands in not_run().items():
        for text, instead in commands.items():
            assert (page, text) in every, f"{page}: no longer shows {text!r}"
            [(how, what)] = instead.items()
            assert how in ("ci", "test", "cannot") and what
            assert how != "ci" or f"step {what}" in steps
            assert how != "test" or (PROJECT / what).is_file(), what


@pytest.mark.parametrize(
    "page",
    [
        page if page in EVERY_CHANGE else pytest.param(page, marks=pytest.mark.nightly)
        for page in WALKS
    ],
)
def test_a_page_is_typed(page: str, tmp_path: Path) -> None:
    WALKS[page](tmp_path)
    commands = to_run()[page]
    said = tmp_path / "said"
    said.mkdir()
    script = ""
    for number, command in enumerate(commands):
        text = command.text
        for placeholder, own in PLACEHOLDERS.items():
            text = text.replace(placeholder, own)
        script += f"{{ {text}\n}} > {said}/{number} 2>&1 || exit {number + 1}\n"
    variables = {**tools(), "HOME": str(tmp_path), "COLUMNS": "200"}
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=variables)
    if done.returncode:
        number = done.returncode - 1
        pytest.fail(f"{commands[number].text}:\n{(said / str(number)).read_text()}")
    for number, command in enumerate(commands):
        is_said(command, (said / str(number)).read_text())


def is_said(command: Shown, text: str) -> None:
    """Compare what a page shows with what is said, word by word; `...` is any number of lines.

    Figures are others, and lines of a program's own libraries.
    """
    here = words_of(text)
    for line in command.output:
        of_one_library = re.search(r"^\S+\.so", line)
        if line != "..." and not of_one_library:
            assert words_of(line) in here, f"{command.text}: {line!r} is shown, said is:\n{text}"


def words_of(text: str) -> str:
    return " ".join(FIGURE.sub(" ", LINES.sub(" ", text)).split())


@pytest.mark.parametrize("text", planned())
def test_what_snakemake_and_make_are_to_do_is_planned(text: str) -> None:
    program, _, rest = text.partition(" ")
    done = subprocess.run(
        ["bash", "-c", f"{program} -n {rest}"], cwd=PROJECT, env=tools(),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
