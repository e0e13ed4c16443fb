"""The files of a program that a deployment has copies of."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trimtab.sources import sources_of

_MOST_BYTES = 1 << 20  # of a file that is no Python: a configuration, not data


@dataclass(frozen=True)
class ProgramFiles:
    """The files that a command's words name, by word, and the local modules that they import.

    `root` is the deepest folder with all of them.
    """

    named: dict[str, Path]
    files: tuple[Path, ...]

    @classmethod
    def of(cls, command: Sequence[str], workdir: Path) -> "ProgramFiles":
        """Return the files of `command`, run in `workdir`: scripts, `-m` modules, small files."""
        named, entries = dict[str, Path](), list[tuple[Path, Path]]()
        for number, word in enumerate(command[1:]):
            path = Path(os.path.abspath(workdir / word))
            if command[number] == "-m":
                entries += _of_module(word, workdir)
            elif path.is_file() and path.suffix == ".py":
                named[word] = path
                entries.append((path, path.resolve().parent))
            elif path.is_file() and path.stat().st_size <= _MOST_BYTES:
                named[word] = path
        modules = [module for path, source in entries for module in sources_of([path], source)]
        return cls(named, tuple(sorted({*named.values(), *modules})))

    @property
    def root(self) -> Path:
        """The deepest folder with all files."""
        return Path(os.path.commonpath([path.parent for path in self.files] or [Path.cwd()]))

    @property
    def sources(self) -> list[Path]:
        """The Python files."""
        return [path for path in self.files if path.suffix == ".py"]

    def copy(self, folder: Path) -> None:
        """Copy all files into `folder`, as they are below `root`."""
        for path in self.files:
            place = folder / path.relative_to(self.root)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)


def _of_module(name: str, workdir: Path) -> list[tuple[Path, Path]]:
    """Return the file of a module that `python -m` finds in `workdir`, beside the folder."""
    base = workdir.resolve().joinpath(*name.split("."))
    candidates = (base.with_suffix(".py"), base / "__main__.py")
    return [(path, workdir.resolve()) for path in candidates if path.is_file()]
