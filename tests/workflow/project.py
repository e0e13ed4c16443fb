"""The project's own workflow on a tiny program, in a folder of its own."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
TINY = Path(__file__).parent / "tiny"
WORKFLOW = (
    "Snakefile", "rules", "scripts", "profiles", "params.yaml", "dvc.yaml", ".dvcignore",
    ".gitignore", ".dvc/config", ".dvc/.gitignore", "src", "native", "conf/debloat",
)  # fmt: skip
NOTHING_TO_DO = "Nothing to be done"


@dataclass(frozen=True)
class Project:
    """A folder in which the workflow runs as a user would run it."""

    folder: Path

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a tool, of this environment where it has one; standard error is in `stdout`."""
        found = tools()
        return subprocess.run(
            [shutil.which(command[0], path=found["PATH"]) or command[0], *command[1:]],
            cwd=self.folder,
            env={**found, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def succeed(self, *command: str) -> str:
        """Run a command that has to end well, and return what it said."""
        done = self.run(*command)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def planned(self) -> set[str]:
        """Return the rules that would run now."""
        return rules_in(self.succeed("snakemake", "-n", "--cores", "2", "all"))

    @contextmanager
    def edited(self, file: str, old: str, new: str) -> Iterator[None]:
        """Replace `old` in a file while the block runs."""
        path = self.folder / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        try:
            yield
        finally:
            path.write_text(text)


def rules_in(said: str) -> set[str]:
    """The rules that a dry run of `all` would run."""
    return set(re.findall(r"^(?:local)?rule (\w+):", said, re.MULTILINE)) - {"all"}


def tools() -> dict[str, str]:
    """The environment in which the tools find each other, without settings of this machine."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    names = {"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.org"}
    committer = {key.replace("AUTHOR", "COMMITTER"): value for key, value in names.items()}
    return {**os.environ, **names, **committer, "PATH": path}


def make_project(folder: Path) -> Project:
    """Copy the workflow to `folder`, with the tiny program and an environment for it."""
    for name in WORKFLOW:
        source, destination = PROJECT / name, folder / name
        destination.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(source, destination, ignore=ignored)
        else:
            shutil.copy2(source, destination)
    shutil.copytree(TINY, folder, dirs_exist_ok=True)
    (folder / ".gitignore").open("a").write("/environment/\n")
    make_environment(folder / "environment")
    return Project(folder)


def make_environment(folder: Path) -> None:
    """Make a Python environment with one package that has a compiled extension."""
    venv.create(folder, with_pip=False, symlinks=True)
    spec = importlib.util.find_spec("markupsafe")
    assert spec is not None and spec.origin is not None
    package = Path(spec.origin).parent
    (site_packages,) = folder.glob("lib/python*/site-packages")
    shutil.copytree(package, site_packages / package.name)
