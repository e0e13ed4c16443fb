"""A container engine: Docker's, or Podman's service, which answers in the same way.

It is the one at DOCKER_HOST, or where Docker's own programs find theirs. Nothing is ever pulled:
an image that it does not have is an error.
"""

import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from trimtab.errors import UserError
from trimtab.files import atomic_write, open_regular
from trimtab.images.archives.opening import open_image
from trimtab.images.errors import ImageError
from trimtab.images.writing.reference import Reference

_DEFAULT_ADDRESS = "unix:///var/run/docker.sock"
_FIRST_ANSWER_S = 20.0
_SILENCE_S = 900.0  # older engines write a whole image to a disk before they send the first byte
_MOST_OUTPUT_BYTES = 64 << 20


class EngineError(UserError):
    """What the engine was asked for failed; the message says what, and at which engine."""


@dataclass(frozen=True)
class EngineImage:
    """An image as an engine has it; `size_bytes` is that of its layers, uncompressed."""

    image_id: str
    names: tuple[str, ...]
    size_bytes: int


@dataclass(frozen=True)
class ContainerLimits:
    """What a container may take; where it is None the engine sets no limit."""

    timeout_s: float = 3600.0
    memory_bytes: int | None = None
    cpus: float | None = None
    processes: int | None = None


@dataclass(frozen=True)
class ContainerResult:
    """How a container ended, and what it wrote."""

    exit_code: int
    output: bytes
    errors: bytes


class ContainerEngine:
    """An engine that answered. Every method raises EngineError where it does not do what is asked,
    or is gone half-way.
    """

    def __init__(self, client: Any, address: str) -> None:
        self._client, self.address = client, address

    @classmethod
    @contextmanager
    def connect(cls) -> Iterator[Self]:
        """Yield the engine. Raises EngineError where there is none."""
        import docker  # which takes its time, and most commands need none
        from docker.errors import DockerException
        from requests.exceptions import RequestException

        address = os.environ.get("DOCKER_HOST") or _DEFAULT_ADDRESS
        try:
            client = docker.from_env(timeout=_FIRST_ANSWER_S)
        except (DockerException, RequestException, ValueError) as error:
            raise EngineError(
                f"no engine answers at {address} ({_innermost(error)}): start Docker, or"
                " Podman's service (`podman system service`), and name its address in DOCKER_HOST;"
                " an image that was saved to a file needs none"
            ) from None
        client.api.timeout = _SILENCE_S
        try:
            yield cls(client, address)
        finally:
            client.close()

    def inspect(self, name: str) -> EngineImage:
        """Return the image `name`, which may be an ID."""
        with self._asked(f"{name}: cannot be inspected", name):
            facts = self._client.images.get(name).attrs
            return EngineImage(facts["Id"], tuple(facts["RepoTags"] or ()), int(facts["Size"]))

    def save(self, name: str, archive: Path) -> None:
        """Write the image `name` into the file `archive`, whole or not at all.

        Raises OSError where that cannot be written.
        """
        failed = f"{name}: cannot be saved"
        identity = self.inspect(name).image_id
        if "@" not in name and not identity.rpartition(":")[2].startswith(name.rpartition(":")[2]):
            name = str(Reference.parse(name))  # with a tag: without one engines save all of them
        with atomic_write(archive) as temporary:
            with temporary.open("wb") as file, self._asked(failed, name):
                for chunk in self._client.api.get_image(name):
                    file.write(chunk)
            try:
                open_image(temporary)  # an engine that fails half-way may end as if it had not
            except ImageError as error:
                problem = str(error).removeprefix(f"{temporary}: ")
                raise self._failed(f"{failed} whole", problem) from None

    def load(self, archive: Path) -> tuple[str, ...]:
        """Have the engine take the images of the file `archive`; return their IDs.

        Raises OSError where that cannot be read.
        """
        with open_regular(archive) as file, self._asked(f"{archive}: cannot be loaded"):
            return tuple(image.id for image in self._client.images.load(file))

    def remove(self, name: str) -> None:
        """Take the name `name` from its image, and that away if it has no other."""
        with self._asked(f"{name}: cannot be removed", name):
            self._client.images.remove(name)

    def run(
        self,
        name: str,
        command: Sequence[str] | None = None,
        limits: ContainerLimits = ContainerLimits(),
        *,
        network: str = "none",
        folders: Mapping[Path, str] | None = None,
    ) -> ContainerResult:
        """Run `command`, or what the image says, in a new container, and return how it ended.

        `folders` of this machine are at these paths in it, and may be written to. The container is
        killed and removed whatever happens. Raises EngineError where it runs for too long, or
        writes more than 64 MiB.
        """
        mine = f"trimtab-{uuid.uuid4().hex}"
        limited = {
            "mem_limit": limits.memory_bytes,
            "nano_cpus": None if limits.cpus is None else int(limits.cpus * 1e9),
            "pids_limit": limits.processes,
        }
        try:
            with self._asked(f"{name}: cannot be run", name):
                # Not `run`, which pulls what is missing.
                container = self._client.containers.create(
                    name,
                    None if command is None else list(command),
                    name=mine,
                    network_mode=network,
                    volumes={
                        os.fspath(folder): {"bind": inside, "mode": "rw"}
                        for folder, inside in (folders or {}).items()
                    },
                    **{key: value for key, value in limited.items() if value is not None},
                )
                container.start()
                exit_code = self._wait(container, name, limits.timeout_s)
                return ContainerResult(
                    exit_code,
                    _written(container, name, "stdout"),
                    _written(container, name, "stderr"),
                )
        finally:
            with suppress(EngineError), self._asked("the container cannot be removed"):
                self._client.api.remove_container(mine, v=True, force=True)

    def _wait(self, container: Any, name: str, timeout_s: float) -> int:
        from requests.exceptions import RequestException

        started_s = time.monotonic()
        try:
            return int(container.wait(timeout=timeout_s)["StatusCode"])
        except RequestException:
            if time.monotonic() - started_s < timeout_s:
                raise
        raise EngineError(
            f"{name}: its command did not end in {timeout_s:g} s; the container was killed"
        )

    @contextmanager
    def _asked(self, failed: str, name: str | None = None) -> Iterator[None]:
        """Have whatever goes wrong in the block say that `failed`; an OSError of ours stays."""
        from docker.errors import APIError, DockerException, ImageNotFound
        from requests.exceptions import RequestException
        from urllib3.exceptions import HTTPError

        try:
            yield
        except ImageNotFound:
            raise EngineError(
                f"{name}: the engine at {self.address} has no image of this name, and none is"
                " pulled; `docker images` lists those that it has"
            ) from None
        except APIError as error:
            raise self._failed(failed, error.explanation or str(error)) from None
        except (RequestException, HTTPError) as error:
            problem = f"it is gone, or has no space left ({_innermost(error)})"
            raise self._failed(failed, problem) from None
        except (DockerException, KeyError, ValueError) as error:
            raise self._failed(failed, str(error)) from None

    def _failed(self, failed: str, problem: str) -> EngineError:
        words = " ".join(problem.split())  # Podman tells what it tried line by line
        return EngineError(f"{failed} by the engine at {self.address}: {words}")


def _written(container: Any, name: str, to: str) -> bytes:
    """Return what an ended container wrote to `stdout` or `stderr`."""
    wanted = {"stdout": False, "stderr": False, to: True}
    output = bytearray()
    for chunk in container.logs(**wanted, stream=True, follow=False):
        output += chunk
        if len(output) > _MOST_OUTPUT_BYTES:
            raise EngineError(
                f"{name}: its command wrote more than {_MOST_OUTPUT_BYTES >> 20} MiB; have it write"
                " less, or into a file"
            )
    return bytes(output)


def _innermost(error: BaseException) -> str:
    """Return the words of the first error of a chain: those around it say where it passed."""
    while inner := error.__cause__ or error.__context__:
        error = inner
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
