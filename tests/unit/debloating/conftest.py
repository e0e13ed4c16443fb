"""What tests of debloating share."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def other_file_system(tmp_path: Path) -> Iterator[Path]:
    """A folder to which no file of `tmp_path` can be linked."""
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("needs /dev/shm as a file system of its own")
    folder = Path(tempfile.mkdtemp(dir=memory))
    yield folder
    shutil.rmtree(folder)
