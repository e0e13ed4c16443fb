"""The slim environment is a runnable copy, and the original is never touched."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trimtab.config.groups.debloat import Fallback
from trimtab.config.groups.workload import Workload
from trimtab.debloating.fallback import Source
from trimtab.debloating.targets.python_prefix import PythonPrefix
from trimtab.errors import TrimtabError, UserError
from trimtab.files import sha256_of
from trimtab.records.built_environment import BuiltEnvironment, LinkedFile
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
    """A slim library and a manifest as the stage before writes them; returns the library."""
    path = folder / "libraries" / LIBRARY
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(content)
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
    return path


def target(python: Path) -> PythonPrefix:
    return PythonPrefix.of(Workload(name="w", command=["python"], python=str(python)))


def build(venv: Path, env: Path, share: str = "copy", *, again: bool = False) -> None:
    """Build `env` of the libraries beside it."""
    none = Source(Fallback.NONE)
    target(venv / "bin/python").build(venv.parent, share, none, env, again=again)


def snapshot(folder: Path) -> dict[str, tuple[int, int, str]]:
    return {
        str(path): (path.lstat().st_mtime_ns, path.lstat().st_ino, sha256_of(path))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


@pytest.mark.parametrize("share", ["reflink", "copy", "auto"])
def test_the_copy_runs_and_the_original_is_untouched(
    venv: Path, tmp_path: Path, share: str
) -> None:
    (venv / "lib/other.so").write_bytes(b"\x7fELF" + b"not loaded" * 1000)
    before = snapshot(venv)
    content = b"slim" + bytes(20_000) + b"end"
    slim(venv, tmp_path, content)
    env = tmp_path / "out" / "env"
    build(venv, env, share)
    assert snapshot(venv) == before
    assert (env / LIBRARY).read_bytes() == content
    assert (env / LIBRARY).samefile(tmp_path / "libraries" / LIBRARY)
    assert (env / "lib/notes.txt").stat().st_mtime_ns == (venv / "lib/notes.txt").stat().st_mtime_ns
    assert not (env / "lib/notes.txt").samefile(venv / "lib/notes.txt")
    same_file = (env / "lib/other.so").samefile(venv / "lib/other.so")
    assert same_file == (share == "auto")
    assert os.readlink(env / "lib/inside") == "notes.txt"
    assert os.readlink(env / "lib/beside") == "notes.txt"
    prefix = subprocess.run([env / "bin/hello"], check=True, capture_output=True, text=True)
    assert prefix.stdout.strip() == str(env)


def test_on_another_file_system_pages_of_zeros_become_holes(
    venv: Path, tmp_path: Path, other_file_system: Path
) -> None:
    path = slim(venv, tmp_path, b"x" * 4096 + bytes(1 << 20) + b"y")
    env = other_file_system / "env"
    build(venv, env, "auto")
    assert not (env / LIBRARY).samefile(path)
    assert (env / LIBRARY).read_bytes() == path.read_bytes()
    assert (env / LIBRARY).stat().st_blocks * 512 < 100_000
    built = BuiltEnvironment.read(tmp_path / "environment.json")
    assert (built.shared_bytes, built.linked) == (0, {})


@pytest.mark.parametrize("name", ["mit Lücke", "long" * 60])
def test_a_script_starts_wherever_the_environment_is(venv: Path, tmp_path: Path, name: str) -> None:
    with_options = venv / "bin/with_options"
    with_options.write_text(
        f"#!{venv}/bin/python -E\nimport sys; print(sys.argv[1:], sys.flags.ignore_environment)\n"
    )
    with_options.chmod(0o755)
    slim(venv, tmp_path, b"\x7fELF")
    env = tmp_path / name
    build(venv, env)
    commands = [env / "bin/hello"], [env / "bin/with_options", "one word", "2"]
    printed = [subprocess.check_output(one, text=True) for one in commands]
    assert printed == [f"{env}\n", "['one word', '2'] 1\n"]


def test_an_earlier_environment_is_replaced(venv: Path, tmp_path: Path) -> None:
    env = tmp_path / "env"
    for content in (b"first", b"second"):
        slim(venv, tmp_path, content)
        build(venv, env, "auto")
        assert (env / LIBRARY).read_bytes() == content
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".env")]


def test_building_again_copies_nothing_twice(venv: Path, tmp_path: Path) -> None:
    """But what is no longer as the original's is copied, and scripts name the environment."""
    env = tmp_path / "env"
    slim(venv, tmp_path, b"first")
    build(venv, env)
    kept, written = env / "lib/notes.txt", env / "pyvenv.cfg"
    before = kept.stat().st_ino
    written.write_text("written by a program")
    slim(venv, tmp_path, b"second")
    build(venv, env, again=True)
    assert (kept.stat().st_ino, kept.stat().st_nlink) == (before, 1)
    assert written.read_bytes() == (venv / "pyvenv.cfg").read_bytes()
    assert str(env) in (env / "bin/hello").read_text()
    build(venv, env)
    assert kept.stat().st_ino != before


def test_what_the_environments_weigh(venv: Path, tmp_path: Path) -> None:
    (venv / "lib/other.so").write_bytes(b"\x7fELF" + b"not loaded" * 10_000)
    slim(venv, tmp_path, b"slim")
    build(venv, tmp_path / "env", "auto")
    built = BuiltEnvironment.read(tmp_path / "environment.json")
    for folder, size_bytes in ((venv, built.before_bytes), (tmp_path / "env", built.after_bytes)):
        du = subprocess.run(["du", "-s", "-B1", folder], capture_output=True, check=True).stdout
        assert size_bytes == int(du.split()[0])
    shared = (venv / "lib/other.so").stat()
    assert built.shared_bytes == shared.st_blocks * 512
    assert built.linked == {"lib/other.so": LinkedFile(shared.st_size, shared.st_mtime_ns)}


@pytest.mark.parametrize("damage", [b"CONTENT", b"longer than it was", None])
def test_a_damaged_library_leaves_the_earlier_environment(
    venv: Path, tmp_path: Path, damage: bytes | None
) -> None:
    env = tmp_path / "env"
    slim(venv, tmp_path, b"earlier")
    build(venv, env)
    path = slim(venv, tmp_path, b"content")
    path.unlink()
    if damage is not None:
        path.write_bytes(damage)
    with pytest.raises(TrimtabError, match=r"module\.so: (was damaged|missing); debloat again"):
        build(venv, env)
    assert (env / LIBRARY).read_bytes() == b"earlier"
    assert not list(tmp_path.glob(".trimtab-*"))


def test_a_library_changed_since(venv: Path, tmp_path: Path) -> None:
    slim(venv, tmp_path, b"content")
    (venv / LIBRARY).write_bytes(b"upgraded")
    with pytest.raises(UserError, match=r"module\.so: not the library that was debloated"):
        build(venv, tmp_path / "env")


def test_inside_the_original_is_refused(venv: Path, tmp_path: Path) -> None:
    slim(venv, tmp_path, b"content")
    with pytest.raises(UserError, match="cannot be in the environment"):
        build(venv, venv / "env")


def test_an_interpreter_of_the_system_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="belongs to the operating system"):
        target(Path("/usr/bin/python3"))
    with pytest.raises(UserError, match="not an interpreter"):
        target(tmp_path / "python")
