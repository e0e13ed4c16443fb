"""A container engine: Docker's, or Podman's compatible service.

It is at DOCKER_HOST, or where Docker's own programs find it. Nothing is ever pulled: a missing
image is an error.
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
_SILENCE_S = 900.0  # older engines write a whole image to disk before they send the first byte
_MOST_OUTPUT_BYTES = 64 << 20


class EngineError(UserError):
    """A request to the engine failed; the message has the request and the engine."""


@dataclass(frozen=True)
class EngineImage:
    """An image in an engine; `size_bytes` is the size of its layers, uncompressed."""

    image_id: str
    names: tuple[str, ...]
    size_bytes: int


@dataclass(frozen=True)
class ContainerLimits:
    """The limits of a container; None for no limit."""

    timeout_s: float = 3600.0
    memory_bytes: int | None = None
    cpus: float | None = None
    processes: int | None = None


@dataclass(frozen=True)
class ContainerResult:
    """The end of a container, and its output."""

    exit_code: int
    output: bytes
    errors: bytes


class ContainerEngine:
    """A connected engine. Every method raises EngineError if a request fails or the connection
    breaks.
    """

    def __init__(self, client: Any, address: str) -> None:
        self._client, self.address = client, address

    @classmethod
    @contextmanager
    def connect(cls) -> Iterator[Self]:
        """Yield the engine. Raises EngineError without one."""
        import docker  # slow, and most commands do not need it
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
        """Write the image `name` into the file `archive`, atomically.

        Raises OSError if the file cannot be written.
        """
        failed = f"{name}: cannot be saved"
        identity = self.inspect(name).image_id
        if "@" not in name and not identity.rpartition(":")[2].startswith(name.rpartition(":")[2]):
            name = str(Reference.parse(name))  # with a tag: without one engines save all tags
        with atomic_write(archive) as temporary:
            with temporary.open("wb") as file, self._asked(failed, name):
                for chunk in self._client.api.get_image(name):
                    file.write(chunk)
            try:
                open_image(temporary)  # an engine may report success for an incomplete archive
            except ImageError as error:
                problem = str(error).removeprefix(f"{temporary}: ")
                raise self._failed(f"{failed} whole", problem) from None

    def load(self, archive: Path) -> tuple[str, ...]:
        """Load the images of the file `archive` into the engine; return their IDs.

        Raises OSError if the file is unreadable.
        """
        with open_regular(archive) as file, self._asked(f"{archive}: cannot be loaded"):
            return tuple(image.id for image in self._client.images.load(file))

    def remove(self, name: str) -> None:
        """Remove the name `name` from its image, and the image if it has no other name."""
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
        """Run `command`, or the image's own, in a new container, and return its end.

        `folders` of this machine are at these paths in it, writable. The container is always killed
        and removed. Raises EngineError if it runs for too long, or writes more than 64 MiB.
        """
        mine = f"trimtab-{uuid.uuid4().hex}"
        limited = {
            "mem_limit": limits.memory_bytes,
            "nano_cpus": None if limits.cpus is None else int(limits.cpus * 1e9),
            "pids_limit": limits.processes,
        }
        try:
            with self._asked(f"{name}: cannot be run", name):
                # Not `run`, which pulls a missing image.
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
        """Convert the block's errors to an EngineError that says `failed`; our OSErrors stay."""
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
        words = " ".join(problem.split())  # Podman lists its attempts on separate lines
        return EngineError(f"{failed} by the engine at {self.address}: {words}")


def _written(container: Any, name: str, to: str) -> bytes:
    """Return the output of an ended container to `stdout` or `stderr`."""
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
    """Return the message of the first error of a chain; the others only add where it passed."""
    while inner := error.__cause__ or error.__context__:
        error = inner
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
