"""How environments are debloated, their shared libraries and files: one YAML in `conf/debloat/`."""

import re
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
Start = StrEnum("Start", "USUAL SNAPSHOT")
Group = StrEnum(
    "Group",
    "OPTIONS LOCALES TIME_ZONES TERMINALS CERTIFICATES USERS SHELL PACKAGE_MANAGERS DOCUMENTATION"
    " LICENCES",
)

_ADDRESS = re.compile(r"/|unix:/.|http://[^/:]+(:\d+)?(/|$)")


@dataclass(config=CHECKED)
class Debloat:
    """How code and files that no profiled workload used are removed."""

    name: Name = about("The file's stem.")
    mode: Mode = about(
        "What becomes of unused bytes: `zero` overwrites them, `punch` also makes holes of whole "
        "blocks, `compact` takes their pages out of the file.",
        default=Mode.COMPACT,
    )
    symbols: Symbols = about(
        "What becomes of symbol and debugging tables.",
        default=Symbols.STRIP,
    )
    gpu: Gpu = about(
        "Which GPU code stays: what traced runs `used`, what the GPU's `architecture` can load, "
        "or all. `used` keeps all if kernels were not traced, none if no run asked for a GPU. "
        "With a fallback and without mode `compact` it means `architecture`.",
        default=Gpu.USED,
    )
    kernels: Kernels = about(
        "What becomes of unused kernels beside used ones in a module. `prune` zeroes them and "
        "compresses the module again. They cannot come back, so it needs `fallback: none`.",
        default=Kernels.KEEP,
    )
    start_up_only: StartUpOnly = about(
        "What becomes of libraries of which only start-up code ran. `remove` removes all code and "
        "data that only it reads: the library is loaded, but not started.",
        default=StartUpOnly.KEEP,
    )
    minimum_hole_bytes: Annotated[Whole, Field(ge=4096, le=1 << 29)] = about(
        "Shorter runs of unused bytes stay: a hole costs two memory mappings, and time at each "
        "start. It is doubled until a target's libraries take at most half of the 65,530 mappings.",
        default=32768,
        unit="bytes",
    )
    share: Share = about(
        "How the slim environment takes over unchanged files. `reflink` shares blocks, or else "
        "copies. `auto` shares blocks, or else hard-links compiled code and copies the rest.",
        default=Share.AUTO,
    )
    remove: Remove = about(
        "How much to remove: unused `code` of loaded libraries, also all code of unloaded "
        "`libraries`, or also unused `files`. They are files, links and folders that no run used "
        "and [no used file depends on](../methods/file-closure.md). With a fallback, mode `punch` "
        "takes `code` only.",
        default=Remove.FILES,
    )
    files: Old | None = about(
        "Old: use `remove: files`. Read for one version.",
        default=None,
    )
    unloaded: Old | None = about(
        "Old: use `remove: libraries`. Read for one version.",
        default=None,
    )
    keep: list[Group] = about(
        "[Groups of files](../methods/file-closure.md#groups) that stay though unused, with what "
        "they need. `options` is all of the programs' packages.",
        factory=list,
    )
    keep_paths: list[Text] = about(
        "Patterns of paths from the environment's top that stay though unused, such as `/app/**`, "
        "with all below a folder. `*` and `?` match within a name, `**` any folders.",
        factory=list,
    )
    keep_libraries: list[Text] = about(
        "Patterns like `keep_paths` of libraries that stay byte for byte and untraced, because "
        "they check their own code or file. An unloaded one still goes with unused files.",
        factory=list,
        option="keep-library",
    )
    package_database: PackageDatabase = about(
        "What becomes of the [databases of "
        "packages](../methods/file-closure.md#package-databases) that scanners read. `keep` lists "
        "packages of which a file stays. `drop` blinds scanners: they find no vulnerabilities.",
        default=PackageDatabase.KEEP,
    )
    compression: Compression = about(
        "Compression of a slim image's layer. All engines read `gzip`; `zstd` is smaller and "
        "faster, and needs Docker 23 or newer.",
        default=Compression.GZIP,
    )
    fallback: Fallback = about(
        "Where a program finds removed code and files: in the `original` environment, `packed` "
        "(compressed) in the slim one, in a `store`, or nowhere. The original must stay in place. "
        "Images need `packed` or `store`. With `none` a program that needs removed code crashes. "
        "Mode `punch` has no fallback.",
        default=Fallback.ORIGINAL,
    )
    store: Text | None = about(
        "The folder of the store: the original libraries, compressed; environments can share it. "
        "`fallback: store` needs it.",
        default=None,
    )
    store_address: Text | None = about(
        "How programs reach the store: another path, http:// of a file server, or unix: and a "
        "server's socket. By default the folder's path.",
        default=None,
    )
    start: Start = about(
        "How the program starts: as `usual`, or from a "
        "[`snapshot`](../how-to/start-from-a-snapshot.md) of it after its imports, on this "
        "machine. Images start as usual.",
        default=Start.USUAL,
        verify_only=True,
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
        if self.store_address and not _ADDRESS.match(self.store_address):
            expected = "an absolute path, http://HOST[:PORT][/PATH], or unix:/PATH of a socket"
            raise InvalidValueError("store_address", self.store_address, expected)
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
