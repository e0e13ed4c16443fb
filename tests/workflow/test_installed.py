"""trimtab from its wheel, in a folder of a user's own: no checkout is there, and no extra."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from pathlib import Path

import pytest
from filelock import FileLock
from project import PROJECT, TINY, make_environment

from trimtab import extras

# The tests' modules, each of which has the wheel installed by itself, run in one process.
pytestmark = pytest.mark.xdist_group("installed")
# Packages that come with an extra are not to be had.
NO_EXTRAS = """
import sys

class Without:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in %r:
            return self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    with FileLock(Path(tempfile.gettempdir(), f"trimtab-wheel-{os.getuid()}.lock")):
        subprocess.run(
            [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation",
             "--wheel-dir", folder, PROJECT],
            check=True,
        )  # fmt: skip
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment with the wheel, and packages of the tests' own."""
    folder = tmp_path_factory.mktemp("installed") / "an environment"
    venv.create(folder, with_pip=False, symlinks=True)
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", folder / "bin/python", "install", "-q",
         "--no-deps", "--no-index", wheel],
        check=True,
    )  # fmt: skip
    [own] = folder.glob("lib/python*/site-packages")
    # Nested files of this kind are not read: the checkout, which one of them names, stays unseen.
    (own / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (own / "extras.pth").write_text("import _no_extras\n")
    (own / "_no_extras.py").write_text(
        NO_EXTRAS % sorted(extras._OF_ONE.keys() | extras._OF_SEVERAL)
    )
    return folder / "bin"


def test_the_wheel_is_of_this_platform_and_every_python(wheel: Path) -> None:
    assert wheel.name.split("-", 2)[2] == "py3-none-linux_x86_64.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    tracked = subprocess.run(
        ["git", "ls-files", "src", "conf", "rules", "Snakefile", "profiles/slurm"],
        cwd=PROJECT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    there = {
        name.removeprefix("src/") if name.startswith("src/") else f"trimtab/parts/{name}"
        for name in tracked
        if (PROJECT / name).exists()
    }
    assert there - names == set()


def test_a_program_is_debloated_in_any_folder(installed: Path, tmp_path: Path) -> None:
    make_environment(tmp_path / "environment")
    shutil.copy(TINY / "program.py", tmp_path)
    done = run(
        installed, tmp_path, "debloat", "--runs", "1", "--settle", "1",
        "--output", "m.json",
        "--", "environment/bin/python", "program.py", "--output", "m.json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    slim = tmp_path / "trimtab_workspace/env/bin/python"
    subprocess.run([slim, "program.py", "--output", tmp_path / "m.json"], cwd=tmp_path, check=True)
    assert (tmp_path / "m.json").is_file()
    verified = run(installed, tmp_path, "verify", "--repeats", "1")
    assert "equal output in every run" in verified.stderr, verified.stderr


def test_what_has_packages_of_its_own_says_how_to_get_them(installed: Path, tmp_path: Path) -> None:
    done = run(
        installed, tmp_path, "tune", "--parameter", "training.x=1,2", "--epochs", "1:2",
        "--", sys.executable, "-c", "",
    )  # fmt: skip
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert " install " in said and "optuna==" in said and "trimtab[" not in said


def test_it_finds_its_parts_and_says_how_to_get_others(installed: Path, tmp_path: Path) -> None:
    said = run(installed, tmp_path, "doctor").stdout
    assert "native tracers" in said and "make deps" not in said
    program = "import trimtab.places as p; print(p.IS_CHECKOUT, p.PARTS)"
    places = subprocess.run(
        [installed / "python", "-c", program], cwd=tmp_path, capture_output=True, text=True
    ).stdout
    assert places.startswith(f"False {installed.parent}/lib/")


def run(installed: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        [installed / "trimtab", *words], cwd=folder, env=variables, capture_output=True, text=True
    )
