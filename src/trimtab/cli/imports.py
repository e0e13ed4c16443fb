"""`trimtab imports`: what the imports of a Python program cost, and what of them ran."""

import sys
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.table import Column, Table
from rich.text import Text

from trimtab.cli.output.console import console
from trimtab.cli.program_options import Command
from trimtab.cli.workspace_lock import alone_in
from trimtab.errors import UserError, escape_control_characters
from trimtab.extras import extra_of
from trimtab.profiling.imports.attribution import ImportedModule, imports_of
from trimtab.profiling.imports.reading import read_records
from trimtab.profiling.imports.recording import recorded
from trimtab.profiling.imports.tables import document_of, modules_table, names_table
from trimtab.records.imports.imports import Imports
from trimtab.records.imports.tables import IMPORTED_MODULES, IMPORTED_NAMES
from trimtab.records.parquet.files import write_table

_OTHER_COLUMNS = 46  # letters of a row of modules, besides the name
_MB = 1e6
_WORDS = {"ran": "yes", "read": "names read", "none": "no", "unknown": "unknown"}


@alone_in("output")
def imports(
    command: Command,
    output: Annotated[
        Path, typer.Option(help="Folder of the tables, imports.json and imports.svg.")
    ] = Path("trimtab_imports"),
    top: Annotated[int, typer.Option(min=1, help="Rows of each printed table.")] = 15,
) -> None:
    """Run a Python program once, and tell what its imports cost and which of them nothing used.

    COMMAND may use any Python from 3.8 on. Its output, its signals and its exit code are its own;
    the tables are on standard error.
    """
    with recorded(command, sys.stderr.fileno() if console.as_json else None) as run:
        processes = read_records(run.records)
    if not processes:
        raise UserError(
            f"{escape_control_characters(command[0])}: no Python wrote a record (exit code"
            f" {run.exit_code}); expected a program of Python 3.8 or newer, not started with -I,"
            " -E or -S"
        )
    found = imports_of(processes)
    document = document_of(found, command, run.exit_code)
    table = modules_table(found)
    output.mkdir(parents=True, exist_ok=True)
    write_table(output / "modules.parquet", IMPORTED_MODULES, table)
    write_table(output / "names.parquet", IMPORTED_NAMES, names_table(found))
    figure = _figure(table, output)
    document.write(output / "imports.json")
    console.notes.print(_by_package(document, top))
    console.notes.print(_costliest(found.modules, top))
    for line in _remarks(document):
        console.notes.print(line, style="yellow", soft_wrap=True)
    console.notes.print(Text(f"written: {output / 'imports.json'}, its tables{figure}"))
    console.notes.print(headline(document), soft_wrap=True)
    console.result({**document.to_json(), "folder": output})
    if run.exit_code:
        raise typer.Exit(run.exit_code if run.exit_code > 0 else 128 - run.exit_code)


def _figure(table: pd.DataFrame, output: Path) -> str:
    """Write the figure into `output`, and say so; without the packages for it there is none."""
    try:
        from trimtab.evaluation.imports.icicle import icicle
    except ModuleNotFoundError as error:
        if extra_of(error) is None:
            raise
        return f"; no imports.svg, as {error.name} is not installed"
    return f", {icicle(table).write_svg(output)}"


def headline(document: Imports) -> str:
    """Return the sentence that says how much of the imports nothing used."""
    return (
        f"{document.unused_s:.2f} of {document.imports_s:.2f} s of imports went to modules of which"
        f" no function ran; {document.unread_s:.2f} s to modules of which no name was read either"
    )


def _by_package(document: Imports, top: int) -> Table:
    table = Table("package", "modules", "of which nothing ran", "own, s", "nothing ran, s", "MB")
    for package in document.packages[:top]:
        table.add_row(
            package.name, f"{package.modules:,}", f"{package.unused_modules:,}",
            f"{package.own_s:.3f}", f"{package.unused_s:.3f}",
            f"{package.own_growth_bytes / _MB:,.1f}",
        )  # fmt: skip
    return table


def _costliest(modules: list[ImportedModule], top: int) -> Table:
    table = Table(Column("module", no_wrap=True), "own, s", "in all, s", "MB", "ran")
    most = max(1, console.notes.width - _OTHER_COLUMNS)
    for module in modules[:top]:
        said = _WORDS[module.use] if module.kind == "python" else module.kind.replace("_", "-")
        name = escape_control_characters(module.name)
        name = name if len(name) <= most else "…" + name[len(name) + 1 - most :]
        table.add_row(
            Text(name), f"{module.own_s:.3f}", f"{module.total_s:.3f}",
            f"{module.own_bytes / _MB:,.1f}", said,
        )  # fmt: skip
    return table


def _remarks(document: Imports) -> list[str]:
    remarks = []
    if killed := sum(not process.complete for process in document.processes):
        processes = "1 process was" if killed == 1 else f"{killed:,} processes were"
        remarks.append(f"{processes} killed: what ran there is unknown")
    if any(process.method == "profile" for process in document.processes):
        remarks.append("this Python has no cheap record of calls: its times are too long")
    return remarks
