"""Rebuild slim images as a fleet: each keeps what any of them needs of their common base.

Each was made slim alone, so each lost another part of the base. Files and libraries of the base are
chosen again, by the use of all programs, and come out equal. Each image gets a little larger, but
the base is stored once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from trimtab.config.groups.debloat import Fallback
from trimtab.config.stages import DebloatStage, load
from trimtab.debloating.debloat import Debloating
from trimtab.debloating.fallback import Source
from trimtab.debloating.several_images.sharing import CommonBase, SlimFileSystem, write_sharing
from trimtab.debloating.targets.image import SLIM_IMAGE, STORE, ImageTarget
from trimtab.errors import UserError
from trimtab.files import read_limited
from trimtab.images.compression import Compression
from trimtab.records.manifest import Manifest
from trimtab.records.misses.settling import Settling
from trimtab.records.usage import Usage

_MOST_BYTES = 1 << 24  # of a stage.json
OnStep = Callable[[str], None]


@dataclass(frozen=True)
class FleetMember:
    """A folder in which an image was made slim, and its `usages`, files."""

    folder: Path
    stage: DebloatStage
    target: ImageTarget
    usages: tuple[Path, ...]
    settling: Settling

    @classmethod
    def of(cls, folder: Path, destination: Path, usages: Sequence[Path] = ()) -> Self:
        """Read the member in `folder`, for a fleet that is made, with its store, at `destination`.

        The default for `usages` is the usage in the folder. Raises UserError if no slim image was
        made in it.
        """
        usages = usages or [folder / "usage.json"]
        needed = [folder / "stage.json", folder / "settling.json", *usages]
        slim = folder / SLIM_IMAGE
        if missing := next((path for path in (*needed, slim) if not path.is_file()), None):
            raise UserError(
                f"{folder}: no workspace of a slim image, {missing.name} is missing; expected one"
                " in which `trimtab image slim` came to its end"
            )
        stage = load(read_limited(needed[0], _MOST_BYTES), DebloatStage, str(needed[0]))
        if stage.debloat.fallback == Fallback.STORE:
            store = str(destination / STORE)
            stage = replace(stage, debloat=replace(stage.debloat, store=store))
        return cls(
            folder,
            stage,
            ImageTarget.of(stage.workloads[0]),
            tuple(usages),
            Settling.read(needed[1]),
        )

    def usages_for(self, other: "FleetMember", base: CommonBase) -> Iterator[Usage]:
        """Yield its programs' use of the base, with the paths of the image of `other`."""
        ours, theirs = self.target.root.resolve(), other.target.root.resolve()
        for usage in map(Usage.read, self.usages):
            yield usage.model_copy(
                update={
                    "libraries": [
                        replace(library, path=str(theirs / Path(library.path).relative_to(ours)))
                        for library in usage.libraries
                        if self._is_below(library.path, ours, base)
                    ],
                    "files": [
                        file
                        for file in usage.files
                        if "missing" not in file.uses
                        and (file.real_path or file.path) in base.paths
                    ],
                }
            )

    def _is_below(self, path: str, root: Path, base: CommonBase) -> bool:
        place = Path(path)
        return place.is_relative_to(root) and f"/{place.relative_to(root)}" in base.paths


def members_of(folders: Sequence[Path], destination: Path) -> dict[str, FleetMember]:
    """Return the members in the workspaces `folders`, by name; raises UserError as FleetMember.of.

    It is also raised if two have the same name.
    """
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) < len(names):
        raise UserError(f"{', '.join(names)}: expected workspaces of different names")
    return {
        name: FleetMember.of(each, destination) for name, each in zip(names, folders, strict=True)
    }


def slim_together(
    fleet: Mapping[str, FleetMember], destination: Path, on_step: OnStep = lambda words: None
) -> dict[str, Path]:
    """Make the images of `fleet` slim again, so that they share a layer.

    Returns the archives, `destination`/NAME/slim.tar. If their fallback is a store,
    `destination`/store has the removed pieces of all. The members' folders do not change. Raises
    UserError if two were made with different options, if their images have no common layer, and as
    Debloating does.
    """
    names, members = list(fleet), list(fleet.values())
    options = members[0].stage.debloat
    for member in members:
        if member.stage.debloat != options:
            raise UserError(
                f"{member.folder}: was made slim with other options than {members[0].folder}; make"
                " both slim with the same ones"
            )
    base = CommonBase([member.target.unpacked.image for member in members])
    places = [destination / name for name in names]
    with ExitStack() as stack:
        every = [
            stack.enter_context(_debloating(member, members, base, place))
            for member, place in zip(members, places, strict=True)
        ]
        on_step("choosing what all of them keep of the base")
        _agree(every, base)
        for name, member, debloating, place in zip(names, members, every, places, strict=True):
            on_step(f"{name}: libraries and files")
            debloating.write()
            member.target.build_file_system(
                place, options.share, Source.of(options), place / "env", again=False
            )
    on_step("writing the images")
    slim = [
        SlimFileSystem(
            member.target.unpacked,
            place / "env",
            frozenset(Manifest.read(place / "manifest.json").files),
        )
        for member, place in zip(members, places, strict=True)
    ]
    archives = [place / SLIM_IMAGE for place in places]
    write_sharing(base, slim, archives, Compression(options.compression))
    return dict(zip(names, archives, strict=True))


def _debloating(
    member: FleetMember, members: Sequence[FleetMember], base: CommonBase, place: Path
) -> Debloating:
    """Return the Debloating of `member` at `place`, with the use of the base by all `members`."""
    member.target.check_place(place / "env")
    usages = list(member.usages)
    for number, other in enumerate(members):
        if other is not member:
            for order, usage in enumerate(other.usages_for(member, base)):
                usages.append(place / "usages" / f"{number}-{order}.json")
                usage.write(usages[-1])
    debloating = Debloating(member.stage, usages, place)
    for other in members:
        debloating.keep(
            [
                miss
                for miss in other.settling.missed
                if other is member or f"/{miss.library}" in base.paths
            ]
        )
    return debloating


def _agree(every: Sequence[Debloating], base: CommonBase) -> None:
    """Let each keep what any keeps of the base, and what that depends on in each."""
    while True:
        kept = [debloating.stays() & base.paths for debloating in every]
        union = frozenset().union(*kept)
        if all(each == union for each in kept):
            return
        for debloating, each in zip(every, kept, strict=True):
            if each != union:
                debloating.keep_files(path.removeprefix("/") for path in union - each)
