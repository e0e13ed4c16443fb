"""scripts/engine.sh: a Docker engine of our own, with all that it has in a folder."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from machine_root import root_of_programs

PROJECT = Path(__file__).parents[2]
SCRIPT = PROJECT / "scripts/engine.sh"
HAS_ENGINE = bool(shutil.which("dockerd") and shutil.which("docker")) and os.geteuid() == 0

needs_engine = pytest.mark.skipif(
    not HAS_ENGINE, reason="no dockerd (make deps-docker), or not root"
)


def engine(word: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    command = [SCRIPT, word, folder]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)


@pytest.fixture
def folder() -> Iterator[Path]:
    """One whose path leaves room for names of sockets."""
    with TemporaryDirectory() as place:
        folder = Path(place, "engine")
        yield folder
        engine("stop", folder)


def docker(folder: Path, *words: str, data: bytes | None = None) -> str:
    command = ["docker", "--host", f"unix://{folder}/docker.sock", *words]
    return subprocess.run(
        command, input=data, check=True, stdout=subprocess.PIPE, timeout=100
    ).stdout.decode()


def command_of(pid: str) -> str:
    """The command line of a process; none where it has ended, also if nobody has heard of it."""
    try:
        return Path("/proc", pid, "cmdline").read_text()
    except FileNotFoundError:
        return ""


@needs_engine
def test_an_image_without_a_registry_runs(folder: Path, tmp_path: Path) -> None:
    started = engine("start", folder)
    assert (started.returncode, started.stdout) == (0, f"unix://{folder}/docker.sock\n"), started
    pid = (folder / "docker.pid").read_text()
    assert engine("start", folder).returncode == 0
    assert (folder / "docker.pid").read_text() == pid
    assert "dockerd" in command_of(pid)

    root_of_programs(tmp_path / "root", ["sh"])
    tar = ["tar", "--create", "--directory", tmp_path / "root", "."]
    image = subprocess.run(tar, check=True, stdout=subprocess.PIPE).stdout
    docker(folder, "import", "-", "small", data=image)
    for network in ("none", "host"):
        options = ("--rm", "--pull", "never", "--network", network)
        assert docker(folder, "run", *options, "small", "sh", "-c", "echo hello") == "hello\n"

    assert engine("stop", folder).returncode == 0
    assert "dockerd" not in command_of(pid)
    assert str(folder) not in Path("/proc/self/mounts").read_text()


@needs_engine
def test_a_process_that_has_the_number_of_an_engine_that_ended(folder: Path) -> None:
    folder.mkdir()
    with subprocess.Popen(["sleep", "100"]) as other:
        (folder / "docker.pid").write_text(str(other.pid))
        statuses = [engine(word, folder).returncode for word in ("stop", "start", "stop")]
        still_runs = other.poll() is None
        other.kill()
    assert (statuses, still_runs) == ([0, 0, 0], True)


@needs_engine
def test_an_engine_that_does_not_start_says_why(folder: Path) -> None:
    (folder / "data").mkdir(parents=True)
    (folder / "data/containers").write_text("not a folder")
    started = engine("start", folder)
    assert started.returncode == 1
    assert "does not answer" in started.stderr and "containers" in started.stderr


def test_what_is_refused(tmp_path: Path) -> None:
    if HAS_ENGINE:
        long = engine("start", tmp_path / ("x" * 80))
        assert long.returncode == 1 and "too long" in long.stderr
        assert not any(tmp_path.iterdir())
    assert engine("restart", tmp_path).returncode == 2
    assert engine("stop", tmp_path / "none").returncode == 0
