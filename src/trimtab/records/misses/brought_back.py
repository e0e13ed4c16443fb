"""Removed files of a slim environment that were restored on demand."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from trimtab.disk_use import disk_bytes
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import FILES
from trimtab.records.values import unescaped

STATE_FILE = Path("trimtab/files.state")  # in a slim environment: one byte for each removed path


@dataclass(frozen=True)
class BroughtBack:
    """Restored paths of an environment; its regular files, and their size."""

    paths: tuple[str, ...] = ()
    files: int = 0
    disk_bytes: int = 0

    def __str__(self) -> str:
        size = f"{self.disk_bytes / 1e6:,.1f} MB"
        return f"{self.files:,} files, {size} came back since delivery"


def brought_back(debloated: Path) -> BroughtBack:
    """Return the restored paths in `debloated`/env, of the removed paths in files.parquet there."""
    environment = debloated / "env"
    state = environment / STATE_FILE
    if not state.is_file() or not any(state.read_bytes()):
        return BroughtBack()
    table = read_table(debloated / "files.parquet", FILES)
    paths: list[str] = []
    by_inode: dict[tuple[int, int], int] = {}
    for path in map(unescaped, table["path"][~table["kept"]]):
        try:
            status = os.lstat(environment / path)
        except OSError:
            continue
        paths.append(path)
        if stat.S_ISREG(status.st_mode):
            by_inode[status.st_dev, status.st_ino] = disk_bytes(status)
    return BroughtBack(tuple(paths), len(by_inode), sum(by_inode.values()))
