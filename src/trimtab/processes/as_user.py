"""Run programs as another user, so that a program has fewer rights than root."""

import os
import pwd
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, Self

from trimtab.errors import UserError
from trimtab.untrusted import UntrustedFileError, open_untrusted


@dataclass(frozen=True)
class User:
    """A user of this system: the numbers of the user and the groups, and the home folder."""

    name: str
    number: int
    group: int
    groups: tuple[int, ...]
    home: str

    @classmethod
    def named(cls, name: str) -> Self:
        """Return the user `name`; raises UserError if there is none, or if we are not root."""
        if os.geteuid() != 0:
            raise UserError(f"user: {name}: only root can run programs as another user; leave it")
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            raise UserError(f"user: {name}: there is no such user on this system") from None
        groups = tuple(os.getgrouplist(name, found.pw_gid))
        return cls(name, found.pw_uid, found.pw_gid, groups, found.pw_dir)

    @property
    def of_process(self) -> dict[str, Any]:
        """The options of subprocess.Popen that run a process as the user."""
        return {"user": self.number, "group": self.group, "extra_groups": list(self.groups)}

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """Return the variables of a process, with the user's own name and home."""
        return {**inherited, "HOME": self.home, "USER": self.name, "LOGNAME": self.name}

    def give(self, *paths: Path) -> None:
        """Let the user write to files and folders of ours.

        Raises UserError if the user may not enter a parent folder.
        """
        for path in paths:
            for folder in path.resolve().parents:
                if not self._may_enter(folder):
                    raise UserError(
                        f"{folder}: the user {self.name}, which the program is to run as, may not"
                        " enter it; allow that (chmod o+x), or take a --workspace elsewhere"
                    )
        self.own(*paths)

    def own(self, *paths: Path) -> None:
        """Make the user own files and folders of ours; in our user namespace it already does."""
        for path in paths if os.geteuid() == 0 else ():
            os.chown(path, self.number, self.group, follow_symlinks=False)

    def _may_enter(self, folder: Path) -> bool:
        return self.may(stat.S_IXOTH, folder.stat())

    def may(self, right: int, status: os.stat_result) -> bool:
        """Whether the user has a right to a file; `right` is the bit for others (stat.S_IWOTH)."""
        if status.st_uid == self.number:
            right <<= 6
        elif status.st_gid in (self.group, *self.groups):
            right <<= 3
        return bool(status.st_mode & right)


@contextmanager
def open_written(path: Path, most_bytes: int, user: User | None) -> Iterator[BufferedReader]:
    """Yield the file that a program wrote as `user`, open for reading; a link is followed.

    The program may link to any file, which we as root could read and it could not; only root runs
    programs as others. Raises UntrustedFileError for a file that the user may not write to, and as
    `open_untrusted` does.
    """
    with open_untrusted(path, most_bytes, follow=True) as file:
        other = user if user and user.number and os.geteuid() == 0 else None
        if other and not other.may(stat.S_IWOTH, os.fstat(file.fileno())):
            raise UntrustedFileError(
                f"{path}: no file that the user {other.name}, which the program runs as, may write"
            )
        yield file
