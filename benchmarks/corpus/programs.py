"""The programs of the corpus: a YAML each, and the environments that they run in."""

import hashlib
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from pydantic.dataclasses import dataclass

from trimtab.config.fields import CHECKED, MistakeError, Name, Text, about
from trimtab.config.groups.workload import Workload
from trimtab.config.validate import checked
from trimtab.errors import UserError
from trimtab.files import atomic_write

HERE = Path(__file__).parent
SCRIPTS = HERE / "scripts"
_FOUND = ("digest_stdout", "lines")  # what the command line finds out by itself
_FIRST_PORT = 18231


@dataclass(config=CHECKED, frozen=True)
class CorpusProgram:
    """A program of the corpus: what it is traced with, and what it is run with besides."""

    name: Name = about("Name of the program: the stem of its file.")
    environment: Name = about("The environment: the stem of a file in `environments/`.")
    command: list[Text] = about(
        "The words that all runs have; `{scripts}` is the folder of ours, `{port}` a free port."
    )
    traced: list[Text] = about(
        "The words that follow, for a server those of its driver, in traced runs."
    )
    held_out: list[list[Text]] = about("Likewise in runs that are not traced, a list a run.")
    description: str = about("What the program does.", default="")
    workload: dict[str, Any] = about(
        "More keys of a workload, as in `conf/workload/`.", factory=dict
    )

    @property
    def is_tests(self) -> bool:
        """Whether each line of the output is the outcome of a test."""
        return any(word.endswith("run_tests.py") for word in self.command)

    @property
    def options(self) -> list[str]:
        """What the command line of trimtab needs to know besides the command of a traced run."""
        server = dict(self.workload.get("server", {}))
        if server:
            server["drive"] = shlex.join([*server["drive"], *self.traced])
        ends = self.workload.get("ends_with")
        compare = self.workload.get("output", {}).get("compare", _FOUND[0])
        found = {} if compare in _FOUND else {"compare": compare}
        if ends is not None:
            found["ends-with"] = str(ends)
        return [
            word
            for key, value in {**server, **found}.items()
            for word in (f"--{key}", _placed(value))
        ]

    def workload_in(self, environment: Path, words: list[str], workdir: Path) -> Workload:
        """The workload with `words`, those of a traced or a held-out run, in `environment`.

        Raises UserError where the YAML's `workload` is none.
        """
        given = {"timeout_s": 600.0, **self.workload, "command": self.command}
        if "server" in given:
            server = given["server"]
            given["server"] = {**server, "drive": [*server["drive"], *words]}
        else:
            given["command"] = [*self.command, *words]
        names = {"name": self.name, "python": str(environment), "workdir": str(workdir)}
        try:
            return checked({**_placed(given), **names}, Workload)
        except MistakeError as error:
            raise UserError(f"programs/{self.name}.yaml: workload: {error}") from None


def _placed(value: Any) -> Any:
    """`value` with the folder of our scripts in every text of it."""
    if isinstance(value, dict):
        return {key: _placed(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_placed(each) for each in value]
    return value.replace("{scripts}", str(SCRIPTS)) if isinstance(value, str) else value


def read_programs(slot: int = 0, folder: Path = HERE / "programs") -> list[CorpusProgram]:
    """Read all programs, in the order of their names; servers of each `slot` have a port of theirs.

    Raises UserError for a file that does not describe one.
    """
    programs = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            given = yaml.safe_load(path.read_text().replace("{port}", str(_FIRST_PORT + slot)))
            programs.append(checked({"name": path.stem, **given}, CorpusProgram))
        except (yaml.YAMLError, TypeError, MistakeError) as error:
            raise UserError(f"{path}: {error}") from None
    return programs


def environment_of(program: CorpusProgram, data: Path) -> Path:
    """Return the interpreter of the program's environment, which is made where it is missing.

    The virtual environment is `data/venvs/{environment}`; its packages are those that
    `environments/{environment}.txt` pins. PyTorch comes first and by itself: the build whose
    default is the CPU, before anything asks for another. Raises UserError when the pins have
    changed since it was made, and CalledProcessError when they cannot be installed.
    """
    pins = HERE / "environments" / f"{program.environment}.txt"
    digest = hashlib.sha256(pins.read_bytes()).hexdigest()
    folder = data / "venvs" / program.environment
    made = folder / "corpus.sha256"
    if not made.exists():
        shutil.rmtree(folder, ignore_errors=True)
        uv = shutil.which("uv")
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        # Both compile modules, as a user's environment has them.
        pip = [uv, "pip", "install", "--compile-bytecode", "--python", folder / "bin/python"]
        if uv is None:
            pip = [folder / "bin/python", "-m", "pip", "install", "--disable-pip-version-check"]
        torch = [line for line in pins.read_text().split() if line.startswith("torch==")]
        for words in ([*torch], ["-r", pins]):
            if words:
                subprocess.run([*pip, "-q", *words], check=True)
        with atomic_write(made) as temporary:
            temporary.write_text(digest)
    elif made.read_text() != digest:
        raise UserError(f"{pins}: has changed since {folder} was made; remove that folder")
    return folder / "bin" / "python"
