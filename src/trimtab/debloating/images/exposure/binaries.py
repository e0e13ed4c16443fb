"""The programs and libraries of an image, read from its layers one at a time."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.errors import ElfError
from trimtab.debloating.images.exposure.gadgets import Gadgets, gadget_counter
from trimtab.debloating.images.exposure.network import network_use
from trimtab.images.archives.image import Image
from trimtab.images.contents import contents_of
from trimtab.images.extracting import placed
from trimtab.images.node import FileType, Inode
from trimtab.images.view import View

_MAGIC = b"\x7fELF"
_HEADER_BYTES = 64


@dataclass
class Binaries:
    """Programs and libraries for x86-64, each file once by its first name.

    `gadgets` are by path, None if they were not counted. `others` are ELF files for another
    processor, relocatable or damaged ones: they are not examined.
    """

    listening: list[str] = field(default_factory=list)
    connecting: list[str] = field(default_factory=list)
    encrypting: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    gadgets: dict[str, Gadgets] | None = None


def binaries_of(image: Image, view: View, count_gadgets: bool) -> Binaries:
    """Examine every ELF file of `view`; gadgets take about 30 s for a GB of code.

    Raises as `contents_of` does, and OSError if a temporary copy of the largest file does not fit.
    """
    found = Binaries(gadgets={} if count_gadgets else None)
    with ExitStack() as stack:
        counter = stack.enter_context(gadget_counter()) if count_gadgets else None
        for name, path in _elf_files(image, view):
            try:
                elf = read_elf(path)
                use = network_use(elf)
                gadgets = counter.count(elf) if counter else None
            except ElfError:
                found.others.append(name)
                continue
            if use.listens:
                found.listening.append(name)
            if use.connects:
                found.connecting.append(name)
            if use.encrypts:
                found.encrypting.append(name)
            if found.gadgets is not None and gadgets is not None:
                found.gadgets[name] = gadgets
    for paths in (found.listening, found.connecting, found.encrypting, found.others):
        paths.sort()
    return found


def _elf_files(image: Image, view: View) -> Iterator[tuple[str, Path]]:
    """Yield each path in the image, and a file with its contents, valid until the next one."""
    names: dict[Inode, str] = {}
    for path, node in view.walk():
        if node.kind is FileType.FILE and node.size_bytes >= _HEADER_BYTES:
            names.setdefault(node, path)
    with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:
        place = Path(folder, "elf")
        for node, pieces in contents_of(image, names):
            first = next(pieces, b"")
            if first.startswith(_MAGIC):
                with place.open("wb") as file:
                    for part in placed(file, node, chain([first], pieces)):
                        file.write(part)
                    file.truncate(node.size_bytes)
                yield names[node], place
                place.unlink()
