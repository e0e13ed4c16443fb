"""A Python environment, such as one of venv, uv or conda: the folder above its `bin`."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import Self

from trimtab.binaries.elf.loading import read_loading
from trimtab.config.groups.workload import Workload
from trimtab.debloating.copies.directory_handle import DirectoryHandle
from trimtab.debloating.copies.layout import OF_THE_SYSTEM
from trimtab.debloating.copies.renaming import names_any, rename_in
from trimtab.debloating.fallback import (
    FALLBACK_LIBRARY,
    FILE_FALLBACK_LIBRARY,
    sidecar_of,
)
from trimtab.debloating.module_archive.writing import (
    ArchivedModule,
    Loading,
    archived,
    can_start,
    hook,
    write_archive,
)
from trimtab.debloating.targets.folder import FolderTarget
from trimtab.errors import UserError
from trimtab.processes.program import Program
from trimtab.profiling.runs.from_workload import absolute, moved, program_of
from trimtab.records.manifest import Manifest
from trimtab.records.used import ByteCodeRead

_PACKAGES = "lib/python3*/site-packages"
# Files that name the environment: scripts, import paths, files of editable installs, and Jupyter's
# kernel specifications.
_NAME_IT = (
    "bin/*",
    f"{_PACKAGES}/*.pth",
    f"{_PACKAGES}/*.egg-link",
    f"{_PACKAGES}/__editable__*.py",
    f"{_PACKAGES}/*.dist-info/direct_url.json",
    "share/jupyter/kernels/*/kernel.json",
)
_INTERPRETERS = "bin/python*"
_HOOK = "00_trimtab_fallback.pth"  # first, as Python runs hooks in sorted order
_MODULES = {
    FILE_FALLBACK_LIBRARY: "trimtab_file_fallback",
    FALLBACK_LIBRARY: "trimtab_fallback",
}
_SUFFIX = ".abi3.so"  # so that interpreters with another ABI (free-threaded) refuse it
# Loads a module by path, as a search would list all folders first. `sitedir` is the hook's folder.
_LOAD = (
    "import sys, _imp, _frozen_importlib as i; n = {name!r}; n in sys.modules or"
    " sys.modules.update({{n: _imp.create_dynamic(i.ModuleSpec(n, None, origin=sitedir + {file!r}))"
    " if {suffix!r} in _imp.extension_suffixes() else __import__(n)}})\n"
)
# Forget folders that Python listed before the library was loaded, as the library lists removed
# files too. The base Python of a venv lost no files.
_FORGET_FOLDERS = (
    "import sys; (lambda s: [s.path_importer_cache.pop(p) for p in [*s.path_importer_cache]"
    " if p.startswith(s.prefix) or not p.startswith(s.base_prefix)])(sys)\n"
)


class PythonPrefix(FolderTarget):
    """The environment of a workload's interpreter, `python`."""

    own = tuple(str(PurePath(pattern).parent) for pattern in _NAME_IT)

    @classmethod
    def of(cls, workload: Workload) -> Self:
        """Return the environment of the workload's interpreter: the folder above its `bin`.

        Raises UserError for an interpreter of the operating system or of conda's base, whose
        folders hold much more than a Python environment. Also if the path is no interpreter in the
        `bin` folder of an environment.
        """
        if workload.python is None:
            raise UserError(f"workload {workload.name}: python: missing; name ENV/bin/python")
        python = absolute(Path(workload.python))
        prefix = python.parent.parent
        if not python.is_file() or python.parent.name != "bin":
            raise UserError(
                f"{python}: not an interpreter in the bin folder of an environment; name"
                " ENV/bin/python"
            )
        if prefix in OF_THE_SYSTEM:
            raise UserError(
                f"{python} belongs to the operating system; make an environment of its own"
                f" (`{python} -m venv ENV`), install the program there and name ENV/bin/python"
            )
        if (prefix / "conda-meta").is_dir() and any(map(Path.is_dir, _of_base(prefix))):
            raise UserError(
                f"{prefix} is the base of conda, with other environments and packages in it; make"
                " an environment of its own (`conda create -p ENV python`), install the program"
                " there and name ENV/bin/python"
            )
        interpreter = python.resolve()
        in_venv = (prefix / "pyvenv.cfg").is_file()
        if not in_venv and not interpreter.is_relative_to(prefix.resolve()):
            raise UserError(
                f"{python} is a link to {interpreter}, and its folder no environment; name"
                " the interpreter itself"
            )
        return cls(prefix)

    def program(self, workload: Workload, run_folder: Path, slim: Path | None = None) -> Program:
        """Return `workload` unchanged, or with the paths of the environment moved to `slim`."""
        program = program_of(workload, run_folder)
        return moved(program, self.root, slim) if slim else program

    def also_kept(self, workloads: Sequence[Workload]) -> set[str]:
        """Return the package folders, where Python finds the fallback, and the files that name the
        environment: restored ones would name the original. All names of the interpreter stay, as a
        shell would replace a missing one by another Python.
        """
        packages = {str(path) for path in self.root.glob(_PACKAGES)}
        names = {self.root, self.root.resolve()}
        found = (path for pattern in _NAME_IT for path in self.root.glob(pattern))
        naming = {path for path in found if names_any(path, names)}
        return packages | set(map(str, naming.union(self.root.glob(_INTERPRETERS))))

    def may_remove_unloaded(self, name: str) -> bool:
        """Return whether it is in a package: Python and other programs load others before the
        fallback.
        """
        return "site-packages" in Path(name).parts

    def taken_over(self, debloated: Path) -> set[str]:
        """Return the byte code of packages that an archive of modules has.

        Python reads some of its standard library before the archive, and all without `site`.
        """
        paths = (Path(module.byte_code) for module in self._archived(debloated))
        names = (
            str(path.relative_to(self.root)) for path in paths if path.is_relative_to(self.root)
        )
        return {name for name in names if "site-packages" in Path(name).parts}

    def adapt(self, copy: Path, destination: Path, debloated: Path) -> None:
        """Rename the environment in its files, let Python load the fallback first, and then import
        from an archive of modules.

        Raises UserError if there is a fallback but no `site-packages`.
        """
        libraries = [path for path in _MODULES if (copy / path).is_file()]
        has_archive = FILE_FALLBACK_LIBRARY in libraries and self._can_have_an_archive()
        line = hook(_loading(copy, debloated)) if has_archive else _without_archive(libraries)
        with DirectoryHandle.at(copy) as top:
            rename_in(top, _NAME_IT, {self.root, self.root.resolve()}, destination)
            _load_fallbacks(top, libraries, line)
        if has_archive:
            modules = self._archived(debloated)
            write_archive(copy, self.root, destination, modules, self._interpreter())

    def _can_have_an_archive(self) -> bool:
        """Return whether the environment has one Python, which can start by an archive."""
        return len(list(self.root.glob(_PACKAGES))) == 1 and can_start(self._interpreter())

    def _archived(self, debloated: Path) -> list[ArchivedModule]:
        """Return the modules of the archive, if there can be one."""
        if not self._can_have_an_archive():
            return []
        byte_code = ByteCodeRead.read(debloated / "byte_code.json").paths
        return archived(self.root, byte_code, self._interpreter())

    def _interpreter(self) -> Path:
        return self.root / "bin" / "python"


def _of_base(prefix: Path) -> Iterator[Path]:
    return (prefix / name for name in ("envs", "pkgs"))


def _loading(copy: Path, debloated: Path) -> Loading:
    """Return when programs of the slim environment `copy` have to load the fallback."""
    if not (copy / FALLBACK_LIBRARY).is_file():
        return Loading.NEVER
    for name in Manifest.read(debloated / "manifest.json").files:
        if not (copy / sidecar_of(name)).is_file():
            continue  # it lost nothing
        with (copy / name).open("rb") as file:
            loading = read_loading(file)
        needed = loading.needed if loading else ()
        if not any(PurePath(each).name == FALLBACK_LIBRARY.name for each in needed):
            return Loading.AT_ONCE
    return Loading.WITH_THREADS


def _load_fallbacks(environment: DirectoryHandle, libraries: Sequence[Path], line: str) -> None:
    packages = list(environment.matching(_PACKAGES))
    if libraries and not packages:
        raise UserError(f"{environment.path}: no {_PACKAGES}, so no Python to fall back")
    for package in packages if libraries else ():
        with environment.folder(package) as folder:
            for library in libraries:
                module = _MODULES[library] + _SUFFIX
                folder.remove(module)
                folder.symlink(os.path.relpath(library, package), module)
            folder.write(_HOOK, line.encode())


def _without_archive(libraries: Sequence[Path]) -> str:
    """Return lines of a .pth file that do without an archive."""
    names = (_MODULES[library] for library in libraries)
    lines = [_LOAD.format(name=name, file=f"/{name}{_SUFFIX}", suffix=_SUFFIX) for name in names]
    if FILE_FALLBACK_LIBRARY in libraries:
        lines.append(_FORGET_FOLDERS)
    return "".join(lines)
