"""Whether an environment has what the line of a record names: it may be made up."""

import os
from pathlib import Path

import numpy as np

from trimtab.binaries.elf.reader import Elf, read_elf
from trimtab.binaries.errors import ElfError
from trimtab.records.misses.record_lines import CallLine, FileLine, Line


class RecordedPieces:
    """The files and functions of the environment at `root`, of which a record may have lines."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._libraries: dict[str, Elf | None] = {}

    def has(self, line: Line) -> bool:
        """Tell whether a line names a file, or an address in a library, of the environment."""
        if isinstance(line, FileLine):
            return os.path.lexists(self._root / line.file)
        if not isinstance(line, CallLine):
            return False
        if line.library not in self._libraries:
            self._libraries[line.library] = self._read(line.library)
        elf = self._libraries[line.library]
        return elf is not None and bool((elf.offsets_of(np.array([line.address])) >= 0).all())

    def _read(self, library: str) -> Elf | None:
        try:
            return read_elf(self._root / library)
        except (ElfError, OSError, ValueError):
            return None
