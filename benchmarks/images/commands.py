"""Commands that have to succeed, and the engine's own client."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


class CommandError(RuntimeError):
    """A command did not succeed."""

    def __init__(self, exit_code: int, said: str) -> None:
        super().__init__(f"exit code {exit_code}: {said}")
        self.exit_code = exit_code


def run(words: Sequence[str | Path], **options: Any) -> str:
    """Run a command that has to succeed, and return what it printed."""
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode:
        said = (done.stderr or done.stdout)[-2000:]
        raise CommandError(done.returncode, f"{Path(words[0]).name}: {said}")
    return done.stdout


def docker(address: str, *words: str) -> str:
    """Run the engine's own client."""
    return run(["docker", "-H", address, *words], timeout=600)
