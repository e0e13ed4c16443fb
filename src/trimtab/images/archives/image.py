"""An image in an archive or a folder."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from trimtab.images.archives.fields import Fields
from trimtab.images.archives.platform import Platform
from trimtab.images.archives.region import FileRegion
from trimtab.images.digest import check_digest
from trimtab.images.errors import DamagedError

_SHELL = ("/bin/sh", "-c")  # the default
MOST_LAYERS = 500  # the limit of overlayfs


@dataclass(frozen=True)
class Config:
    """The config of an image: its start and its layers (OCI image specification, config.md).

    `document` is the whole original document, with all other keys. `diff_ids` are the digests of
    the uncompressed layers, the lowest first.
    """

    document: Fields
    diff_ids: tuple[str, ...]

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Parse a document. Raises DamagedError if it is no config."""
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
        """Return its platform."""
        return Platform.of(self.document)

    def history(self) -> list[dict[str, Any]]:
        """Return the history of its layers, one step an entry."""
        return [dict(entry.values) for entry in self.document.objects("history")]

    def run(self) -> "RunConfig":
        """Return how a container of it is started."""
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
    """The start of a container of an image; `environment` has strings NAME=VALUE.

    `health_check` is the command that engines run to check it: `CMD`, `CMD-SHELL` for a text that
    `shell` runs, or `NONE`.
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
        """The environment by name; the last string of a name counts, and invalid strings are
        ignored.
        """
        parts = (text.partition("=") for text in self.environment)
        return {name: value for name, equals, value in parts if name and equals}


@dataclass(frozen=True)
class Layer:
    """A layer in an archive; `digest` is of the stored bytes, if the archive has it."""

    region: FileRegion
    diff_id: str
    digest: str | None = None


@dataclass(frozen=True)
class Image:
    """The image at `path`; `names` are its names in the archive."""

    path: Path
    names: tuple[str, ...]
    config: Config
    layers: tuple[Layer, ...]
    annotations: dict[str, str] = field(default_factory=dict)

    def started_with(self, changed: Mapping[str, Any]) -> Self:
        """Return the image with other values in its config's `config`, which starts containers."""
        document = self.config.document.values
        values = {**document, "config": {**(document.get("config") or {}), **changed}}
        return replace(self, config=Config.parse(json.dumps(values).encode()))

    def labelled(self, labels: Mapping[str, str]) -> Self:
        """Return the image with more labels."""
        return self.started_with({"Labels": {**self.config.run().labels, **labels}})
