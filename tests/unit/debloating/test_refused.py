"""What the system refuses while an environment is debloated: it is named, and nothing is half."""

import errno
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import markupsafe
import pytest

from trimtab.binaries.errors import UnreadableError
from trimtab.debloating.libraries.profiled import profiled_libraries, unloaded_libraries
from trimtab.files import atomic_write, remove_tree

NOBODY = 65534


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that anybody may write to."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    yield folder
    remove_tree(folder)


@pytest.fixture
def as_nobody() -> Iterator[None]:
    """Without root's rights, also where the tests are run as root."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    yield
    os.seteuid(user)


def library_in(folder: Path) -> Path:
    [library] = Path(markupsafe.__file__).parent.glob("_speedups*.so")
    folder.mkdir(parents=True)
    return Path(shutil.copyfile(library, folder / "one.so"))


@pytest.mark.parametrize("unreadable", ["inner", "inner/one.so"])
def test_what_cannot_be_read_is_not_left_out(place: Path, unreadable: str, as_nobody: None) -> None:
    library_in(place / "env/inner")
    (place / "env" / unreadable).chmod(0)
    with pytest.raises(
        (OSError, UnreadableError), match=rf"{unreadable}\b.*Permission|Permission.*{unreadable}"
    ):
        unloaded_libraries(place / "env", [])
    if unreadable == "inner":
        with pytest.raises(OSError, match="inner"):
            profiled_libraries([], place / "env")
    (place / "env" / unreadable).chmod(0o700)


def test_what_is_read_only_can_be_removed(place: Path, as_nobody: None) -> None:
    library_in(place / "env/inner/deep")
    (place / "kept").mkdir()
    (place / "env/inner/link").symlink_to(place / "kept")
    (place / "kept").chmod(0o555)
    for folder in ("env/inner/deep", "env/inner", "env"):
        (place / folder).chmod(0o555)
    (place / "env/inner/deep").chmod(0)
    remove_tree(place / "env")
    remove_tree(place / "env")  # it is gone
    assert [path.name for path in place.iterdir()] == ["kept"]
    assert (place / "kept").stat().st_mode & 0o777 == 0o555


def test_a_full_disk_is_told_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text("earlier")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, before[1]))
    try:
        with (
            pytest.raises(OSError, match=r"result\.json") as error,
            atomic_write(path) as temporary,
        ):
            temporary.write_bytes(bytes(10_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert error.value.errno == errno.EFBIG
    assert path.read_text() == "earlier" and list(tmp_path.iterdir()) == [path]


FULL = """
mount -t tmpfs -o size=200k none "$1" && exec "$2" -c '
import sys; from pathlib import Path
from trimtab.config.groups.debloat import Share
from trimtab.debloating.copies.copying import copy_tree
from trimtab.debloating.copies.layout import EnvironmentLayout
from trimtab.errors import exit_on_error
with exit_on_error():
    copy_tree(EnvironmentLayout.of(Path(sys.argv[1])), Path(sys.argv[2], "env"), set(), Share.COPY)
' "$3" "$1"
"""


def test_a_copy_on_a_full_disk(tmp_path: Path) -> None:
    for folder in ("source", "small"):
        (tmp_path / folder).mkdir()
    for number in range(9):
        (tmp_path / "source" / f"file{number}").write_bytes(b"x" * 50_000)
    paths = [tmp_path / "small", sys.executable, tmp_path / "source"]
    ran = subprocess.run(
        ["unshare", "-rm", "sh", "-c", FULL, "sh", *paths], capture_output=True, text=True
    )
    if "unshare" in ran.stderr or "mount:" in ran.stderr:
        pytest.skip(f"no file system can be mounted: {ran.stderr.strip()}")
    said = ran.stderr.strip()
    assert said.startswith(f"error: {tmp_path}/small/env/file") and "No space left" in said
    assert (ran.returncode, said.count("\n")) == (1, 0)
