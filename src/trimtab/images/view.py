"""The merged file system of an image's layers, in memory except for file contents."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from trimtab.errors import TrimtabError
from trimtab.images.node import FileType, Folder, Inode, implied_folder

_MOST_LINKS = 40  # MAXSYMLINKS of Linux


@dataclass(frozen=True)
class ResolvedPath:
    """The target of a path: its real path, and the followed links, by their real paths.

    Real paths begin with a slash and have no link before their last component. `steps` counts the
    resolved components of the path and of links.
    """

    path: str
    node: Inode
    links: tuple[str, ...]
    steps: int


@dataclass
class View:
    """The merged file system below `root`. Its paths are absolute; the root's is `/`."""

    root: Folder = field(default_factory=implied_folder)

    def find(self, path: str, *, follow: bool = True) -> ResolvedPath | None:
        """Return the target of `path` for a program inside; None if there is none.

        Links are resolved inside the image; the last one only with `follow`. Endless links lead
        nowhere.
        """
        waiting = _reversed_parts(path)
        folders: list[Folder] = [self.root]
        names: list[str] = []
        links: list[str] = []
        steps = 0
        while waiting:
            name = waiting.pop()
            steps += 1
            if name in ("", "."):
                continue
            if name == "..":
                if names:
                    names.pop()
                    folders.pop()
                continue
            node = folders[-1].children.get(name)
            if node is None:
                return None
            if node.kind is FileType.LINK and (follow or any(waiting)):
                links.append("/" + "/".join([*names, name]))
                if len(links) > _MOST_LINKS:
                    return None
                if node.target.startswith("/"):
                    del names[:], folders[1:]
                waiting += _reversed_parts(node.target)
            elif isinstance(node, Folder):
                names.append(name)
                folders.append(node)
            elif any(part != "" for part in waiting):
                return None
            else:
                return ResolvedPath("/" + "/".join([*names, name]), node, tuple(links), steps)
        return ResolvedPath("/" + "/".join(names), folders[-1], tuple(links), steps)

    def walk(self) -> Iterator[tuple[str, Inode]]:
        """Yield every path with its node, each folder before its content, sorted by name.

        Hard links to a file come with the same node.
        """
        yield "/", self.root
        waiting = [("/", iter(sorted(self.root.children.items())))]
        while waiting:
            prefix, entries = waiting[-1]
            for name, node in entries:
                path = prefix + name
                yield path, node
                if isinstance(node, Folder):
                    waiting.append((path + "/", iter(sorted(node.children.items()))))
                    break
            else:
                waiting.pop()

    def put_file(self, path: str, local: Path, *, mode: int = 0o755) -> None:
        """Put the content of the file `local` at `path`, for extracting and writing.

        An existing file keeps all other properties, also under its other names. A new one belongs
        to root, and has `mode` and no time. Missing parent folders are made; `path` must contain no
        link. Raises TrimtabError for another kind of entry in the way, and OSError as stat(2) does.
        """
        folder, name = self._parent(path)
        size_bytes = local.stat().st_size
        node = folder.children.setdefault(name, Inode(FileType.FILE, mode))
        if node.kind is not FileType.FILE:
            raise TrimtabError(f"{path}: a {node.kind} in the image; expected a file")
        node.local, node.size_bytes, node.segments = local, size_bytes, None

    def put_folder(self, path: str, folder: Folder) -> None:
        """Put `folder` with its content at `path`, where nothing is yet; at `/` it is the root.

        Missing parent folders are made. Raises TrimtabError if something is there.
        """
        if not path.strip("/"):
            self.root = folder
            return
        parent, name = self._parent(path)
        if name in parent.children:
            raise TrimtabError(f"{path}: is in the image already")
        parent.children[name] = folder

    def _parent(self, path: str) -> tuple[Folder, str]:
        """Return the folder above `path`, made if missing, and the last name of `path`."""
        *parents, name = [part for part in path.split("/") if part]
        folder = self.root
        for parent in parents:
            inner = folder.children.setdefault(parent, implied_folder())
            if not isinstance(inner, Folder):
                raise TrimtabError(f"{path}: {parent!r} is no folder in the image")
            folder = inner
        return folder, name


def _reversed_parts(path: str) -> list[str]:
    """Return the components of a path in reverse; a slash at its end requires a folder."""
    if path.endswith("/"):
        path += "."
    return path.split("/")[::-1]
