"""What a run had mapped, whatever the folder of the environment is called."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from trimtab.debloating.verification.library_origins import RECORD, LibraryFiles
from trimtab.native import native_path
from trimtab.processes.root import STARTED_BY_INIT, RootFileSystem


@pytest.mark.parametrize("name", ["plain", "a\nb", "a\\012b", "caf\udce9", "\x1b[31m"])
def test_a_library_counts_as_mapped(tmp_path: Path, name: str) -> None:
    """The kernel's list of mappings has the end of a line in a name in four characters."""
    (tmp_path / name).mkdir()
    slim = Path(shutil.copy(native_path("libtrimtab-fallback.so"), tmp_path / name / "lib.so"))
    files = LibraryFiles.of(["lib.so"], tmp_path / name, slim.parent, Path("lib.so"))
    record = tmp_path / "mapped.tsv"
    environment = {**os.environ, "LD_PRELOAD": str(slim), RECORD: str(record)}
    subprocess.run(["/bin/true"], env=environment, check=True)
    assert files.problem_of(record) is None and files.is_shown_by(record)
    assert files.slim_libraries_in(record) == {"lib.so"}


def test_programs_that_the_init_starts_need_not_load_a_library(tmp_path: Path) -> None:
    files = LibraryFiles({}, {}, fallback=(1, 2))
    record = tmp_path / "mapped.tsv"  # nobody wrote to it
    root = RootFileSystem(tmp_path)
    assert not files.is_shown_by(record, root)
    (tmp_path / STARTED_BY_INIT.parent).mkdir()
    (tmp_path / STARTED_BY_INIT).touch()
    assert files.is_shown_by(record, root)
