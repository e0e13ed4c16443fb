"""The options of `trimtab debloat` and of its single steps: what becomes of libraries and files."""

from typing import Annotated

import typer

from trimtab.config.groups.debloat import (
    Compression,
    Fallback,
    Gpu,
    Group,
    Kernels,
    Mode,
    Old,
    PackageDatabase,
    Remove,
    Share,
    StartUpOnly,
    Symbols,
)

ModeOption = Annotated[Mode, typer.Option(help="What becomes of unused bytes.")]
SymbolsOption = Annotated[Symbols, typer.Option(help="What becomes of symbol tables.")]
GpuOption = Annotated[
    Gpu, typer.Option(help="GPU code that stays; architecture: what a GPU can load.")
]
KernelsOption = Annotated[
    Kernels,
    typer.Option(
        help="What becomes of unused kernels beside used ones in a module; prune only with"
        " --fallback none."
    ),
]
StartUpOnlyOption = Annotated[
    StartUpOnly,
    typer.Option(
        help="Libraries of which nothing but start-up code ran: keep that code, or remove all code."
    ),
]
For = Annotated[
    list[str] | None,
    typer.Option("--for", help="Compute capability to keep GPU code for, as 9.0; by default this"
                 " machine's GPUs."),
]  # fmt: skip
ShareOption = Annotated[Share, typer.Option(help="How unchanged files are taken over.")]
FallbackOption = Annotated[
    Fallback,
    typer.Option(
        help="Where the code of removed functions is found when one is called: original (in the"
        " original environment), packed (in the slim one), store (in --store) or none."
    ),
]
StoreOption = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="With --fallback store: where the original libraries are kept, compressed.",
    ),
]
StoreAddressOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="How programs reach that folder where they run: another path, or http://...",
    ),
]
RemoveOption = Annotated[
    Remove | None,
    typer.Option(
        help="How far to go: unused code of loaded libraries, all code of libraries that no run"
        " loaded as well, or also files that no run used. What is missed comes back."
        " [default: files]",
    ),
]
OldFilesOption = Annotated[Old | None, typer.Option("--files", hidden=True)]
OldUnloadedOption = Annotated[Old | None, typer.Option("--unloaded", hidden=True)]
KeepOption = Annotated[
    list[Group] | None,
    typer.Option(
        "--keep",
        help="A group of files that stays though no run used it; once for each.",
    ),
]
KeepPathsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--keep-paths",
        metavar="PATTERN",
        help="Paths that stay as well, such as '/app/**'; once for each pattern.",
    ),
]
KeepLibraryOption = Annotated[
    list[str] | None,
    typer.Option(
        "--keep-library",
        metavar="PATTERN",
        help="Libraries that are left as they are and not traced, such as those that check"
        " themselves; once for each pattern of paths.",
    ),
]
PackageDatabaseOption = Annotated[
    PackageDatabase,
    typer.Option(
        help="What scanners read of packages: keep it where a file of the package stays, or drop"
        " it, so that they find no packages and no vulnerabilities."
    ),
]
CompressionOption = Annotated[
    Compression,
    typer.Option(
        help="Of the slim image's layer: gzip, which all engines read, or zstd, which is smaller"
        " (Docker from version 23 on)."
    ),
]
SettleOption = Annotated[
    int,
    typer.Option(
        min=0,
        help="Runs in a row in which the slim environment has to miss nothing; what it misses is"
        " kept in the next one.",
    ),
]
Runs = Annotated[
    int,
    typer.Option("--runs", min=1, help="Traced runs; all that any of them used is kept."),
]
