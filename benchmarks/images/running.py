"""Images run by an engine: what they put out, or what their server answers."""

import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from cases import Case
from commands import CommandError, docker, run

_STORE = "/trimtab/store"
_ANSWERS_S = 60


@dataclass(frozen=True)
class Runs:
    """Runs of a case by the engine at `address`; `store` is what may bring files back."""

    address: str
    case: Case
    store: Path | None = None

    def output(self, image: str, held_out: bool = False, *options: str) -> str:
        """Return what a run puts out; raises CommandError where it fails.

        `options` are those of `docker run`.
        """
        words = ["run", "--rm", "--pull", "never", "--network", "host", *options]
        if self.store is not None:
            words += ["--volume", f"{self.store}:{_STORE}:ro"]
        if self.case.user:
            words += ["--user", self.case.user]
        with tempfile.TemporaryDirectory() as volume:
            if self.case.volume:
                Path(volume).chmod(0o777)
                words += ["--volume", f"{volume}:{self.case.volume}"]
            if self.case.port is not None:
                return self._answers(words, image, held_out)
            command = self.case.held_out if held_out else self.case.command
            return docker(self.address, *words, image, *command)

    def _answers(self, words: list[str], image: str, held_out: bool) -> str:
        assert self.case.port is not None
        started = [words[0], "--detach", *words[1:], image, *self.case.command]
        container = docker(self.address, *started).strip()
        try:
            wait_for(self.case.port, self.address, container)
            return run(self.case.drive(held_out), timeout=100)
        finally:
            kill = ["docker", "-H", self.address, "kill", container]
            subprocess.run(kill, capture_output=True)
            gone(self.case.port, self.address, container)

    def verdict(self, image: str, expected: str, held_out: bool = False, *options: str) -> str:
        """Return `equal`, `other`, or how a run ended that failed."""
        try:
            after = self.output(image, held_out, *options)
        except CommandError as error:
            return f"ended with exit code {error.exit_code}"
        except subprocess.TimeoutExpired:
            return "did not end"
        return "equal" if after == expected else "other"


def wait_for(port: int, address: str, container: str) -> None:
    """Return when something answers on the port."""
    end_s = time.monotonic() + _ANSWERS_S
    while time.monotonic() < end_s:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if not docker(address, "ps", "--quiet", "--no-trunc", "--filter", f"id={container}"):
            raise CommandError(1, "the server ended before it answered")
        time.sleep(0.05)
    raise CommandError(1, f"nothing answers on port {port}")


def gone(port: int, address: str, container: str) -> None:
    """Return when nothing answers there any more, and the engine has no such container.

    It removes one some time after its end, and until then no image that it was made of.
    """
    known = ("ps", "--all", "--quiet", "--no-trunc", "--filter", f"id={container}")
    while True:
        with socket.socket() as probe:
            silent = probe.connect_ex(("127.0.0.1", port))
        if silent and not docker(address, *known):
            return
        time.sleep(0.05)
