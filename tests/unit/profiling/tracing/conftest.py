"""What tests of the file tracer share: a folder to work in, and programs made for them."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working directory whose own path holds no symbolic links."""
    folder = tmp_path.resolve() / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def compiled(tmp_path: Path) -> Callable[..., Path]:
    """Compile C source with more flags of gcc, and return the program."""
    made: list[Path] = []

    def compile_c(source: str, *flags: str) -> Path:
        program = tmp_path / f"program_{len(made)}"
        made.append(program)
        program.with_suffix(".c").write_text(source)
        subprocess.run(
            ["gcc", "-o", program, program.with_suffix(".c"), *flags], check=True, timeout=60
        )
        return program

    return compile_c
