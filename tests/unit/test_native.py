"""How programs load the native libraries: by the dynamic linker's variables."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trimtab.native import loadable, with_preload

SAYS = '#include <stdio.h>\n__attribute__((constructor)) static void say(void) { puts("%s"); }'


def library(folder: Path, word: str) -> Path:
    folder.mkdir()
    path = folder / "libsays.so"
    command = ["gcc", "-x", "c", "-", "-shared", "-fPIC", "-o", path]
    subprocess.run(command, input=SAYS % word, text=True, check=True)
    return path


@pytest.mark.parametrize("name", ["plain", "a folder", "a:colon", "a\ttab; and é"])
def test_a_library_is_preloaded_whatever_its_path(tmp_path: Path, name: str) -> None:
    first, second = library(tmp_path / name, "first"), library(tmp_path / "other one", "second")
    environment = with_preload(with_preload(os.environ, second), first)
    done = subprocess.run(["/bin/true"], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.split()) == ["first", "second"]
    assert Path(environment["LD_PRELOAD"].split(":")[0]).resolve() == first


def test_another_user_may_follow_the_links() -> None:
    """As a program does that is run as `nobody`."""
    folder = Path(loadable(Path("/a b.so"))).parent
    assert folder.stat().st_mode & 0o777 == 0o755


def test_links_go_with_the_process_that_made_them() -> None:
    program = (
        "from pathlib import Path; from trimtab.native import loadable;"
        "print(loadable(Path('/a b.so')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("/") and not Path(done.stdout.strip()).is_symlink()
    assert loadable(Path("/usr/lib/x.so")) == "/usr/lib/x.so"
