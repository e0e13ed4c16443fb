"""Environments as conda and uv lay them out, with links and with projects installed in place."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import markupsafe
import pytest

from trimtab.cli import workspace
from trimtab.cli.program_options import ProgramOptions
from trimtab.config.groups.debloat import Debloat, Remove
from trimtab.config.groups.workload import Workload
from trimtab.debloating.targets.python_prefix import PythonPrefix
from trimtab.errors import UserError
from trimtab.files import sha256_of

PACKAGE = Path(markupsafe.__file__).parent
VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
PROGRAM = "import markupsafe, mine, sys; print(markupsafe.escape('<'), mine.there, sys.prefix)\n"


@pytest.fixture
def conda(tmp_path: Path) -> Path:
    """An interpreter of its own beside its standard library, and no pyvenv.cfg."""
    prefix = tmp_path / "conda"
    for folder in ("bin", "conda-meta", f"lib/{VERSION}/site-packages"):
        (prefix / folder).mkdir(parents=True)
    shutil.copy2(Path(sys.executable).resolve(), prefix / "bin" / VERSION)
    (prefix / "bin/python").symlink_to(VERSION)
    for part in Path(sysconfig.get_path("stdlib")).iterdir():
        if part.name != "site-packages":
            (prefix / "lib" / VERSION / part.name).symlink_to(part)
    command = [prefix / "bin/python", "-c", "import sys; print(sys.prefix)"]
    if subprocess.run(command, capture_output=True, text=True).stdout != f"{prefix}\n":
        pytest.skip("this Python cannot be copied elsewhere")
    shutil.copytree(PACKAGE, prefix / "lib" / VERSION / "site-packages/markupsafe")
    return prefix


@pytest.fixture
def uv(tmp_path: Path) -> Path:
    """Its `python` is a link to a managed interpreter, its packages are links into a cache."""
    prefix, cache = tmp_path / "uv", tmp_path / "cache/archive/markupsafe"
    venv.create(prefix, symlinks=True)
    with (prefix / "pyvenv.cfg").open("a") as settings:
        settings.write("uv = 0.5.1\n")
    shutil.copytree(PACKAGE, cache)
    package = prefix / "lib" / VERSION / "site-packages/markupsafe"
    package.mkdir()
    for number, file in enumerate(path for path in cache.iterdir() if path.is_file()):
        relative = os.path.relpath(file, package)
        (package / file.name).symlink_to(relative if number % 2 else file)
    return prefix


def in_place(prefix: Path) -> Path:
    """A project that was installed in place, its sources within the environment."""
    (prefix / "src").mkdir()
    (prefix / "src/mine.py").write_text(
        "import os; there = os.path.relpath(__file__, __import__('sys').prefix)\n"
    )
    packages = prefix / "lib" / VERSION / "site-packages"
    (packages / "__editable__.mine-1.0.pth").write_text(f"{prefix}/src\n{prefix}2/src\n")
    kernel = prefix / "share/jupyter/kernels/python3/kernel.json"
    kernel.parent.mkdir(parents=True)
    kernel.write_text(f'{{"argv": ["{prefix}/bin/python", "-m", "ipykernel_launcher"]}}')
    (prefix / "bin/mine").write_text(f"#!{prefix}/bin/python\n{PROGRAM}")
    (prefix / "bin/mine").chmod(0o755)
    return prefix


@pytest.mark.parametrize("kind", ["conda", "uv"])
def test_a_console_script_is_slimmed_with_its_environment(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = in_place(request.getfixturevalue(kind))
    monkeypatch.chdir(tmp_path)
    folder, options = tmp_path / "workspace", Debloat(name="x", remove=Remove.CODE)
    everywhere = [path for path in tmp_path.rglob("*") if path.is_file()]
    before = {path: sha256_of(path) for path in everywhere}
    workspace.trace(folder, ["mine"], ProgramOptions(python=prefix / "bin/python"), 1)
    workspace.debloat(folder, options, [], 0, lambda *_: None, lambda *_: None)
    slim = folder / "env"
    shutil.move(prefix / "src", tmp_path / "elsewhere")  # the slim one has its own
    for command in ([slim / "bin/mine"], [slim / "bin/python", prefix / "bin/mine"]):
        ran = subprocess.run(command, capture_output=True, text=True)
        assert ran.stdout == f"&lt; src/mine.py {slim.absolute()}\n", ran.stderr
    shutil.move(tmp_path / "elsewhere", prefix / "src")
    assert {path: sha256_of(path) for path in everywhere} == before
    [library] = slim.rglob("markupsafe/_speedups*.so")
    [original] = prefix.rglob("markupsafe/_speedups*.so")
    assert not library.is_symlink() and library.stat().st_size < original.stat().st_size
    assert f"{slim.absolute()}/bin/python" in next(slim.rglob("kernel.json")).read_text()
    paths = next(slim.rglob("__editable__*.pth")).read_text().split()
    assert paths == [f"{slim.absolute()}/src", f"{prefix}2/src"]


def test_the_base_of_conda_is_refused(conda: Path) -> None:
    (conda / "pkgs").mkdir()
    with pytest.raises(UserError, match=r"is the base of conda.*conda create"):
        PythonPrefix.of(Workload("w", ["python"], python=str(conda / "bin/python")))


def test_a_link_to_an_interpreter_is_no_environment(tmp_path: Path) -> None:
    """As in ~/.local/bin, whose folder holds all that a user has installed."""
    link = tmp_path / "bin/python3"
    link.parent.mkdir()
    link.symlink_to(Path(sys.executable).resolve())
    with pytest.raises(UserError, match=f"{link} is a link to .*name the interpreter itself"):
        PythonPrefix.of(Workload("w", ["python"], python=str(link)))


@pytest.mark.parametrize(
    ("moved", "by"),
    [
        ("bin", "relative"), ("lib", "absolute"), (f"lib/{VERSION}", "relative"),
        (f"lib/{VERSION}/site-packages", "absolute"),
    ],
)  # fmt: skip
def test_folders_that_lead_out_are_copied_and_never_written_to(
    moved: str, by: str, uv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slim environment has its own, with what was changed in them."""
    prefix = in_place(uv)
    for link in [path for path in prefix.rglob("markupsafe/*") if path.is_symlink()]:
        led_to = link.resolve()  # by any path, also from elsewhere
        link.unlink()
        link.symlink_to(led_to)
    place = tmp_path / "elsewhere/of others"
    place.parent.mkdir()
    shutil.move(prefix / moved, place)
    start = (prefix / moved).parent.resolve()
    (prefix / moved).symlink_to(place if by == "absolute" else os.path.relpath(place, start))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # Python itself would write into them
    everywhere = [path for path in tmp_path.rglob("*") if not path.is_dir()]
    before = {path: (path.lstat(), path.is_file() and sha256_of(path)) for path in everywhere}
    folders = {path: sorted(path.iterdir()) for path in tmp_path.rglob("*") if path.is_dir()}
    folder = tmp_path.with_name(f"{tmp_path.name}-workspace")
    workspace.trace(folder, ["mine"], ProgramOptions(python=prefix / "bin/python"), 1)
    workspace.debloat(
        folder, Debloat(name="x", remove=Remove.CODE), [], 0, lambda *_: None, lambda *_: None
    )
    assert {path: sorted(path.iterdir()) for path in folders} == folders
    for path, (status, digest) in before.items():
        now = path.lstat()
        assert (now.st_mode, now.st_mtime_ns, now.st_ino) == (
            status.st_mode, status.st_mtime_ns, status.st_ino)  # fmt: skip
        assert not digest or sha256_of(path) == digest
    slim = folder / "env"
    assert not (slim / moved).is_symlink()
    for folder_of in (tmp_path / "cache", prefix / "src", place):
        if folder_of.name != "cache":
            shutil.move(folder_of, folder_of.with_name("gone"))
    ran = subprocess.run([slim / "bin/mine"], capture_output=True, text=True)
    assert ran.stdout == f"&lt; src/mine.py {slim}\n", ran.stderr
    [library] = slim.rglob("markupsafe/_speedups*.so")
    [original] = (tmp_path / "cache").rglob("_speedups*.so")
    assert not library.is_symlink() and library.stat().st_size < original.stat().st_size
