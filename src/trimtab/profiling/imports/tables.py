"""Make the tables and the document of what was found about imports."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence

import pandas as pd

from trimtab.errors import escape_control_characters
from trimtab.profiling.imports.attribution import ImportedModule, ImportsOfRun
from trimtab.records.imports.imports import Imports, PackageImports, PythonProcess
from trimtab.records.imports.tables import IMPORTED_MODULES, IMPORTED_NAMES


def package_of(module: str) -> str:
    """Return the first part of a module's name."""
    return module.partition(".")[0]


def modules_table(run: ImportsOfRun) -> pd.DataFrame:
    """Return a row for each module, as IMPORTED_MODULES says."""
    rows = [
        (
            _plain(module.name), _plain(package_of(module.name)), module.kind, _plain(module.file),
            module.imports, module.own_s, module.total_s, module.own_bytes, module.total_bytes,
            module.functions_ran, module.use, json.dumps(list(module.importers)),
        )
        for module in run.modules
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=IMPORTED_MODULES.names)
    return frame.astype({"functions_ran": "Int64"})


def names_table(run: ImportsOfRun) -> pd.DataFrame:
    """Return a row for each name that a module takes, as IMPORTED_NAMES says."""
    rows = [
        (*map(_plain, (taken.module, taken.name, taken.importer, taken.alias)), taken.read)
        for taken in run.names
    ]
    return pd.DataFrame(rows, columns=IMPORTED_NAMES.names)


def document_of(run: ImportsOfRun, command: Sequence[str], exit_code: int) -> Imports:
    """Return the document of a run of `command`."""
    modules = run.modules
    return Imports(
        command=list(command),
        exit_code=exit_code,
        processes=[
            PythonProcess(
                list(process.command), process.version, process.method, len(process.imports),
                process.has_end,
            )
            for process in run.processes
        ],
        modules=len(modules),
        imports_s=sum(module.own_s for module in modules),
        unused_s=sum(module.unused_s for module in modules),
        unread_s=sum(module.unused_s for module in modules if module.use == "none"),
        unknown_s=sum(module.own_s for module in modules if module.use == "unknown"),
        growth_bytes=sum(module.own_bytes for module in modules),
        packages=sorted(_packages(modules), key=lambda package: -package.own_s),
    )  # fmt: skip


def _packages(modules: Iterable[ImportedModule]) -> Iterable[PackageImports]:
    by_package: dict[str, list[ImportedModule]] = defaultdict(list)
    for module in modules:
        by_package[package_of(module.name)].append(module)
    for name, members in by_package.items():
        yield PackageImports(
            _plain(name),
            len(members),
            sum(module.use in ("read", "none") for module in members),
            sum(module.own_s for module in members),
            sum(module.unused_s for module in members),
            sum(module.own_bytes for module in members),
        )


def _plain(name: str) -> str:
    """Return a name of the program without what UTF-8 or a terminal cannot show."""
    return escape_control_characters(name)
