"""Machine code is never older than any source that is compiled into it."""

import os
import subprocess
import sys
from pathlib import Path

CALLER = """
from trimtab.clusters.compiled import compiled
from {package}.{callee} import factor

@compiled
def scaled(number):
    return number * factor()
"""
CALLEE = """
from trimtab.clusters import compiled as how

@how.inlined
def factor():
    return {value}
"""


def scaled(folder: Path, package: str) -> int:
    """Return what a new process computes; it may find the machine code of an earlier one."""
    program = f"from {package}.caller import scaled; print(scaled(10))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


def test_a_change_in_a_module_that_is_compiled_in_is_seen_whatever_modules_are_called(
    tmp_path: Path,
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    caller, callee = package / "caller.py", package / "callee.py"
    caller.write_text(CALLER.format(package="package", callee="callee"))
    callee.write_text(CALLEE.format(value=3))
    assert scaled(tmp_path, "package") == 30
    assert list(package.rglob("*.nbc")), "the machine code is kept"
    callee.write_text(CALLEE.format(value=4))
    assert scaled(tmp_path, "package") == 40
    renamed = tmp_path / "renamed"
    package.rename(renamed)
    callee.unlink(missing_ok=True)
    (renamed / "callee.py").rename(renamed / "other.py")
    caller = renamed / "caller.py"
    caller.write_text(CALLER.format(package="renamed", callee="other"))
    (renamed / "other.py").write_text(CALLEE.format(value=5))
    assert scaled(tmp_path, "renamed") == 50
