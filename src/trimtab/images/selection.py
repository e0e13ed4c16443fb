"""A part of a view: some of its paths, and the folders above them."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from trimtab.errors import TrimtabError
from trimtab.images.node import FileType, Folder, Inode
from trimtab.images.tar.names import shown
from trimtab.images.view import View


@dataclass
class ViewSelection:
    """A part of a view, in a deterministic order.

    Names are relative to the top folder, whose own name is "". A file's first name is in `files` or
    `others`, its other names are in `hard_links` with the first; `others` are links, devices and
    pipes.
    """

    folders: dict[str, Folder] = field(default_factory=dict)
    files: dict[Inode, str] = field(default_factory=dict)
    others: dict[Inode, str] = field(default_factory=dict)
    hard_links: list[tuple[str, Inode, str]] = field(default_factory=list)

    @property
    def paths(self) -> int:
        """The number of paths."""
        return len(self.folders) + len(self.files) + len(self.others) + len(self.hard_links)


def select(view: View, kept: Iterable[str] | None = None) -> ViewSelection:
    """Return the part of `view` with the paths `kept`, or all of it.

    A kept folder does not include its content. Raises TrimtabError for a path that is not in the
    view exactly as written.
    """
    left = None if kept is None else _with_parents(kept)
    selection = ViewSelection()
    for path, node in view.walk():
        if left is not None:
            if path not in left:
                continue
            left.discard(path)
        name = path[1:]
        if isinstance(node, Folder):
            selection.folders[name] = node
            continue
        named = selection.files if node.kind is FileType.FILE else selection.others
        if node in named:
            selection.hard_links.append((name, node, named[node]))
        else:
            named[node] = name
    if left:
        raise TrimtabError(f"{shown(min(left))}: not in the image; expected a path of its view")
    return selection


def _with_parents(kept: Iterable[str]) -> set[str]:
    every = {"/"}
    for path in kept:
        while path and path not in every:
            every.add(path)
            path = path.rpartition("/")[0]
    return every
