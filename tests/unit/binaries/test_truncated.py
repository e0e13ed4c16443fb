"""A library that becomes shorter while it is mapped is an error with its name."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

READ = """
import os, sys
from pathlib import Path
from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.errors import UnreadableError
from trimtab.native import survive_truncation
if sys.argv[2] == "guarded":
    survive_truncation()
elf = read_elf(Path(sys.argv[1]))
os.truncate(sys.argv[1], 4096 + 5)
try:
    with elf.staying_whole():
        print(int(elf.data[-9000:].sum()), flush=True)
        if sys.argv[3] == "fails":
            raise IndexError
except UnreadableError as error:
    print(error)
"""


@pytest.mark.parametrize("how", ["reads", "fails"])
def test_it_is_named(tmp_path: Path, how: str) -> None:
    library = tmp_path / "library.so"
    shutil.copyfile(np._core._multiarray_umath.__file__, library)
    for guard in ("guarded", "as it was"):
        copy = shutil.copyfile(library, tmp_path / f"{guard}.so")
        command = [sys.executable, "-c", READ, copy, guard, how]
        ran = subprocess.run(command, capture_output=True, text=True)
        if guard == "guarded":
            assert ran.stdout == f"0\n{copy}: was made shorter while it was read; try again\n"
            assert ran.returncode == 0, ran.stderr
        else:  # what it is for
            assert ran.returncode == -signal.SIGBUS
