"""An image as an archive or a folder has it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from trimtab.images.archives.fields import Fields
from trimtab.images.archives.platform import Platform
from trimtab.images.archives.region import FileRegion
from trimtab.images.digest import check_digest
from trimtab.images.errors import DamagedError

_SHELL = ("/bin/sh", "-c")  # where a config names none
MOST_LAYERS = 500  # overlayfs has no more


@dataclass(frozen=True)
class Config:
    """What an image runs, and of which layers it consists (OCI image specification, config.md).

    `document` is all of it as it was; what this class has no name for is in there. `diff_ids` are
    the digests of the uncompressed layers, the lowest first.
    """

    document: Fields
    diff_ids: tuple[str, ...]

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Return the config that a document is. Raises DamagedError where it is none."""
        document = Fields.parse(data)
        diff_ids = tuple(document.object("rootfs").texts("diff_ids"))
        if len(diff_ids) > MOST_LAYERS:
            raise DamagedError(f"has {len(diff_ids)} layers; expected at most {MOST_LAYERS}")
        for diff_id in diff_ids:
            check_digest(diff_id)
        config = cls(document, diff_ids)
        for check in (config.run, config.platform, config.history):
            check()
        return config

    def platform(self) -> Platform:
        """Return what it is for."""
        return Platform.of(self.document)

    def history(self) -> list[dict[str, Any]]:
        """Return what is told of how it came about, a step an entry."""
        return [dict(entry.values) for entry in self.document.objects("history")]

    def run(self) -> "RunConfig":
        """Return what a container of it runs."""
        run = self.document.object("config")
        return RunConfig(
            entrypoint=tuple(run.texts("Entrypoint")),
            command=tuple(run.texts("Cmd")),
            environment=tuple(run.texts("Env")),
            user=run.text("User", ""),
            working_folder=run.text("WorkingDir", "") or "/",
            labels=run.text_by_key("Labels"),
            ports=tuple(run.object("ExposedPorts").values),
            volumes=tuple(run.object("Volumes").values),
            shell=tuple(run.texts("Shell")) or _SHELL,
            health_check=tuple(run.object("Healthcheck").texts("Test")),
        )


@dataclass(frozen=True)
class RunConfig:
    """How a container of an image is started; `environment` has texts NAME=VALUE.

    `health_check` is what engines run to see whether it works, by the form of a command: `CMD`,
    `CMD-SHELL` for a text that `shell` is given, or `NONE`.
    """

    entrypoint: tuple[str, ...]
    command: tuple[str, ...]
    environment: tuple[str, ...]
    user: str
    working_folder: str
    labels: dict[str, str]
    ports: tuple[str, ...]
    volumes: tuple[str, ...]
    shell: tuple[str, ...]
    health_check: tuple[str, ...]

    @property
    def variables(self) -> dict[str, str]:
        """The environment by name; a later text counts, and what is none is passed over."""
        parts = (text.partition("=") for text in self.environment)
        return {name: value for name, equals, value in parts if name and equals}


@dataclass(frozen=True)
class Layer:
    """A layer where it lies: `digest` is of the bytes there, where the archive says it."""

    region: FileRegion
    diff_id: str
    digest: str | None = None


@dataclass(frozen=True)
class Image:
    """The image at `path`; `names` are those that the archive has it under."""

    path: Path
    names: tuple[str, ...]
    config: Config
    layers: tuple[Layer, ...]
    annotations: dict[str, str] = field(default_factory=dict)
