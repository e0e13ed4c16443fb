"""Write an image for each executed program (Cimplifier's partition, without its glue).

A file trace tells the files of a run, not of each process. So a program's image only loses what
another program needs to start and it does not: the other programs, and their own libraries and
interpreters. Removed files are restored as in any slim image: a program that starts another finds
it if it has the store.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from trimtab.debloating.debloat import Debloating
from trimtab.debloating.fallback import Source
from trimtab.debloating.files.chosen.groups import executed_in
from trimtab.debloating.files.closure import kept_paths
from trimtab.debloating.images.packing import slim_name, slim_view, started
from trimtab.debloating.several_images.fleet import FleetMember
from trimtab.debloating.targets.image import SLIM_IMAGE
from trimtab.errors import UserError
from trimtab.images.archives.image import Config, Image
from trimtab.images.compression import Compression
from trimtab.images.writing.image import write_image
from trimtab.records.manifest import Manifest
from trimtab.records.usage import Usage

_NOT_IN_TAGS = re.compile(r"[^\w.-]+", re.ASCII)
OnProgram = Callable[[str, int, int], None]


def partition(
    folder: Path, destination: Path, on_program: OnProgram = lambda path, done, total: None
) -> dict[str, Path]:
    """Write an image of each program that ran in the workspace `folder`; return them by its path.

    They are `destination`/NAME/slim.tar, with the tag `slim-NAME`. The entrypoint is the program;
    the rest of the config is the original's. Raises UserError if the folder is no workspace of a
    slim image, or if no program of the image ran.
    """
    member = FleetMember.of(folder, destination)
    tree = member.target.tree()
    needs = {
        program: frozenset(kept_paths(tree, [], [program]))
        for program in sorted(executed_in(tree, map(Usage.read, member.usages)))
    }
    if not needs:
        raise UserError(f"{folder}: no program of the image was executed, so there is no partition")
    names = _names(needs)
    written = {}
    for number, (program, own) in enumerate(needs.items()):
        on_program(program, number, len(needs))
        others = frozenset[str]().union(*needs.values()) - own
        written[program] = _write(member, others, program, names[program], destination)
    return written


def _names(programs: Mapping[str, object]) -> dict[str, str]:
    """Return the last component of each path, or the whole path if several share it."""
    last = {path: _NOT_IN_TAGS.sub("_", path.rpartition("/")[2]) for path in programs}
    whole = {path: _NOT_IN_TAGS.sub("_", path.strip("/").replace("/", "-")) for path in programs}
    names = list(last.values())
    return {path: last[path] if names.count(last[path]) == 1 else whole[path] for path in programs}


def _write(
    member: FleetMember, others: frozenset[str], program: str, name: str, destination: Path
) -> Path:
    target, options, place = member.target, member.stage.debloat, destination / name
    target.check_place(place / "env")
    usage = place / "usage.json"
    _without(member, others).write(usage)
    with Debloating(member.stage, [usage], place) as debloating:
        debloating.keep(
            [miss for miss in member.settling.missed if f"/{miss.library}" not in others]
        )
        debloating.write()
        target.build_file_system(
            place, options.share, Source.of(options), place / "env", again=False
        )
    changed = set(Manifest.read(place / "manifest.json").files)
    view, kept = slim_view(target.unpacked, place / "env", changed)
    write_image(
        started(_running(target.unpacked.image, program), place / "env"),
        view,
        place / SLIM_IMAGE,
        name=f"{slim_name(target.unpacked)}-{name}",
        compression=Compression(options.compression),
        kept=kept,
    )
    return place / SLIM_IMAGE


def _without(member: FleetMember, others: frozenset[str]) -> Usage:
    """Return the usage without the paths `others`."""
    root, tree = member.target.root.resolve(), member.target.tree()
    [usage] = map(Usage.read, member.usages)
    return usage.model_copy(
        update={
            "files": [
                file
                for file in usage.files
                if tree.walk(file.path).end not in others and file.real_path not in others
            ],
            "libraries": [
                library
                for library in usage.libraries
                if library.path.removeprefix(str(root)) not in others
            ],
        }
    )


def _running(image: Image, program: str) -> Image:
    """Return the image with `program` as its entrypoint and no command."""
    document = dict(image.config.document.values)
    run = {**document.get("config", {}), "Entrypoint": [program]}
    run.pop("Cmd", None)
    config = Config.parse(json.dumps({**document, "config": run}).encode())
    return replace(image, config=config)
