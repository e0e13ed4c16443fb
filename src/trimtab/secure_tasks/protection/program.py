"""The native program of a task program, and its network."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from trimtab.config.groups.enclave import Enclave
from trimtab.config.groups.protection.task_program import TaskProgram
from trimtab.config.stages import ProtectStage
from trimtab.errors import TrimtabError
from trimtab.files import atomic_write, sha256_of
from trimtab.native import native_path
from trimtab.secure_tasks.cost import Bound, cost_at
from trimtab.secure_tasks.protection.plan import SetUp
from trimtab.sources import sources_of

_NO_CACHE_BYTES = 10**12
_MIB = 2**20


@dataclass(frozen=True)
class NativeProgram:
    """A built program, and the file of its network, if any."""

    path: Path
    network: Path | None

    @property
    def digest(self) -> str:
        """The digest that identifies the program and its network."""
        files = [self.path] if self.network is None else [self.path, self.network]
        return " ".join(map(sha256_of, files))

    def command(self, set_up: SetUp, enclaves: Sequence[Enclave]) -> list[str]:
        """Return the command line of a run."""
        words = [str(self.path), "--size", str(set_up.size), "--block", str(set_up.block)]
        words += ["--variant", str(set_up.variant), "--workers", str(set_up.workers)]
        if self.network is not None:
            words += ["--network", str(self.network)]
        if set_up.enclave is not None:
            words += ["--enclave", str(set_up.enclave)]
        if set_up.costs is not None:
            enclave = next(each for each in enclaves if each.name == set_up.costs)
            words += ["--costs", ",".join(map(repr, _costs(enclave)))]
        return words


def native_program(stage: ProtectStage, destination: Path) -> NativeProgram:
    """Return the program of a stage; its network is written to `destination` if it is missing.

    A change of a file in the network's command, or of a module of ours that it imports, gives a new
    network.

    Raises UserError where the program was not built, and TrimtabError where the network's command
    fails.
    """
    path = native_path(f"trimtab-task-{stage.program.program}")
    if not stage.program.network:
        return NativeProgram(path, None)
    network = destination / f"network-{_digest_of(stage.program.network)}.safetensors"
    if not network.exists():
        _write_network(stage.program, network, stage.protect.timeout_s)
    return NativeProgram(path, network)


def _digest_of(command: Sequence[str]) -> str:
    """Return a digest of a command, its files and the modules of ours they import."""
    files: set[Path] = set()
    for word in command:
        with suppress(OSError, ValueError):  # not a path
            if (path := Path(word)).is_file():
                files |= {path.resolve(), *(sources_of([path]) if path.suffix == ".py" else ())}
    of_all = [*command, *map(sha256_of, sorted(files))]
    return hashlib.sha256(repr(of_all).encode()).hexdigest()[:16]


def _write_network(program: TaskProgram, network: Path, timeout_s: float) -> None:
    with atomic_write(network) as temporary, TemporaryDirectory(prefix="trimtab-") as folder:
        words = [
            word.replace("{network}", str(temporary.absolute())).replace("{folder}", folder)
            for word in program.network
        ]
        if words[0] == "python":
            words[0] = sys.executable
        try:
            done = subprocess.run(
                words, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise TrimtabError(f"task program {program.name}: network: {error}") from None
        if done.returncode or not temporary.stat().st_size:
            said = done.stderr.decode(errors="replace").splitlines()
            why = said[-1] if said else f"exit code {done.returncode}, and no network was written"
            raise TrimtabError(f"task program {program.name}: network: {' '.join(words)}: {why}")


def _costs(enclave: Enclave) -> tuple[float, float, float, int]:
    """Return the costs that a modelled enclave simulates; it really encrypts."""
    bound = Bound.TYPICAL
    cache = enclave.page_cache
    bytes_of_it = _NO_CACHE_BYTES if cache is None else int(cache.usable_mib * _MIB)
    call_s, page_s = cost_at(enclave.call_s, bound), cost_at(enclave.page_fault_s, bound)
    return call_s, 0.0, page_s, bytes_of_it
