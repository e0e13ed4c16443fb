"""What a run had mapped, whatever the folder of the environment is called."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from trimtab.debloating.verification.mapped import RECORD, LibraryFiles
from trimtab.native import native_path


@pytest.mark.parametrize("name", ["plain", "a\nb", "a\\012b", "caf\udce9", "\x1b[31m"])
def test_a_library_counts_as_mapped(tmp_path: Path, name: str) -> None:
    """The kernel's list of mappings has the end of a line in a name in four characters."""
    (tmp_path / name).mkdir()
    slim = Path(shutil.copy(native_path("libtrimtab-fallback.so"), tmp_path / name / "lib.so"))
    files = LibraryFiles.of(["lib.so"], tmp_path / name, slim.parent, Path("lib.so"))
    record = tmp_path / "mapped.tsv"
    environment = {**os.environ, "LD_PRELOAD": str(slim), RECORD: str(record)}
    subprocess.run(["/bin/true"], env=environment, check=True)
    assert files.problem_of(record) is None and files.slim_libraries_in(record) == {"lib.so"}
