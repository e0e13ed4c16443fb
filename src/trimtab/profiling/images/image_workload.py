"""Complete the workload of an image by the image's config."""

from dataclasses import replace
from pathlib import Path

from trimtab.config.groups.workload import TargetConfig, Workload
from trimtab.errors import UserError
from trimtab.images.archives.image import Image
from trimtab.profiling.images.unpacked import unpacked_image

_HERE = "."  # a workload without a working directory


def in_its_root(workload: Workload) -> Workload:
    """Return the workload of an image as a workload of the image's root folder.

    As in `docker run`, its command follows the image's entrypoint and replaces the image's command;
    its variables, user and working directory replace the image's. Raises UserError without a
    command, and as `unpacked_image` does.
    """
    unpacked = unpacked_image(workload.target.location or "")
    return in_root_of(workload, unpacked.image, unpacked.root)


def in_root_of(workload: Workload, image: Image, root: Path) -> Workload:
    """Return a workload of `image` as one of the folder `root` with its content.

    Raises UserError without a command.
    """
    run = image.config.run()
    command = [*run.entrypoint, *(workload.command or run.command)]
    if not command or not command[0].strip():
        raise UserError(
            f"{workload.target.location}: the image has neither an entrypoint nor a command of its"
            " own; give the command, after -- or as the workload's `command`"
        )
    return replace(
        workload,
        command=command,
        env={**run.variables, **workload.env},
        user=workload.user or run.user or None,
        workdir=workload.workdir if workload.workdir != _HERE else run.working_folder,
        target=TargetConfig(kind="root_folder", location=str(root)),
    )
