"""A small slim Python environment whose programs are saved and go on from snapshots."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from trimtab.config.groups.debloat import Fallback
from trimtab.debloating.fallback import Source
from trimtab.debloating.files.file_fallback import add_file_fallback
from trimtab.debloating.files.folder_tree import prefix_tree
from trimtab.debloating.snapshots.installing import (
    FOLDER,
    install_snapshots,
    remove_snapshots,
)
from trimtab.debloating.snapshots.saving import save_start
from trimtab.debloating.targets.python_prefix import PythonPrefix
from trimtab.processes.program import Program
from trimtab.records.used import ByteCodeRead

# Each program ends with a line to standard error: whether it went on from a snapshot.
_BEGIN = "import os, sys\n"
_END = """
if __name__ == "__main__":
    sys.stderr.write("went on: %d\\n" % os.readlink("/proc/self/exe").endswith("/restore"))
"""
_VARIABLES = {"PATH": os.defpath, "HOME": "/", "LANG": "C.UTF-8"}
FAILED = {"TRIMTAB_SNAPSHOT_FAILED": "1"}


class Slim:
    """The environment, which lacks the module `removed`, and a folder with a program."""

    def __init__(self, root: Path, python: str) -> None:
        original, self.environment = root / "venv", root / "slim"
        subprocess.run([python, "-m", "venv", "--without-pip", original], check=True)
        packages = next(original.glob("lib/python3*/site-packages"))
        (packages / "removed.py").write_text("NAME = 'it came back'\n")
        (packages / "package").mkdir()
        (packages / "package/__init__.py").write_text("VALUE = 'a package'\n")
        shutil.copytree(original, self.environment, symlinks=True)
        inside = packages.relative_to(original)
        self.packages = self.environment / inside
        (self.packages / "removed.py").unlink()
        removed = [f"/{inside}/removed.py"]
        source = Source(Fallback.ORIGINAL)
        add_file_fallback(self.environment, original, prefix_tree(original), removed, source)
        ByteCodeRead(paths=[]).write(self.environment / "byte_code.json")
        PythonPrefix(original).adapt(self.environment, self.environment, self.environment)
        self.python = self.environment / "bin/python"
        self.snapshots = self.environment / FOLDER
        self.folder = root / "programs"
        self.folder.mkdir()

    def write(self, text: str, **modules: str) -> None:
        """Write the program and modules beside it, in a folder of their own."""
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        for name, code in {"program": _BEGIN + text + _END, **modules}.items():
            (self.folder / f"{name}.py").write_text(code)

    def save(self, *words: str, variables: Mapping[str, str] | None = None) -> str:
        """Save the start of the program, `words` after the interpreter; return its next act."""
        remove_snapshots(self.environment)
        command = (str(self.python), *(words or ("program.py",)))
        program = Program(command, self.folder, {**_VARIABLES, **(variables or {})}, 60.0)
        with TemporaryDirectory() as place:
            saved, next_act = save_start(self.environment, program, Path(place))
            install_snapshots(self.environment, "image", saved)
        return next_act

    def run(
        self,
        *words: str,
        variables: Mapping[str, str] | None = None,
        before: Callable[[], None] | None = None,
        command: tuple[str, ...] = (),
        **settings: Any,
    ) -> tuple[int, str, str]:
        """Run the program; return its exit code, output and errors.

        `before` runs in the new process; `command` is another program that runs the interpreter.
        """
        settings = {"cwd": self.folder, "stdin": subprocess.DEVNULL, **settings}
        if "input" in settings:
            del settings["stdin"]
        done = subprocess.run(
            [*command, self.python, *(words or ("program.py",))], timeout=60, capture_output=True,
            env={**_VARIABLES, **(variables or {})}, preexec_fn=before, **settings,
        )  # fmt: skip
        return done.returncode, *(
            text.decode(errors="backslashreplace") for text in (done.stdout, done.stderr)
        )

    def both(self, *words: str, **settings: Any) -> str:
        """Run the program with the snapshot, and as usual; return the output, which, as all else,
        has to be equal.
        """
        variables = settings.pop("variables", {})
        went_on = self.run(*words, variables=variables, **settings)
        usual = self.run(*words, variables={**variables, **FAILED}, **settings)
        assert "went on: 1" in went_on[2], went_on
        assert "went on: 0" in usual[2], usual
        assert [*map(comparable, went_on)] == [*map(comparable, usual)]
        return went_on[1]


def comparable(text: object) -> str:
    return re.sub("0x[0-9a-f]+|went on: .", "", str(text))
