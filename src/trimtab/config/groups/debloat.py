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
        "What becomes of unused bytes: `zero` overwrites them, `punch` also makes holes, `compact` "
        "takes their pages out of the file. With `zero` the file keeps its size. The holes of "
        "`punch` are whole blocks of the file system.",
        default=Mode.COMPACT,
    )
    symbols: Symbols = about(
        "What becomes of symbol and debugging tables, which no program needs at run time.",
        default=Symbols.STRIP,
    )
    gpu: Gpu = about(
        "Which GPU code stays: what the traced runs `used`, what the GPU's `architecture` can "
        "load, or all. With `used`, all stays where kernels were not traced, and none where the "
        "runs asked for no GPU. In modes other than `compact`, `used` means `architecture` unless "
        "`fallback` is `none`: GPU code could not come back.",
        default=Gpu.USED,
    )
    kernels: Kernels = about(
        "What becomes of unused kernels beside used ones in the same module. `prune` overwrites "
        "their code with zeros and compresses the module again. They cannot come back, so `prune` "
        "needs `fallback: none`.",
        default=Kernels.KEEP,
    )
    start_up_only: StartUpOnly = about(
        "What becomes of libraries of which only start-up code ran. `keep` keeps that code. "
        "`remove` removes all code and what only it reads: the library is loaded, but not started.",
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
        "How the slim environment takes over unchanged files. `reflink` shares blocks; where the "
        "file system cannot, it copies. `auto` does the same, but there makes compiled code one "
        "file with the original's, by a hard link. `copy` always copies.",
        default=Share.AUTO,
    )
    remove: Remove = about(
        "How much to remove: unused `code` of loaded libraries, also all code of unloaded "
        "`libraries`, or also unused `files`. Files are files, links and folders that no run used "
        "and [no used file depends on](../methods/file-closure.md); libraries among them go whole. "
        "What is missed comes back from the fallback. Mode `punch` brings nothing back, and takes "
        "`code` only, unless `fallback` is `none`.",
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
        "[Groups of files](../methods/file-closure.md#groups) that stay though no run used them. "
        "What they need stays too. Groups are what other `options` of the programs may ask for "
        "(all of their packages), `locales`, `time_zones`, `terminals`, `certificates`, other "
        "`users`, an interactive `shell`, `package_managers`, `documentation`, `licences`.",
        factory=list,
    )
    keep_paths: list[Text] = about(
        "Patterns of paths that stay though no run used them, such as `/app/**`. All below a "
        "folder stays with it. `*` and `?` are within a name, `**` is any number of folders. "
        "Patterns begin at the top of the environment, as programs inside see it.",
        factory=list,
    )
    keep_libraries: list[Text] = about(
        "Patterns of paths of libraries that stay byte for byte and are not traced. They are "
        "spelled as in `keep_paths`. Libraries that check their own code or file need it. One that "
        "no run loaded goes with other files nevertheless.",
        factory=list,
        option="keep-library",
    )
    package_database: PackageDatabase = about(
        "What becomes of the [databases of packages](../methods/file-closure.md#package-databases) "
        "that scanners read. `keep` keeps them for packages of which a file stays. `drop` blinds "
        "scanners: they find no packages, and no vulnerabilities, whatever is there.",
        default=PackageDatabase.KEEP,
    )
    compression: Compression = about(
        "How the layer of a slim image is compressed. All engines read `gzip`. `zstd` is smaller "
        "and unpacks faster; Docker reads it from version 23 on.",
        default=Compression.GZIP,
    )
    fallback: Fallback = about(
        "Where a program finds removed code and files: in the `original` environment, `packed` in "
        "the slim one, in a `store`, or nowhere (`none`). The original has to stay where it is. "
        "What is packed is compressed; images need it or a store. A store is a folder that many "
        "environments share. With `none` a program that needs removed code crashes. With mode "
        "`punch` there is no fallback.",
        default=Fallback.ORIGINAL,
    )
    store: Text | None = about(
        "The folder of the store, which gets the original libraries, compressed. `fallback: store` "
        "needs it.",
        default=None,
    )
    store_address: Text | None = about(
        "How programs reach the store where they run: another path, or an http:// address of a "
        "server of plain files. By default it is the folder's own path.",
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
