"""The slim environment is a runnable copy, and the original is never touched."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from trimtab.config.groups.debloat import Fallback
from trimtab.config.groups.workload import Workload
from trimtab.debloating.fallback import Source
from trimtab.debloating.targets.python_prefix import PythonPrefix
from trimtab.errors import TrimtabError, UserError
from trimtab.files import sha256_of
from trimtab.records.manifest import DebloatedFile, Environment, Manifest, Timings

LIBRARY = "lib/module.so"


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    prefix = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
    (prefix / LIBRARY).write_bytes(b"\x7fELF" + b"original" * 3000)
    (prefix / "lib/notes.txt").write_text("unchanged")
    (prefix / "lib/inside").symlink_to(prefix / "lib/notes.txt")
    (prefix / "lib/beside").symlink_to("notes.txt")
    script = prefix / "bin/hello"
    script.write_text(f"#!{prefix}/bin/python\nimport sys; print(sys.prefix)\n")
    script.chmod(0o755)
    return prefix


def slim(venv: Path, folder: Path, content: bytes) -> Path:
    """An archive and a manifest as the stage before writes them; returns the archive."""
    path = folder / "slim.so"
    path.write_bytes(content)
    with tarfile.open(folder / "libraries.tar", "w") as archive:
        archive.add(path, LIBRARY)
    entry = DebloatedFile(
        size_before_bytes=(venv / LIBRARY).stat().st_size,
        size_after_bytes=len(content),
        sha256_before=sha256_of(venv / LIBRARY),
        sha256_after=sha256_of(path),
    )
    Manifest(
        target="t", hardware="h", workloads=["w"], mode="zero", symbols="strip",
        environment=Environment("python_prefix", str(venv)), timings=Timings(0, 0, 0),
        files={LIBRARY: entry},
    ).write(folder / "manifest.json")  # fmt: skip
    return folder / "libraries.tar"


def target(python: Path) -> PythonPrefix:
    return PythonPrefix.of(Workload(name="w", command=["python"], python=str(python)))


def build(venv: Path, archive: Path, env: Path, share: str = "copy") -> None:
    target(venv / "bin/python").build(archive.parent, share, Source(Fallback.NONE), env)


def snapshot(folder: Path) -> dict[str, tuple[int, int, str]]:
    return {
        str(path): (path.lstat().st_mtime_ns, path.lstat().st_ino, sha256_of(path))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


@pytest.mark.parametrize("share", ["reflink", "copy", "hardlink"])
def test_the_copy_runs_and_the_original_is_untouched(
    venv: Path, tmp_path: Path, share: str
) -> None:
    before = snapshot(venv)
    content = b"slim" + bytes(20_000) + b"end"
    archive = slim(venv, tmp_path, content)
    env = tmp_path / "out" / "env"
    build(venv, archive, env, share)
    assert snapshot(venv) == before
    assert (env / LIBRARY).read_bytes() == content
    assert (env / "lib/notes.txt").stat().st_mtime_ns == (venv / "lib/notes.txt").stat().st_mtime_ns
    same_file = (env / "lib/notes.txt").samefile(venv / "lib/notes.txt")
    assert same_file == (share == "hardlink")
    assert os.readlink(env / "lib/inside") == "notes.txt"
    assert os.readlink(env / "lib/beside") == "notes.txt"
    prefix = subprocess.run([env / "bin/hello"], check=True, capture_output=True, text=True)
    assert prefix.stdout.strip() == str(env)


def test_pages_of_zeros_become_holes(venv: Path, tmp_path: Path) -> None:
    archive = slim(venv, tmp_path, b"x" * 4096 + bytes(1 << 20) + b"y")
    build(venv, archive, tmp_path / "env")
    assert (tmp_path / "env" / LIBRARY).stat().st_blocks * 512 < 100_000


def test_an_earlier_environment_is_replaced(venv: Path, tmp_path: Path) -> None:
    env = tmp_path / "env"
    for content in (b"first", b"second"):
        archive = slim(venv, tmp_path, content)
        build(venv, archive, env)
        assert (env / LIBRARY).read_bytes() == content
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".env")]


def test_a_damaged_archive_leaves_nothing(venv: Path, tmp_path: Path) -> None:
    archive = slim(venv, tmp_path, b"content of the library")
    data = archive.read_bytes().replace(b"content of", b"CONTENT OF")
    archive.write_bytes(data)
    with pytest.raises(TrimtabError, match="damaged"):
        build(venv, archive, tmp_path / "env")
    assert not [path for path in tmp_path.iterdir() if "env" in path.name and path != venv]


def test_a_library_changed_since(venv: Path, tmp_path: Path) -> None:
    archive = slim(venv, tmp_path, b"content")
    (venv / LIBRARY).write_bytes(b"upgraded")
    with pytest.raises(UserError, match=r"module\.so: not the library that was debloated"):
        build(venv, archive, tmp_path / "env")


def test_inside_the_original_is_refused(venv: Path, tmp_path: Path) -> None:
    archive = slim(venv, tmp_path, b"content")
    with pytest.raises(UserError, match="inside the environment"):
        build(venv, archive, venv / "env")


def test_an_interpreter_of_the_system_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="belongs to the operating system"):
        target(Path("/usr/bin/python3"))
    with pytest.raises(UserError, match="not an interpreter"):
        target(tmp_path / "python")
