"""Libraries with any name that Linux allows: traced, debloated, run, verified, learned, rebuilt."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from trimtab.config.groups.debloat import Mode
from trimtab.debloating.libraries.reconstruct import reconstruct

TRIMTAB = Path(sys.executable).parent / "trimtab"
# Pairs that joined alike, bytes that are no UTF-8, and what shells, lines and options trip over.
NAMES = [
    b"x__y.so",
    b"x/y.so",
    b"x/_y.so",
    b"x_/y.so",
    b"caf\xe9/\xff.so",
    b"n" * 247 + b".so",
    b"-new\nline  it's \"\\\t[/bold]\x1b[31m.so",
]
SOURCE = """
#define LONG(name) __attribute__((aligned(4096))) int name(int x) { \\
  __asm__ volatile(".fill 65536, 1, 0x90"); return x + NUMBER; }
LONG(used) LONG(more) LONG(last)
"""
PROGRAM = """
import ctypes, json, os, sys
for name, number in json.load(open("names")):
    library = ctypes.CDLL(os.path.join(os.fsencode(sys.prefix), b"lib/names", bytes.fromhex(name)))
    for function in open("calls").read().split():
        print(name, function, getattr(library, function)(1) == 1 + number)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    environment = tmp_path / "env"
    venv.create(environment, symlinks=True)
    for number, name in enumerate(NAMES):
        path = environment / "lib/names" / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        command = ["gcc", "-x", "c", "-", "-shared", "-fPIC", f"-DNUMBER={number}"]
        built = tmp_path / "built.so"
        subprocess.run([*command, "-o", built], input=SOURCE, text=True, check=True)
        built.rename(path)
    rows = [(name.hex(), number) for number, name in enumerate(NAMES)]
    (tmp_path / "names").write_text(json.dumps(rows))
    (tmp_path / "calls").write_text("used")
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def trimtab(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [TRIMTAB, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return done


def run(folder: Path) -> list[str]:
    python = folder / "trimtab_workspace/env/bin/python"
    done = subprocess.run([python, "program.py"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_verb_on_libraries_of_any_name(folder: Path) -> None:
    words = ("--runs", "1", "--settle", "1", "--", folder / "env/bin/python", "program.py")
    trimtab(folder, "debloat", *words)
    slim = folder / "trimtab_workspace/env/lib/names"
    for name in map(os.fsdecode, NAMES):
        assert (slim / name).stat().st_size < (folder / "env/lib/names" / name).stat().st_size / 2
    assert run(folder) == [f"{name.hex()} used True" for name in NAMES]
    (folder / "calls").write_text("used more")  # which comes back, from each library's own bytes
    expected = [f"{name.hex()} {call} True" for name in NAMES for call in ("used", "more")]
    assert run(folder) == expected
    trimtab(folder, "verify", "--repeats", "1")
    assert "kept from now on" in trimtab(folder, "advanced", "learn", "--repeats", "1").stderr
    assert run(folder) == expected
    spans = sorted((folder / "trimtab_workspace/spans").iterdir())
    rebuilt = [reconstruct(path, folder / path.name[:9], Mode.ZERO).name for path in spans]
    assert {Path(os.fsdecode(name)).name for name in NAMES} <= set(rebuilt)
