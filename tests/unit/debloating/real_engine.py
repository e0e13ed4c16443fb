"""A Docker engine for tests, as scripts/engine.sh starts it, and why there may be none."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts/engine.sh"
HAS_ENGINE = bool(shutil.which("dockerd") and shutil.which("docker")) and os.geteuid() == 0

needs_engine = pytest.mark.skipif(
    not (HAS_ENGINE and find_spec("docker")),
    reason="no dockerd (make deps-docker), no docker SDK, or not root",
)


@contextmanager
def running_engine() -> Iterator[Path]:
    """Yield the folder of an engine that runs; its path leaves room for names of sockets."""
    with TemporaryDirectory() as place:
        folder = Path(place, "engine")
        try:
            subprocess.run([SCRIPT, "start", folder], check=True, capture_output=True, timeout=100)
            yield folder
        finally:
            stop(folder)


def stop(folder: Path) -> None:
    subprocess.run([SCRIPT, "stop", folder], check=True, capture_output=True, timeout=100)


def address(folder: Path) -> str:
    return f"unix://{folder}/docker.sock"


def import_root(folder: Path, root: Path, name: str, *changes: str) -> None:
    """Have the engine take a folder as the image `name`, with Dockerfile's `changes`."""
    tar = ["tar", "--create", "--numeric-owner", "--directory", root, "."]
    image = subprocess.run(tar, check=True, stdout=subprocess.PIPE).stdout
    options = [word for change in changes for word in ("--change", change)]
    command = ["docker", "--host", address(folder), "import", *options, "-", name]
    subprocess.run(command, input=image, check=True, stdout=subprocess.DEVNULL, timeout=100)
