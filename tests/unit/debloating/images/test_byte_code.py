"""Byte code is the image's own Python's, the same each time, and only where there was none."""

import os
import shutil
import subprocess
import sys
from importlib.util import MAGIC_NUMBER
from pathlib import Path

import pytest
from python_root import root_of_python

from trimtab.debloating.images import byte_code
from trimtab.debloating.images.byte_code import add_byte_code
from trimtab.errors import UserError
from trimtab.processes.root import RootFileSystem


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("original") / "root"
    root_of_python(root)
    try:
        with Path(os.devnull).open("wb") as nowhere:
            RootFileSystem(root).start(
                ["/bin/sh", "-c", ":"], Path("/"), None, stdout=nowhere
            ).wait()
    except UserError as error:
        pytest.skip(f"no root can be entered: {error}")
    (root / "srv/main.py").write_text("import shown\n")
    (root / "srv/shown.py").write_text("names = {'a', 'b', 'c'}\nprint(__cached__)\n")
    (root / "srv/broken.py").write_text("def\n")
    (root / "srv/[1] odd é.py").write_text("x = 1\n")
    (root / "srv/link.py").symlink_to("shown.py")
    os.utime(root / "srv/shown.py", ns=(10**18, 10**18 + 5))
    return root


def copied(root: Path, place: Path) -> Path:
    shutil.copytree(root, place, symlinks=True)
    return place


def byte_code_of(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*.pyc")}


def compiled_by(root: Path) -> str:
    """What Python compiles for itself in the root, and what the program says."""
    script = "import sys; sys.addaudithook(lambda event, words: event == 'compile' and "
    script += "print('compiled', words[1])); sys.path.insert(0, '/srv'); import shown"
    command = [str(Path(sys.executable).resolve()), "-c", script]
    process = RootFileSystem(root).start(
        command, Path("/"), None, env={"PATH": "/bin"}, stdout=subprocess.PIPE
    )
    return process.communicate()[0].decode()


def test_python_has_nothing_left_to_compile(original: Path, tmp_path: Path) -> None:
    slim = copied(original, tmp_path / "slim")
    before = compiled_by(slim)
    assert "compiled /srv/shown.py" in before
    added_bytes = add_byte_code(original, slim)
    made = byte_code_of(slim)
    assert added_bytes == sum(map(len, made.values())) > 0
    assert "compiled" not in compiled_by(slim).replace(before.splitlines()[-1], "")
    stem = "srv/__pycache__/{}." + sys.implementation.cache_tag + ".pyc"
    for name in ("main", "shown", "[1] odd é"):
        data = made[stem.format(name)]
        assert data.startswith(MAGIC_NUMBER + bytes(4))  # by its source's time and size
    assert int.from_bytes(made[stem.format("shown")][8:12], "little") == 10**9
    assert stem.format("broken") not in made and stem.format("link") not in made
    assert byte_code_of(original) == {}


def test_sources_that_went_are_compiled_too(original: Path, tmp_path: Path) -> None:
    whole, slim = (copied(original, tmp_path / name) for name in ("whole", "slim"))
    add_byte_code(original, whole)
    (slim / "srv/shown.py").unlink()
    add_byte_code(original, slim, ["/srv/shown.py", "/srv/nothing.py", "/srv/two\nlines.py"])
    assert byte_code_of(slim) == byte_code_of(whole)


def test_a_source_that_is_changed_counts(original: Path, tmp_path: Path) -> None:
    slim = copied(original, tmp_path / "slim")
    add_byte_code(original, slim)
    (slim / "srv/shown.py").write_text("print('changed')\n")
    assert "changed" in compiled_by(slim)


def test_it_is_the_same_each_time(original: Path, tmp_path: Path) -> None:
    slims = [copied(original, tmp_path / name) for name in ("one", "other")]
    for slim in slims:
        add_byte_code(original, slim)
    assert byte_code_of(slims[0]) == byte_code_of(slims[1]) != {}


def test_where_there_was_some_nothing_is_added(original: Path, tmp_path: Path) -> None:
    """Also where it was removed, or is of another version, or its folder is a link."""
    other = copied(original, tmp_path / "other")
    (other / "srv/__pycache__").mkdir()
    (other / "srv/__pycache__/shown.cpython-39.pyc").write_bytes(b"old")
    slim = copied(original, tmp_path / "slim")
    assert add_byte_code(other, slim) > 0
    assert not [name for name in byte_code_of(slim) if "shown" in name]
    assert [name for name in byte_code_of(slim) if name.startswith("srv/__pycache__/main.")]


@pytest.mark.parametrize("case", ["no Python", "two versions", "no module"])
def test_nothing_to_do(case: str, original: Path, tmp_path: Path) -> None:
    slim = copied(original, tmp_path / "slim")
    interpreter = slim / Path(sys.executable).resolve().relative_to("/")
    if case == "no Python":
        interpreter.unlink()
    elif case == "two versions":
        shutil.copy2(interpreter, slim / "bin/python3.99")
    else:
        for path in list(slim.rglob("*.py")):
            path.unlink()
    assert add_byte_code(original, slim) == 0
    assert byte_code_of(slim) == {}


def test_an_interpreter_that_does_not_run(original: Path, tmp_path: Path) -> None:
    broken = copied(original, tmp_path / "broken")
    interpreter = broken / Path(sys.executable).resolve().relative_to("/")
    interpreter.unlink()
    interpreter.write_text("#!/bin/sh\nexit 1\n")
    interpreter.chmod(0o755)
    assert add_byte_code(broken, copied(broken, tmp_path / "slim")) == 0


@pytest.mark.parametrize("level", ["srv", "srv/__pycache__", "srv/__pycache__/main.x.pyc"])
def test_links_in_place_of_byte_code_lead_nowhere(
    level: str, original: Path, tmp_path: Path
) -> None:
    """An interpreter of somebody else's image may write anything where byte code is expected."""
    ours = tmp_path / "ours" / level
    ours.parent.mkdir(parents=True)
    secret = tmp_path / "ours/srv/__pycache__/main.x.pyc"
    secret.parent.mkdir(parents=True, exist_ok=True)
    secret.write_text("secret")
    made, slim = (tmp_path / "made").resolve(), copied(original, tmp_path / "slim")
    (made / level).parent.mkdir(parents=True)
    (made / level).symlink_to(ours)
    assert byte_code._taken_over(made, slim, "/srv/main.py") == 0
    assert byte_code_of(slim) == {}
