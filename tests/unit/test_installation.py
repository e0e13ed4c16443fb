"""What is said to install works in the installation at hand, and is in registries."""

import os
import shlex
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from trimtab import installation
from trimtab.cli.doctor import examine, missing
from trimtab.installation import adding, how_to_add, packages_of
from trimtab.places import PROJECT

UV = PROJECT / "build/uv/bin/uv"
OPTIONAL = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"][
    "optional-dependencies"
]


def wheel(folder: Path, name: str) -> Path:
    """A package of one module with a program, which needs no other."""
    path, metadata = folder / f"{name}-1.0-py3-none-any.whl", f"{name}-1.0.dist-info"
    files = {
        f"{name}.py": "def main() -> None:\n    print('here')\n",
        f"{metadata}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{metadata}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{metadata}/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
    }
    record = "".join(f"{file},,\n" for file in (*files, f"{metadata}/RECORD"))
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in (files | {f"{metadata}/RECORD": record}).items():
            archive.writestr(file, text)
    return path


def run(command: str, **variables: str) -> None:
    """Run it as it was told, without a registry."""
    words = shlex.split(command)
    place = {"uv": str(UV)}.get(words[0], words[0])
    environment = {**os.environ, "UV_OFFLINE": "1", "PIP_NO_INDEX": "1", **variables}
    subprocess.run([place, *words[1:]], env=environment, check=True, capture_output=True)


@pytest.mark.parametrize("extra", sorted(OPTIONAL))
def test_packages_of_an_extra_are_named_and_not_trimtab(extra: str) -> None:
    packages = [*packages_of(extra)]
    inner = {each for each in OPTIONAL[extra] if each.startswith("trimtab[")}
    for each in set(OPTIONAL[extra]) - inner:
        assert any(each.partition(">")[0].partition("=")[0] in package for package in packages)
    assert len(packages) >= len(OPTIONAL[extra]) and "trimtab" not in " ".join(packages)


def test_no_part_is_said_to_be_trimtab_with_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for words in (*(each.advice for each in examine()), *map(how_to_add, OPTIONAL)):
        assert "trimtab[" not in words
    monkeypatch.setattr("trimtab.cli.doctor._PARTS", [("Spark", lambda: False, "{spark}: it runs")])
    monkeypatch.setattr(installation, "IS_CHECKOUT", False)
    assert " install pyspark==" in missing("Spark") and missing("Spark").endswith(": it runs")


def test_an_environment_with_pip(tmp_path: Path) -> None:
    venv.create(tmp_path / "my env", with_pip=True)
    run(adding([str(wheel(tmp_path, "wanted"))], tmp_path / "my env"))
    assert (tmp_path / "my env/bin/wanted").is_file()


@pytest.mark.skipif(not UV.is_file(), reason="uv is missing: make .venv/.installed")
def test_an_environment_without_pip(tmp_path: Path) -> None:
    venv.create(tmp_path / "env", symlinks=True)
    run(adding([str(wheel(tmp_path, "wanted"))], tmp_path / "env"))
    assert (tmp_path / "env/bin/wanted").is_file()


@pytest.mark.skipif(not UV.is_file(), reason="uv is missing: make .venv/.installed")
def test_a_tool_of_uv_keeps_what_it_had(tmp_path: Path) -> None:
    """It is made anew by each command, which therefore names all that is to be in it."""
    own, first, second = (wheel(tmp_path, name) for name in ("trimtab", "first", "second"))
    folders = {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    run(shlex.join(["uv", "tool", "install", "--python", sys.executable, str(own)]), **folders)
    tool = tmp_path / "tools/trimtab"
    for package in (first, second):
        command = adding([str(package)], tool)
        assert command.startswith("uv tool install --with=") and command.endswith(str(own))
        run(command, **folders)
    assert {path.name for path in (tool / "bin").iterdir()} >= {"trimtab", "first", "second"}
    own.unlink()
    shutil.rmtree(tool / "bin/first", ignore_errors=True)
    assert adding(["numba"], tool).startswith("uv pip install --python=")


def test_a_tool_of_pipx(tmp_path: Path) -> None:
    tool = tmp_path / "venvs/trimtab"
    tool.mkdir(parents=True)
    (tool / "pipx_metadata.json").write_text("{}")
    assert adding(["numba>=0.68"], tool) == "pipx inject trimtab 'numba>=0.68'"
