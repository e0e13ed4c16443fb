"""An environment that grew by what came back says so, and becomes what was delivered."""

import os
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from returning import REMOVED, make_original, make_slim, python

from trimtab.debloating.files.forgetting import forget_brought_back
from trimtab.records.misses.brought_back import brought_back
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import FILES


@pytest.fixture
def debloated(tmp_path: Path) -> Path:
    """A folder of results: env/, and files.parquet, which says what was removed from it."""
    make_slim(make_original(tmp_path / "original"), tmp_path / "env")
    row = dict.fromkeys(FILES.names, "") | {"size_bytes": 0, "counts": False, "type": "file"}
    rows = [row | {"path": path[1:], "kept": False} for path in REMOVED]
    rows.append(row | {"path": "stays/kept.txt", "kept": True})
    write_table(tmp_path / "files.parquet", FILES, pd.DataFrame(rows, columns=FILES.names))
    return tmp_path


def everything(environment: Path) -> dict[str, tuple[int, int]]:
    """The mode and the date of all that is there, but for what programs write about misses."""
    return {
        str(path.relative_to(environment)): (os.lstat(path).st_mode, os.lstat(path).st_mtime_ns)
        for path in environment.rglob("*")
        if path.parent.name != "trimtab" and path.name != "trimtab"
    }


def test_what_came_back_goes_again_and_can_come_back(debloated: Path) -> None:
    delivered = everything(debloated / "env")
    assert not brought_back(debloated).paths and not forget_brought_back(debloated).paths
    code = "print(open('data/deep/text.txt').read(), len(open('data/text.txt').read()))"
    said = python(debloated / "env", code)
    came = brought_back(debloated)
    assert {"data", "data/deep", "data/deep/text.txt", "data/text.txt"} <= set(came.paths)
    blocks = subprocess.check_output(["du", "-B1", "-a", debloated / "env/data"], text=True)
    sizes = [line.split("\t") for line in blocks.splitlines()]
    files = [int(size) for size, path in sizes if Path(path).is_file()]
    assert (came.files, came.disk_bytes) == (len(files), sum(files)) and came.files == 2
    assert "2 files, " in str(came) and "MB came back since delivery" in str(came)
    assert forget_brought_back(debloated) == came
    assert everything(debloated / "env") == delivered and not brought_back(debloated).paths
    assert python(debloated / "env", code) == said and brought_back(debloated) == came


def test_a_programs_own_files_stay(debloated: Path) -> None:
    python(debloated / "env", "open('data/deep/mine.txt', 'w').write('mine')")
    forget_brought_back(debloated)
    assert (debloated / "env/data/deep/mine.txt").read_text() == "mine"
    assert "deep\n" in python(debloated / "env", "print(open('data/deep/text.txt').read())")


def test_nothing_outside_goes(debloated: Path) -> None:
    """Where a program put a link in the place of a folder that was removed."""
    (debloated / "outside/deep").mkdir(parents=True)
    (debloated / "outside/text.txt").write_text("outside")
    python(debloated / "env", "open('old.conf').close()")
    (debloated / "env/data").symlink_to(debloated / "outside")
    forget_brought_back(debloated)
    assert (debloated / "outside/text.txt").read_text() == "outside"
    assert (debloated / "outside/deep").is_dir() and not (debloated / "env/old.conf").exists()
