"""Slim environments of small libraries, one of each kind a module of tests."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from slim_example import make_original, make_slim

from trimtab.binaries.rewriting.compact import Mode
from trimtab.config.groups.debloat import Fallback
from trimtab.debloating.fallback import Source


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The original environment's libraries."""
    return make_original(tmp_path_factory.mktemp("original"))


@pytest.fixture(scope="module")
def build(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes a slim environment around this interpreter, with a fallback."""

    def make(
        mode: Mode = "compact",
        source: Source = Source(Fallback.ORIGINAL),  # noqa: B008  it is frozen
        origin: Path = prefix,
    ) -> Path:
        return make_slim(origin, tmp_path_factory.mktemp("slim"), mode, source)

    return make


@pytest.fixture(scope="module")
def slim(build: Callable[..., Path]) -> Path:
    return build()


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


@pytest.fixture
def other_file_system(tmp_path: Path) -> Iterator[Path]:
    """A folder to which no file of `tmp_path` can be linked."""
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("needs /dev/shm as a file system of its own")
    folder = Path(tempfile.mkdtemp(dir=memory))
    yield folder
    shutil.rmtree(folder)
