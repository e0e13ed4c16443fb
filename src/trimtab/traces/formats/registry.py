"""The formats that traces can be read from, by name."""

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_type_hints

import pandas as pd

from trimtab.errors import UserError
from trimtab.plugins import modules_in
from trimtab.traces import formats
from trimtab.traces.arrival_order import sorted_by_arrival
from trimtab.traces.jobs import as_trace, usable
from trimtab.traces.room import NodeSize, fitting

# By the module whose `read` yields what it finds as `jobs_frame` has it, in any order.
READERS: dict[str, Callable[..., Iterator[pd.DataFrame]]] = {
    module.__name__.rpartition(".")[2]: module.read
    for module in modules_in(formats.__name__, formats.__path__)
    if hasattr(module, "read")
}
_IN_ORDER = {"azure_functions_2019"}  # already sorted by arrival, and far beyond memory


def read_format(
    name: str,
    files: Mapping[str, Sequence[str]],
    options: Mapping[str, Any],
    skipped: Counter[str],
    nodes: Sequence[NodeSize] = (),
) -> Iterator[pd.DataFrame]:
    """Yield a recorded trace as chunks of tables.TRACE, and count skipped rows in `skipped`.

    `files` are the paths of each table of the format, `options` the format's further values; both
    by the names of the reader's parameters. Jobs that fit none of `nodes` are skipped, if there are
    any nodes. Raises UserError for a missing or unknown name, and as the reader does.
    """
    reader = READERS[name]
    hints = get_type_hints(reader)
    expected = [key for key in inspect.signature(reader).parameters if key != "skipped"]
    tables = [key for key in expected if hints[key] in (Path, Sequence[Path])]
    _check(name, "files", files, tables)
    _check(name, "options", options, [key for key in expected if key not in tables])
    arguments: dict[str, Any] = dict(options)
    for key, paths in files.items():
        if hints[key] is Path and len(paths) != 1:
            raise UserError(f"trace of the format {name}: files: {key}: one file, {paths} given")
        arguments[key] = Path(paths[0]) if hints[key] is Path else [Path(path) for path in paths]
    jobs = usable(reader(skipped=skipped, **arguments), skipped)
    if nodes:
        jobs = fitting(jobs, nodes, skipped)
    return as_trace(jobs if name in _IN_ORDER else sorted_by_arrival(jobs))


def _check(name: str, what: str, given: Mapping[str, Any], expected: Sequence[str]) -> None:
    if set(given) != set(expected):
        keys = ", ".join(expected) or "none"
        found = ", ".join(given) or "none"
        raise UserError(f"trace of the format {name}: {what}: expected {keys}; {found} given")
