"""Merge layers (OCI image specification, layer.md, "Applying Changesets").

Whiteouts anywhere in a layer remove entries of lower layers: they are applied first. Then the
layer's entries are added in their order; the last one of a name counts. As in an overlay file
system, a folder with entries in a layer hides any other kind of entry below. A link to a folder is
followed only within the same layer, as in programs that unpack.
"""

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor

from trimtab.images.archives.image import Image
from trimtab.images.errors import DamagedError, damage_of
from trimtab.images.layers import layer_name, read_layer
from trimtab.images.limits import ImageLimit
from trimtab.images.node import FileType, Folder, Inode, implied_folder
from trimtab.images.tar.names import shown
from trimtab.images.tar.reader import TarMember
from trimtab.images.view import View

WHITEOUT = ".wh."
_META, _OPAQUE = ".wh..wh.", ".wh..wh..opq"
_STEP_BYTES = 100  # cost of a step through links: links may be long, and lead to others
_WORKERS = min(4, len(os.sched_getaffinity(0)))


def merged_view(image: Image) -> View:
    """Return the file system of `image`; each layer is read once, and its digests checked.

    Raises ImageError for a damaged layer, or entries that engines refuse.
    """
    limit = ImageLimit(sum(layer.region.size_bytes for layer in image.layers))
    view = View()
    numbers = range(len(image.layers))
    with ThreadPoolExecutor(_WORKERS) as pool:
        waiting = deque(pool.submit(read_layer, image, number, limit) for number in numbers)
        try:
            for number in numbers:
                members = waiting.popleft().result()
                with damage_of(image.path, layer_name(image, number)):
                    _Applying(view, number, limit).apply(members)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return view


class _Applying:
    """Applies one layer to the lower layers in `view`."""

    def __init__(self, view: View, layer: int, limit: ImageLimit) -> None:
        self.view, self.layer, self.limit = view, layer, limit
        self.aside: dict[str, Inode] = {}  # targets of AUFS's hard links

    def apply(self, members: list[TarMember]) -> None:
        """Apply the whiteouts and entries of the members."""
        entries, whiteouts = [], []
        for member in members:
            folder, _, name = member.name.rpartition("/")
            if WHITEOUT not in member.name:
                entries.append(member)
            elif name == _OPAQUE:
                whiteouts.append((folder, ""))
            elif f"/{_META}" in f"/{member.name}":
                if member.node is not None:
                    self.aside[member.name] = member.node
            elif name.startswith(WHITEOUT):
                whiteouts.append((folder, _hidden(name)))
            else:
                entries.append(member)
        for folder, name in sorted(whiteouts):  # a folder before its content
            children = self._lower_folder(folder).children
            if name:
                children.pop(name, None)
            else:
                children.clear()
        for member in entries:
            self._add(member)

    def _lower_folder(self, path: str) -> Folder:
        """Return the folder of a whiteout; like any entry it replaces other kinds of entries."""
        folder = self.view.root
        for name in path.split("/") if path else ():
            inner = folder.children.get(name)
            folder = inner if isinstance(inner, Folder) else self._new_folder(folder, name)
        return folder

    def _new_folder(self, folder: Folder, name: str) -> Folder:
        self.limit.entry(len(name))
        folder.children[name] = made = implied_folder()
        return made

    def _add(self, member: TarMember) -> None:
        new = member.node or self._linked(member)
        if not member.name:
            if not isinstance(new, Folder):
                raise DamagedError(f"has a {new.kind} in place of the top folder")
            new.children = self.view.root.children
            self.view.root = new
            return
        path, _, name = member.name.rpartition("/")
        children = self._folder(path).children
        if isinstance(new, Folder) and isinstance(old := children.get(name), Folder):
            new.children = old.children
        children[name] = new

    def _linked(self, member: TarMember) -> Inode:
        if member.hard_link in self.aside:
            return self.aside[member.hard_link]
        found = self.view.find(f"/{member.hard_link}", follow=False)
        if found is None or isinstance(found.node, Folder):
            raise DamagedError(
                f"{shown(member.name)} is a hard link to {shown(member.hard_link)}, which is"
                f" {'missing' if found is None else 'a folder'}"
            )
        self.limit.entry(_STEP_BYTES * found.steps)
        return found.node

    def _folder(self, path: str) -> Folder:
        """Return the folder for entries; a missing one is made."""
        folder = self.view.root
        names = path.split("/") if path else []
        for depth, name in enumerate(names, 1):
            inner = folder.children.get(name)
            if inner is not None and inner.layer == self.layer and inner.kind is FileType.LINK:
                found = self.view.find("/" + "/".join(names[:depth]))
                if found is not None:
                    inner = found.node
                    self.limit.entry(_STEP_BYTES * found.steps)
            if isinstance(inner, Folder):
                folder = inner
            elif inner is not None and inner.layer == self.layer:
                raise DamagedError(f"has entries in {shown(path)}, which is no folder")
            else:
                folder = self._new_folder(folder, name)
        return folder


def _hidden(whiteout: str) -> str:
    name = whiteout.removeprefix(WHITEOUT)
    if name in ("", ".", ".."):
        raise DamagedError(f"has a whiteout of {name!r}, which is no name")
    return name
