"""A root file system in which programs run without an engine and without changing it.

`trimtab-in-root` (native/in_root) enters it. Files that programs write inside are in memory, on top
of the folder, and are lost when the last program ends.
"""

import os
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, Self

from trimtab.errors import UserError
from trimtab.native import native_folders, native_path
from trimtab.processes.as_user import User

ENGINES_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# In a slim root: INIT restores files for programs that load no library of ours (native/file_init).
# If STARTED_BY_INIT exists, it starts the root's programs.
INIT = Path("trimtab/init")
STARTED_BY_INIT = Path("trimtab/started-by-init")
OF_THE_KERNEL = tuple(map(Path, ("/proc", "/sys", "/dev")))  # inside they are the machine's
_NETWORK_NAMES = (Path("/etc/hosts"), Path("/etc/resolv.conf"))
_MOST_LINKS = 40  # MAXSYMLINKS of Linux
_LONGEST_ERROR_BYTES = 1 << 16


@dataclass(frozen=True)
class RootFileSystem:
    """The folder `folder`, as `/` of the programs that run in it.

    `binds` are absolute paths of this machine's files and folders that programs may read and write
    at the same path inside; `seen` can only be read. They hide the root's own entries. Raises
    UserError if `folder` is no folder.
    """

    folder: Path
    binds: tuple[Path, ...] = ()
    seen: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if not self.folder.is_absolute() or not self.folder.is_dir():
            raise UserError(
                f"{self.folder}: not a folder by its absolute path; name a root file system"
            )
        for bind in self.binds:  # programs would write to the root there
            if any(each.is_relative_to(bind) for each in (self.folder, self.folder.resolve())):
                raise UserError(
                    f"{bind}: holds the root {self.folder}, which programs in that would write to;"
                    " take a folder elsewhere"
                )

    @property
    def is_started_by_init(self) -> bool:
        """Whether it is a slim root whose programs are started by INIT."""
        return (self.folder / STARTED_BY_INIT).is_file()

    def binding(self, *paths: Path) -> Self:
        """Return the root with `paths` of this machine, by all their names."""
        binds = {*self.binds, *_names(paths)}
        return replace(
            self, binds=tuple(sorted(binds)), seen=tuple(p for p in self.seen if p not in binds)
        )

    def seeing(self, *paths: Path) -> Self:
        """Return the root with `paths` of this machine, read-only unless they were bound before."""
        new = _names(paths) - set(self.binds)
        return replace(self, seen=tuple(sorted({*self.seen, *new})))

    def with_network_names(self) -> Self:
        """Return the root with this machine's network names, for files that it lacks.

        Images have no such files, or empty ones: engines mount theirs, without which not even
        `localhost` is known.
        """
        lacking = [
            path for path in _NETWORK_NAMES if path.is_file() and not self._has_anything_at(path)
        ]
        return self.seeing(*lacking)

    def _has_anything_at(self, path: PurePath) -> bool:
        found = self.find(path)
        at = self._in_folder(path)
        return at.is_symlink() if found is None else not found.is_file() or found.stat().st_size > 0

    @cached_property
    def bound(self) -> dict[str, Path]:
        """The bound paths: each path inside, with a slash, mapped to the path outside.

        A bind below a link of the root has two paths inside.
        """
        found = {f"{path}/": path for path in OF_THE_KERNEL}
        for bind in (*self.binds, *self.seen, *native_folders()):
            for path in (bind, self._followed(bind, self._in_folder) or bind):
                found[f"{path}/"] = bind
        return found

    def is_bound(self, path: PurePath) -> bool:
        """Whether `path` inside is the same file as outside."""
        return f"{path}/".startswith(tuple(self.bound))

    def inside(self, path: Path) -> PurePath:
        """Return the path inside of a path that `outside` or `find` returned."""
        if path.is_relative_to(self.folder):
            return PurePath("/") / path.relative_to(self.folder)
        return path

    def outside(self, path: PurePath) -> Path:
        """Return the path outside of the absolute path `path` inside, which has no links."""
        for start, bind in self.bound.items() if self.is_bound(path) else ():
            if f"{path}/".startswith(start):
                return bind / path.relative_to(start)
        return self._in_folder(path)

    def find(self, path: PurePath) -> Path | None:
        """Return the path outside of the file to which the absolute path `path` inside leads.

        Links are resolved as for programs inside. None if it leads to nothing.
        """
        followed = self._followed(path, self.outside)
        found = None if followed is None else self.outside(followed)
        return found if found is not None and os.path.lexists(found) else None

    def _in_folder(self, path: PurePath) -> Path:
        return self.folder / path.relative_to("/")

    def _followed(self, path: PurePath, outside: Callable[[PurePath], Path]) -> PurePath | None:
        """Return the absolute `path` without links and `..`; missing components stay.

        None if a link leads nowhere, or `..` follows something other than a folder.
        """
        here, links = PurePath("/"), 0
        waiting = list(path.parts[:0:-1])
        while waiting:
            name = waiting.pop()
            at = outside(here / name)
            if name == "..":
                if not outside(here).is_dir():
                    return None
                here = here.parent
            elif at.is_symlink():
                links += 1
                if links > _MOST_LINKS:
                    return None
                target = PurePath(os.readlink(at))
                here = PurePath("/") if target.is_absolute() else here
                waiting += [part for part in target.parts[::-1] if part != "/"]
            else:
                here = here / name
        return here

    def which(self, name: str, search: str, workdir: PurePath) -> Path | None:
        """Return the path outside of the program `name`, looked up as programs inside do.

        `search` is their PATH. None if there is no such program.
        """
        folders = [""] if "/" in name else search.split(":")
        for folder in folders:
            found = self.find(workdir / folder / name)
            if found is not None and found.is_file() and found.stat().st_mode & 0o111:
                return found
        return None

    def entering(self, command: Sequence[str], workdir: PurePath, user: User | None) -> list[str]:
        """Return the command that enters the root, goes to `workdir` and executes `command`.

        In a slim root started by INIT, INIT starts the command.
        """
        words = [str(native_path("trimtab-in-root")), "--workdir", str(workdir)]
        for path in (*native_folders(), *self.seen):
            words += ["--see", str(path)]
        for bind in self.binds:
            words += ["--bind", str(bind)]
        if user is not None:
            groups = ",".join(map(str, (user.group, *user.groups)))
            words += ["--user", f"{user.number}:{groups}"]
        starter = f"/{INIT}"
        if self.is_started_by_init and command[0] != starter:
            command = [starter, *command]
        return [*words, str(self.folder), "--", *command]

    def start(
        self, command: Sequence[str], workdir: PurePath, user: User | None, **options: Any
    ) -> "subprocess.Popen[bytes]":
        """Start `command` inside, in the process that Popen returns, with Popen's `options`.

        It is looked up in the PATH of its own environment. Raises UserError if the root, the
        working directory or the command cannot be used.
        """
        told, tell = os.pipe()
        words = self.entering(command, workdir, user)
        words[1:1] = ["--errors", str(tell)]
        with open(told, "rb") as errors:
            try:
                process = subprocess.Popen(words, pass_fds=(tell,), **options)
            finally:
                os.close(tell)
            error = errors.read(_LONGEST_ERROR_BYTES)  # a successful exec closes it
        if error:
            process.communicate()
            raise UserError(error.decode(errors="replace").strip())
        return process


def _names(paths: Iterable[Path]) -> set[Path]:
    return {Path(each(path)) for path in paths for each in (os.path.abspath, os.path.realpath)}
