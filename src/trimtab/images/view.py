"""The file system that the layers of an image make together, in memory but for its contents."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from trimtab.errors import TrimtabError
from trimtab.images.node import FileType, Folder, Inode, implied_folder

_MOST_LINKS = 40  # MAXSYMLINKS of Linux


@dataclass(frozen=True)
class ResolvedPath:
    """What a path leads to: its real path, and the links that were followed, by their real paths.

    Real paths begin with a slash and have no link before their last component. `steps` is how many
    components of the path and of the links' texts were walked.
    """

    path: str
    node: Inode
    links: tuple[str, ...]
    steps: int


@dataclass
class View:
    """The merged file system below `root`. Paths in it are absolute, that of its root is `/`."""

    root: Folder = field(default_factory=implied_folder)

    def find(self, path: str, *, follow: bool = True) -> ResolvedPath | None:
        """Return what `path` leads to for a program inside; None where nothing is.

        Links are resolved inside the image, however they are written; the last one only with
        `follow`. Links without end lead nowhere.
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
        """Yield every path with what it stands for, folders before what is in them, by name.

        Names of one file, hard links, come with the same node.
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
        """Have the content of the file `local` at `path`, for what is extracted or written.

        A file there keeps all else that it is, also under its other names; a new one belongs to
        root, and has `mode` and no time. Folders above it are made, and `path` has no link in it.
        Raises TrimtabError where something else than a file or folder is in the way, and OSError
        as stat(2) does.
        """
        *parents, name = [part for part in path.split("/") if part]
        folder = self.root
        for parent in parents:
            inner = folder.children.setdefault(parent, implied_folder())
            if not isinstance(inner, Folder):
                raise TrimtabError(f"{path}: {parent!r} is no folder in the image")
            folder = inner
        size_bytes = local.stat().st_size
        node = folder.children.setdefault(name, Inode(FileType.FILE, mode))
        if node.kind is not FileType.FILE:
            raise TrimtabError(f"{path}: a {node.kind} in the image; expected a file")
        node.local, node.size_bytes, node.segments = local, size_bytes, None


def _reversed_parts(path: str) -> list[str]:
    """Return the components of a path, the last one first; a slash at its end asks for a folder."""
    if path.endswith("/"):
        path += "."
    return path.split("/")[::-1]
