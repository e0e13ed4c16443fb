"""The files of a program that a deployment has copies of."""

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from trimtab.sources import imports_of, sources_of
from trimtab.tuning.deployment.start_folder import only_in

_MOST_BYTES = 1 << 20  # of a file that is no Python: a configuration, not data


@dataclass(frozen=True)
class ProgramFiles:
    """The files that a command's words name, by word, and the local modules that they import.

    Of an imported package, all files but large ones count, as relative imports are not followed.
    `root` has all files, and the modules that `python -m` names; `paths` are the folders beside
    scripts' own from which modules are imported.
    """

    named: dict[str, Path]
    files: tuple[Path, ...]
    root: Path
    paths: tuple[Path, ...]

    @classmethod
    def of(
        cls,
        command: Sequence[str],
        workdir: Path,
        python: Path | None = None,
        searched: Iterable[str] = (),
    ) -> "ProgramFiles":
        """Return the files of `command`, run in `workdir`: scripts, `-m` modules, small files.

        Modules that scripts elsewhere import from `workdir`, or a folder in it that is `searched`
        as by PYTHONPATH, are those that the interpreter `python` has not itself.
        """
        here, named, files = Path(os.path.abspath(workdir)), dict[str, Path](), set[Path]()
        below = [Path(os.path.abspath(here / one)) for one in searched]
        paths = dict.fromkeys([here, *(one for one in below if one.is_relative_to(here))])
        imported_from = dict[Path, None]()
        for before, word in pairwise(command):
            path = here / word
            if before == "-m":
                if modules := _with_imported(_of_module(word, here), here):
                    files |= modules
                    imported_from[here] = None
            elif path.is_file() and (path.suffix == ".py" or path.stat().st_size <= _MOST_BYTES):
                named[word] = Path(os.path.abspath(path))
                files.add(named[word])
                if path.suffix == ".py":
                    beside = _with_imported({named[word]}, named[word].parent)
                    files |= beside
                    for path in paths:
                        if more := _from_folder(named[word], beside, path, python):
                            files |= more
                            imported_from[path] = None
        roots = {path.parent for path in files} | {*imported_from} or {here}
        root = Path(os.path.commonpath(roots))
        return cls(named, tuple(sorted(files)), root, tuple(imported_from))

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


def _of_module(name: str, folder: Path) -> set[Path]:
    """Return the files of the top package of a module that `python -m` finds in `folder`."""
    top = folder / name.partition(".")[0]
    return (
        {*_files_in(top)}
        if top.is_dir()
        else {path for path in [top.with_suffix(".py")] if path.is_file()}
    )


def _from_folder(script: Path, beside: set[Path], here: Path, python: Path | None) -> set[Path]:
    """Return the modules in `here` that `script` and the modules `beside` it import."""
    if python is None or script.parent == here:
        return set()
    found = _with_imported(beside, here)
    texts = [path.read_bytes() for path in found if path.suffix == ".py"]
    imported = {name.partition(".")[0] for text in texts for name in imports_of(text)}
    # Those in the script's folder come first; a deployment has the last one anyhow.
    hidden = {path.stem for path in script.parent.iterdir()} | {"trimtab_trial"}
    by_top = {
        path: Path(path.relative_to(here).parts[0]).stem
        for path in found - beside
        if path.is_relative_to(here)
    }
    tops = only_in(here, imported & set(by_top.values()) - hidden, python)
    return {path for path, top in by_top.items() if top in tops}


def _with_imported(entries: set[Path], source: Path) -> set[Path]:
    """Return `entries`, the modules in `source` that they import, and these modules' packages."""
    found, waiting = set(entries), entries
    while waiting:
        scripts = [path for path in waiting if path.suffix == ".py"]
        resolved = source.resolve()
        imported = {
            source / path.relative_to(resolved)
            for path in sources_of(scripts, source)
            if path.is_relative_to(resolved)
        }
        tops = {source / path.relative_to(source).parts[0] for path in imported}
        packages = {
            each for top in tops if (top / "__init__.py").is_file() for each in _files_in(top)
        }
        waiting = (imported | packages) - found
        found |= waiting
    return found


def _files_in(package: Path) -> Iterator[Path]:
    for path in package.rglob("*"):
        is_small = path.suffix == ".py" or (path.is_file() and path.stat().st_size <= _MOST_BYTES)
        if path.is_file() and is_small and "__pycache__" not in path.parts:
            yield path
