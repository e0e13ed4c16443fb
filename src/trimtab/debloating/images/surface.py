"""Programs of an image that run other programs, or run with other rights."""

import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from trimtab.images.node import FileType, Inode
from trimtab.images.view import View

_SHELL = re.compile(r"(?:[ackz]|r?ba|da|mk|pdk|tc|ya)?sh|fish|busybox|toybox")
_INTERPRETER = re.compile(
    r"(?:python|pypy|perl|ruby|lua|php|tclsh|wish|guile|Rscript|julia)[\d.]*"
    r"|node(?:js)?|deno|bun|[gmn]?awk|java|R|erl|ocaml|expect|bpftrace|gdb"
)
_MAY_RUN = 0o111


@dataclass(frozen=True)
class Surface:
    """Paths of regular files that may be run, each file once by its first name, sorted.

    `setuid` run as their owner or group, or with capabilities of their own.
    """

    executables: tuple[str, ...]
    setuid: tuple[str, ...]
    shells: tuple[str, ...]
    interpreters: tuple[str, ...]


def surface_of(view: View) -> Surface:
    """Return the surface of `view`; names and links tell shells and interpreters."""
    executables: dict[Inode, str] = {}
    for path, node in view.walk():
        if node.kind is FileType.FILE and node.mode & _MAY_RUN:
            executables.setdefault(node, path)
    return Surface(
        tuple(sorted(executables.values())),
        tuple(sorted(path for node, path in executables.items() if _runs_as_another(node))),
        _named(view, executables, _SHELL),
        _named(view, executables, _INTERPRETER),
    )


def _runs_as_another(node: Inode) -> bool:
    return bool(node.mode & (stat.S_ISUID | stat.S_ISGID)) or any(
        key == "security.capability" for key, _ in node.xattrs
    )


def _named(view: View, executables: dict[Inode, str], name: re.Pattern[str]) -> tuple[str, ...]:
    return tuple(
        sorted({executables[node] for node in _of_name(view, name) if node in executables})
    )


def _of_name(view: View, name: re.Pattern[str]) -> Iterator[Inode]:
    for path, node in view.walk():
        if name.fullmatch(path.rpartition("/")[2]):
            found = view.find(path) if node.kind is FileType.LINK else None
            yield found.node if found else node
