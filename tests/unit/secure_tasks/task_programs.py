"""How tests run the native task programs, and build them and what misuses enclaves."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from trimtab.native import native_path
from trimtab.places import PROJECT

SOURCES = PROJECT / "native/secure_tasks"
PROGRAMS = ("cholesky", "dot_product", "matmul", "stream_barriers", "stream_dependences")
OF_NETWORKS = ("lenet", "detector")
# Threads that wait for others leave them the processor: tests share it.
ENVIRONMENT = {**os.environ, "OMP_WAIT_POLICY": "passive"}
LACKING = ("this machine lacks", "built without OpenSSL", "built without Intel's SGX SDK")


def shared_sources(folder: Path = SOURCES) -> list[Path]:
    """What all programs have in common: every source without a main."""
    own = {f"{program}.c" for program in PROGRAMS + OF_NETWORKS}
    return sorted(path for path in folder.glob("*.c") if path.name not in own)


def _cipher() -> list[str]:
    """With OpenSSL where it is installed, as in the Makefile."""
    include = ["gcc", "-E", "-include", "openssl/evp.h", "-x", "c", "/dev/null"]
    lacking = subprocess.run(include, capture_output=True).returncode
    return [] if lacking else ["-DTRIMTAB_OPENSSL", "-lcrypto"]


def objects(sources: Sequence[Path], folder: Path, *flags: str) -> list[Path]:
    """Compile each of the sources into `folder`."""
    folder.mkdir(exist_ok=True)
    command = ["gcc", "-c", "-g", "-fopenmp", *flags, "-I", SOURCES, *sources, *_cipher()[:1]]
    subprocess.run(command, cwd=folder, check=True, timeout=100)
    return [folder / f"{source.stem}.o" for source in sources]


def build(sources: Sequence[Path], program: Path, *flags: str) -> Path:
    """Compile or link all of the sources or objects into one program."""
    command = ["gcc", "-g", "-fopenmp", *flags, "-I", SOURCES, "-o", program, *sources, "-lm"]
    subprocess.run([*command, *_cipher()], check=True, timeout=100)
    return program


def run_path(program: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *map(str, words)], env=ENVIRONMENT, capture_output=True, text=True, timeout=60
    )


def run(program: str, *words: object) -> dict[str, Any]:
    """The line that a program prints; skips where the machine or the build lacks something."""
    done = run_path(native_path(f"trimtab-task-{program}"), *words)
    if done.returncode == 3 and any(words in done.stderr for words in LACKING):
        pytest.skip(done.stderr.strip())
    assert (done.returncode, done.stderr) == (0, "")
    line: dict[str, Any] = json.loads(done.stdout)
    return line
