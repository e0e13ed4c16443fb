"""A real Slurm on this machine: a controller, and one slurmd for each virtual node.

It has its own folder, ports and munge with key and socket; /etc/slurm and a running Slurm or munge
stay untouched. The daemons run in the foreground as our children, so an early end is noticed and
all are ended reliably.
"""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from trimtab.clusters.cluster import Cluster
from trimtab.errors import TrimtabError, UserError
from trimtab.execution.slurm.configuration import nodes_of, slurm_conf
from trimtab.processes.ending import kill

_DAEMONS = ("munged", "slurmctld", "slurmd")
_CLIENTS = ("sbatch", "scancel", "scontrol", "sinfo", "squeue")
_START_S = 60.0
_STOP_S = 15.0
_POLL_S = 0.02  # Slurm does not report changes of state
_LOG_LINES = 12


def why_not() -> str:
    """Return why no Slurm can be started here, or an empty string."""
    missing = [name for name in (*_DAEMONS, *_CLIENTS) if _program(name) is None]
    if missing:
        return f"{', '.join(missing)} missing: run `make deps-slurm`"
    if os.geteuid() != 0:
        return "only root starts a Slurm of several nodes on one machine"
    return ""


class SlurmCluster:
    """A running Slurm, as a context manager; `folder` holds all of it and is gone at the end.

    `nodes` are the nodes of `cluster`, without GPUs and frequencies. Raises UserError where Slurm
    cannot be started, and TrimtabError with the log's last lines when it fails to start.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.nodes = nodes_of(cluster)
        self.folder = Path()
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._stack = ExitStack()

    @property
    def conf(self) -> Path:
        """The slurm.conf, for SLURM_CONF."""
        return self.folder / "slurm.conf"

    def __enter__(self) -> Self:
        if reason := why_not():
            raise UserError(f"Slurm: {reason}")
        with ExitStack() as stack:
            # A folder with a short name: the paths of sockets are at most 108 bytes.
            folder = TemporaryDirectory(prefix="trimtab-slurm-", ignore_cleanup_errors=True)
            self.folder = Path(stack.enter_context(folder))
            stack.callback(self._stop)
            self._start()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def call(self, *command: str, stdin: str = "") -> str:
        """Run one of Slurm's commands on this cluster and return its output.

        Raises TrimtabError with its message when it fails.
        """
        done = subprocess.run(
            [_program(command[0]) or command[0], *command[1:]],
            env=self._environment(),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise TrimtabError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def wait_until(
        self, holds: Callable[[], bool], what: str, patience_s: float = _START_S
    ) -> None:
        """Poll until `holds`; on timeout or a daemon's end, raise TrimtabError with log lines."""
        deadline = time.monotonic() + patience_s
        while not holds():
            for name, daemon in self._daemons.items():
                if daemon.poll() is not None:
                    raise TrimtabError(f"{name} ended with {daemon.returncode}{self.log_end(name)}")
            if time.monotonic() > deadline:
                raise TrimtabError(f"waited {patience_s:g} s: {what}{self.log_end('slurmctld')}")
            time.sleep(_POLL_S)

    def log_end(self, name: str) -> str:
        """Return the last lines of a daemon's log, indented, to append to a message."""
        for path in (self.folder / f"log/{name}.log", self.folder / f"log/{name}.out"):
            if path.exists() and (lines := path.read_text(errors="replace").splitlines()):
                return "; its log ends:\n  " + "\n  ".join(lines[-_LOG_LINES:])
        return "; it logged nothing"

    def _start(self) -> None:
        for name in ("munge", "state", "log"):
            (self.folder / name).mkdir()
        for folder in (self.folder, self.folder / "munge"):
            folder.chmod(0o711)  # munged requires that all users can reach its socket
        self._start_munge()
        host = socket.gethostname().split(".")[0]
        ports = _free_ports(1 + len(self.nodes))
        self.conf.write_text(slurm_conf(self.folder, host, ports, self.cluster))
        self._launch("slurmctld", "slurmctld", "-D", "-f", str(self.conf))
        # Before that, sinfo would wait for many seconds, even for an ended controller.
        self.wait_until(lambda: _listens(ports[0]), "slurmctld does not listen")
        for node in self.nodes:
            self._launch(node.name, "slurmd", "-D", "-f", str(self.conf), "-N", node.name)
        self.wait_until(self._is_idle, "not every node became idle")

    def _start_munge(self) -> None:
        folder = self.folder / "munge"
        key = folder / "key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
        names = {"key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        options = [f"--{option}={folder / name}" for option, name in names.items()]
        socket_file = folder / "socket"
        self._launch("munged", "munged", "--foreground", *options, f"--socket={socket_file}")
        self.wait_until(socket_file.exists, "munged has no socket yet")

    def _launch(self, name: str, program: str, *arguments: str) -> None:
        """Start a daemon in its own session: Ctrl-C reaches only us, and we stop it in order."""
        path = _program(program)
        assert path is not None  # checked by why_not()
        with (self.folder / f"log/{name}.out").open("wb") as out:
            self._daemons[name] = subprocess.Popen(
                [path, *arguments],
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def _is_idle(self) -> bool:
        told = self.call("sinfo", "--noheader", "--Node", "--format=%T")
        return told.split() == ["idle"] * len(self.nodes)

    def _stop(self) -> None:
        """End the jobs, then the daemons, and check both."""
        if "slurmctld" in self._daemons and self._daemons["slurmctld"].poll() is None:
            with suppress(TrimtabError):
                self.call("scancel", "--user=root")
                self.wait_until(
                    lambda: not self.call("squeue", "--noheader").strip(), "jobs are left", _STOP_S
                )
        for daemon in reversed(self._daemons.values()):
            daemon.send_signal(signal.SIGTERM)
        for daemon in self._daemons.values():
            try:
                daemon.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        kill(f"SLURM_CONF={self.conf}")

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "SLURM_CONF": str(self.conf)}


def _program(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


def _free_ports(count: int) -> list[int]:
    """Return ports that are free now, all held open until the last is found."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
