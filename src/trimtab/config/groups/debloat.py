"""How environments are debloated, their shared libraries and files: one YAML in `conf/debloat/`."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass
from pydantic_core import ArgsKwargs

from trimtab.config.fields import CHECKED, InvalidValueError, Name, Text, Whole, about

# The fields of Debloat say what each choice means.
Mode = StrEnum("Mode", "ZERO PUNCH COMPACT")
Symbols = StrEnum("Symbols", "STRIP KEEP")
Gpu = StrEnum("Gpu", "USED ARCHITECTURE KEEP")
Kernels = StrEnum("Kernels", "KEEP PRUNE")
StartUpOnly = StrEnum("StartUpOnly", "KEEP REMOVE")
Share = StrEnum("Share", "AUTO REFLINK COPY")
Remove = StrEnum("Remove", "CODE LIBRARIES FILES")
Old = StrEnum("Old", "KEEP REMOVE")
Fallback = StrEnum("Fallback", "ORIGINAL PACKED STORE NONE")
PackageDatabase = StrEnum("PackageDatabase", "KEEP DROP")
Compression = StrEnum("Compression", "GZIP ZSTD")
Group = StrEnum(
    "Group",
    "OPTIONS LOCALES TIME_ZONES TERMINALS CERTIFICATES USERS SHELL PACKAGE_MANAGERS DOCUMENTATION"
    " LICENCES",
)


@dataclass(config=CHECKED)
class Debloat:
    """What becomes of the bytes that no profiled workload used."""

    name: Name = about("Name of the set of options: the stem of its file.")
    mode: Mode = about(
        "`zero` (unused bytes are overwritten; the file keeps its size), `punch` (as well, whole "
        "blocks of them become holes of the file system) or `compact` (their pages leave the "
        "file).",
        default=Mode.COMPACT,
    )
    symbols: Symbols = about(
        "`strip` or `keep` the symbol and debugging tables that no program needs at run time.",
        default=Symbols.STRIP,
    )
    gpu: Gpu = about(
        "What stays of GPU code: `used` (what the traced runs loaded: none where they asked for no "
        "GPU, all where their kernels were not traced), `architecture` (what a GPU of the hardware "
        "can load, used or not; so it is with `used` too in modes other than `compact`, in which "
        "GPU code could not come back, unless `fallback` is `none`) or `keep` (all).",
        default=Gpu.USED,
    )
    kernels: Kernels = about(
        "Unused kernels beside used ones in the same module: `keep` or `prune` (their code "
        "becomes zeros, and the module is compressed again; as they cannot come back, `prune` is "
        "for `fallback: none` only).",
        default=Kernels.KEEP,
    )
    start_up_only: StartUpOnly = about(
        "Libraries of which nothing but start-up code ran: `keep` that code or `remove` all code "
        "and what only it reads (the library is loaded, but not started).",
        default=StartUpOnly.KEEP,
    )
    minimum_hole_bytes: Annotated[Whole, Field(ge=4096, le=1 << 29)] = about(
        "Shorter runs of unused bytes stay in the file: every hole costs two memory mappings. It "
        "is doubled until all libraries of a target together take no more than half of the 65,530 "
        "that a process may have.",
        default=16384,
        unit="bytes",
    )
    share: Share = about(
        "How the slim environment takes over unchanged files: `reflink` (shared blocks, a copy "
        "where the file system has none), `auto` (likewise, but there compiled code is one file "
        "with the original's, by a hard link) or `copy`.",
        default=Share.AUTO,
    )
    remove: Remove = about(
        "How far to go: `code` (of libraries that a run loaded, what no run used), `libraries` (as "
        "well all code of libraries that no run loaded) or `files` (as well files, links and "
        "folders that no run used and [no used one depends on](../methods/file-closure.md); "
        "libraries among them go whole). What is missed comes back from the fallback. Mode `punch` "
        "brings nothing back, and takes `code` only, unless `fallback` is `none`.",
        default=Remove.FILES,
    )
    files: Old | None = about(
        "Old: `remove: files` has taken the place of `files: remove`. Read for one version.",
        default=None,
    )
    unloaded: Old | None = about(
        "Old: `remove: libraries` has taken the place of `unloaded: remove`. Read for one version.",
        default=None,
    )
    keep: list[Group] = about(
        "[Groups of files](../methods/file-closure.md#groups) that stay though no run used them, "
        "with what they need: what other `options` of the programs may ask for (all of their "
        "packages), `locales`, `time_zones`, `terminals`, `certificates`, other `users`, an "
        "interactive `shell`, `package_managers`, `documentation`, `licences`.",
        factory=list,
    )
    keep_paths: list[Text] = about(
        "Patterns of paths that stay as well, with all that is below folders among them: `*` and "
        "`?` are within a name, `**` any number of folders. They begin at the top of the "
        "environment, as programs inside see it.",
        factory=list,
    )
    keep_libraries: list[Text] = about(
        "Patterns of the paths of libraries, as `keep_paths` has them, that are left as they are, "
        "byte for byte, and not traced: such as check their own code or file. One that no run "
        "loaded goes with other files nevertheless.",
        factory=list,
    )
    package_database: PackageDatabase = about(
        "What [scanners read of packages](../methods/file-closure.md#package-databases): `keep` it "
        "for packages of which a file stays, or `drop` it, which blinds scanners: they find no "
        "packages, and no vulnerabilities whatever is there.",
        default=PackageDatabase.KEEP,
    )
    compression: Compression = about(
        "How the layer of a slim image is compressed: `gzip`, which all engines read, or `zstd`, "
        "which is smaller and unpacks faster (Docker reads it from version 23 on).",
        default=Compression.GZIP,
    )
    fallback: Fallback = about(
        "Where a program finds what was removed and is missed, so that it goes on as in the "
        "original: `original` (in the original environment, which has to stay where it is), "
        "`packed` (in the slim one, compressed, as images need it), `store` (in a folder that many "
        "environments share) or `none` (it crashes). With mode `punch` there is none.",
        default=Fallback.ORIGINAL,
    )
    store: Text | None = about(
        "The folder to which `fallback: store` writes the original libraries, compressed.",
        default=None,
    )
    store_address: Text | None = about(
        "How programs reach that folder where they run: another path, or an http:// address of a "
        "server of plain files. By default the folder's own path.",
        default=None,
    )

    @model_validator(mode="before")
    @classmethod
    def _says_once_how_far(cls, given: Any) -> Any:
        values = given.kwargs if isinstance(given, ArgsKwargs) else given
        if not isinstance(values, Mapping) or values.get("remove") is None:
            return given
        remove, old = values["remove"], old_keys(values)
        if old and remove != remove_of(**old):
            key = next(iter(old))
            expected = f"nothing beside remove: {remove}; delete `{key}`"
            raise InvalidValueError(key, str(old[key]), expected)
        return given

    @model_validator(mode="after")
    def _reads_old_keys(self) -> Self:
        if self.files is not None or self.unloaded is not None:
            self.remove = remove_of(self.files, self.unloaded)
            self.files = self.unloaded = None
        return self

    @model_validator(mode="after")
    def _can_fall_back(self) -> Self:
        if (self.fallback == Fallback.STORE) != (self.store is not None):
            expected = "a folder with fallback: store, and none with another"
            raise InvalidValueError("store", self.store, expected)
        if self.kernels == Kernels.PRUNE and self.fallback != Fallback.NONE:
            expected = "keep, or fallback: none, as a kernel that is pruned cannot come back"
            raise InvalidValueError("kernels", self.kernels.value, expected)
        return self

    @model_validator(mode="after")
    def _can_bring_back(self) -> Self:
        if (
            self.remove != Remove.CODE
            and self.mode == Mode.PUNCH
            and self.fallback != Fallback.NONE
        ):
            expected = "code with mode punch, which brings nothing back"
            raise InvalidValueError("remove", self.remove.value, expected)
        if self.remove == Remove.LIBRARIES and self.fallback == Fallback.NONE:
            expected = "code or files with fallback none, which brings no code back"
            raise InvalidValueError("remove", self.remove.value, expected)
        for key in ("keep", "keep_paths"):
            if self.remove != Remove.FILES and (given := getattr(self, key)):
                expected = f"none with remove: {self.remove.value}, as all files stay"
                raise InvalidValueError(key, given, expected)
        return self

    @property
    def removes_unloaded(self) -> bool:
        """Whether libraries that stay, and that no run loaded, lose their code."""
        return self.remove != Remove.CODE and self.fallback != Fallback.NONE


def old_keys(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the old keys among `values`, of a YAML or of options, that say how far to go."""
    return {key: values[key] for key in ("files", "unloaded") if values.get(key) is not None}


def remove_of(files: str | None = None, unloaded: str | None = None) -> Remove:
    """Return what old keys, or the options of these names, mean."""
    if files == Old.REMOVE:
        return Remove.FILES
    return Remove.LIBRARIES if unloaded == Old.REMOVE else Remove.CODE
