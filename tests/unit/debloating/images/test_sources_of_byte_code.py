"""Sources of Python modules go from an image where byte code takes their place."""

import subprocess
from pathlib import Path

import pytest
from handmade import oci_image
from machine_root import tar_of_entered
from python_root import root_of_python

from trimtab.cli.verbs import command_line
from trimtab.images.archives.opening import open_image
from trimtab.images.merging import merged_view
from trimtab.processes.root import RootFileSystem
from trimtab.records.misses.settling import Settling
from trimtab.records.verdict import Verdict

app = command_line()

FILLED = "# " + "x" * 5000 + "\n"
PACKAGE = {
    "main.py": "import sys\nsys.path.insert(0, '/srv')\nimport package.plain, package.told\n"
    "print(package.plain.answer(), package.told.lines)\n",
    "package/__init__.py": "",
    "package/plain.py": "def answer():\n    return 42\n",
    "package/told.py": "import linecache\n"
    "lines = len(linecache.getlines('/srv/package/read.py'))\n",
    "package/read.py": "",
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, str]:
    """A layer with Python and a package without byte code, and the interpreter's path."""
    root = tmp_path_factory.mktemp("root") / "root"
    interpreter = root_of_python(root)
    for name, text in PACKAGE.items():
        (root / "srv" / name).parent.mkdir(exist_ok=True)
        (root / "srv" / name).write_text(text + FILLED)
    return tar_of_entered(root), interpreter


def trimtab(*words: str) -> None:
    app(list(words), standalone_mode=False)


def test_sources_go_but_for_those_that_are_read(
    data: tuple[bytes, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    layer, interpreter = data
    config = {"Entrypoint": [interpreter, "/srv/main.py"]}
    oci_image(tmp_path / "demo.tar", layer, config=config)
    trimtab("image", "slim", "demo.tar", "--runs", "2", "--settle", "2")
    workspace = tmp_path / "trimtab_workspace"
    view = merged_view(open_image(workspace / "slim.tar"))
    there = {path for path, _ in view.walk() if path.startswith("/srv/")}
    assert there >= {"/srv/main.py", "/srv/package/read.py"}  # Python, and a module, read these
    gone = {f"/srv/package/{name}.py" for name in ("__init__", "plain", "told")}
    assert not there & gone
    for path in gone:
        folder, _, name = path.rpartition("/")
        assert [each for each in there if each.startswith(f"{folder}/__pycache__/{name[:-3]}.")]
    settling = Settling.read(workspace / "settling.json")
    assert {"srv/main.py", "srv/package/read.py"} <= set(settling.missed_files)
    assert not {path[1:] for path in gone} & set(settling.missed_files)
    trimtab("verify", "--repeats", "1")
    missed = Verdict.read(workspace / "verify.json").missed_files
    assert not [path for path in missed if path.startswith("srv/")]
    # Without the store: nothing may be missed that was traced.
    assert said(workspace / "env", interpreter, "/srv/main.py") == "42 1\n"
    look = "import os; print(os.stat('/srv/package/plain.py').st_size, *os.listdir('/srv/package'))"
    size_bytes, *names = said(workspace / "env", interpreter, "-c", look).split()
    assert int(size_bytes) == len(PACKAGE["package/plain.py"] + FILLED)
    assert {"plain.py", "told.py", "read.py"} <= set(names)


def said(root: Path, *command: str) -> str:
    variables = {"TRIMTAB_FALLBACK": "strict"}
    process = RootFileSystem(root).start(
        command, Path("/"), None, env=variables, stdout=subprocess.PIPE
    )
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return output.decode()
