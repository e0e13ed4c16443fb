"""An environment that nobody may write to is debloated by somebody who is not root."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from trimtab.files import remove_tree

SOURCES = Path(__file__).parents[4] / "src"
C = {
    "lib/libp.so": ("".join(f"int f{i}(int x) {{ return x + {i}; }}\n" for i in range(12)),
                    ["-shared", "-fPIC", "-falign-functions=4096"]),
    "bin/p": ('#include <stdio.h>\nint f0(int);\nint main() { printf("%d\\n", f0(3)); }\n',
              ["-Wl,-rpath,$ORIGIN/../lib"]),
}  # fmt: skip


@pytest.fixture
def place() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    yield folder
    remove_tree(folder)


def test_read_only_sources_build_and_their_copy_can_be_removed(place: Path) -> None:
    root = place / "program"
    for name, (source, options) in C.items():
        (root / name).parent.mkdir(parents=True)
        libraries = [f"-L{root}/lib", "-lp"] if name == "bin/p" else []
        command = ["gcc", "-x", "c", "-", "-x", "none", "-o", root / name, *libraries, *options]
        subprocess.run(command, input=source, text=True, check=True)
    subprocess.run(["chmod", "-R", "a-w", root], check=True)
    as_other = []
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("needs setpriv to be another user")
        as_other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        if subprocess.run([*as_other, sys.executable, "-c", ""], cwd=place).returncode:
            pytest.skip("another user may not read this Python")
    code = "import sys; sys.argv[0] = 'trimtab'; from trimtab.cli.main import main; main()"
    words = [
        "debloat",
        "--settle=1",
        "--runs=1",
        f"--target=native_folder:{root}",
        "--",
        root / "bin/p",
    ]
    trimtab = [*as_other, sys.executable, "-c", code, *words]
    variables = {**os.environ, "PYTHONPATH": str(SOURCES), "HOME": str(place)}
    for _ in range(2):  # again, in place of the one before
        ran = subprocess.run(trimtab, cwd=place, env=variables, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
    slim = place / "trimtab_workspace/env"
    assert subprocess.check_output([slim / "bin/p"], text=True) == "3\n"
    assert (slim / "lib/libp.so").stat().st_size < (root / "lib/libp.so").stat().st_size
    remove = [
        *as_other,
        sys.executable,
        "-c",
        "import shutil, sys; shutil.rmtree(sys.argv[1])",
        slim,
    ]
    assert subprocess.run(remove).returncode == 0 and not slim.exists()
