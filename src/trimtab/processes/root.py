"""A root file system that programs run in, without an engine: nobody writes to it.

`trimtab-in-root` (native/in_root) enters it: what programs write inside lies in memory, on top of
the folder, and is gone when the last of them has ended.
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
# In a slim root: what puts removed files back for programs that load no library of ours (native/
# file_init). Where the second is beside it, it starts what is run there.
INIT = Path("trimtab/init")
STARTED_BY_INIT = Path("trimtab/started-by-init")
OF_THE_KERNEL = tuple(map(Path, ("/proc", "/sys", "/dev")))  # inside they are the machine's
_NETWORK_NAMES = (Path("/etc/hosts"), Path("/etc/resolv.conf"))
_MOST_LINKS = 40  # MAXSYMLINKS of Linux
_LONGEST_ERROR_BYTES = 1 << 16


@dataclass(frozen=True)
class RootFileSystem:
    """The folder `folder`, as `/` of the programs that run in it.

    `binds` are absolute paths of files and folders of this machine that programs see, and may
    write to, at the same path inside; `seen` are those that they only see. Where the root has
    something there it is hidden. Raises UserError for what is no folder.
    """

    folder: Path
    binds: tuple[Path, ...] = ()
    seen: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if not self.folder.is_absolute() or not self.folder.is_dir():
            raise UserError(
                f"{self.folder}: not a folder by its absolute path; name a root file system"
            )
        for bind in self.binds:  # there programs would write to it
            if any(each.is_relative_to(bind) for each in (self.folder, self.folder.resolve())):
                raise UserError(
                    f"{bind}: holds the root {self.folder}, which programs in that would write to;"
                    " take a folder elsewhere"
                )

    @property
    def is_started_by_init(self) -> bool:
        """Whether it is a slim one whose programs are started by INIT."""
        return (self.folder / STARTED_BY_INIT).is_file()

    def binding(self, *paths: Path) -> Self:
        """Return the root with `paths` of this machine in it too, by each name that they have."""
        binds = {*self.binds, *_names(paths)}
        return replace(
            self, binds=tuple(sorted(binds)), seen=tuple(p for p in self.seen if p not in binds)
        )

    def seeing(self, *paths: Path) -> Self:
        """Return the same, but that nobody may write to what was not bound before."""
        new = _names(paths) - set(self.binds)
        return replace(self, seen=tuple(sorted({*self.seen, *new})))

    def with_network_names(self) -> Self:
        """Return the root with this machine's names of the network where it has none of its own.

        Images have none, or empty files: engines mount theirs, without which not even `localhost`
        is known.
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
        """What is there as outside: by its path inside, with a slash, the path outside.

        A bind below a link of the root is at two paths.
        """
        found = {f"{path}/": path for path in OF_THE_KERNEL}
        for bind in (*self.binds, *self.seen, *native_folders()):
            for path in (bind, self._followed(bind, self._in_folder) or bind):
                found[f"{path}/"] = bind
        return found

    def is_bound(self, path: PurePath) -> bool:
        """Whether programs inside see at `path` what is there outside."""
        return f"{path}/".startswith(tuple(self.bound))

    def inside(self, path: Path) -> PurePath:
        """Return what programs inside call a path that `outside` or `find` returned."""
        if path.is_relative_to(self.folder):
            return PurePath("/") / path.relative_to(self.folder)
        return path

    def outside(self, path: PurePath) -> Path:
        """Return where the absolute path `path` of programs inside is outside, by no link."""
        for start, bind in self.bound.items() if self.is_bound(path) else ():
            if f"{path}/".startswith(start):
                return bind / path.relative_to(start)
        return self._in_folder(path)

    def find(self, path: PurePath) -> Path | None:
        """Return where what the absolute path `path` leads to inside is outside.

        Links are followed as for programs inside. None where it leads to nothing.
        """
        followed = self._followed(path, self.outside)
        found = None if followed is None else self.outside(followed)
        return found if found is not None and os.path.lexists(found) else None

    def _in_folder(self, path: PurePath) -> Path:
        return self.folder / path.relative_to("/")

    def _followed(self, path: PurePath, outside: Callable[[PurePath], Path]) -> PurePath | None:
        """Return the absolute `path` without links and `..`; of what is not there the rest stays.

        None where a link leads nowhere, or `..` is behind what is no folder.
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
        """Return where the program `name` is outside, looked for as programs inside do.

        `search` is their PATH. None where there is no such program.
        """
        folders = [""] if "/" in name else search.split(":")
        for folder in folders:
            found = self.find(workdir / folder / name)
            if found is not None and found.is_file() and found.stat().st_mode & 0o111:
                return found
        return None

    def entering(self, command: Sequence[str], workdir: PurePath, user: User | None) -> list[str]:
        """Return the command that enters the root, goes to `workdir` and becomes `command`.

        In a slim root whose programs are started by INIT it is that which becomes it.
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
        """Start `command` inside, in the process that Popen tells, with Popen's `options`.

        It is looked up in the PATH of its own environment. Raises UserError where the root cannot
        be entered, or the working directory or the command not be used there.
        """
        told, tell = os.pipe()
        words = self.entering(command, workdir, user)
        words[1:1] = ["--errors", str(tell)]
        with open(told, "rb") as errors:
            try:
                process = subprocess.Popen(words, pass_fds=(tell,), **options)
            finally:
                os.close(tell)
            error = errors.read(_LONGEST_ERROR_BYTES)  # closed by the exec that succeeds
        if error:
            process.communicate()
            raise UserError(error.decode(errors="replace").strip())
        return process


def _names(paths: Iterable[Path]) -> set[Path]:
    return {Path(each(path)) for path in paths for each in (os.path.abspath, os.path.realpath)}
