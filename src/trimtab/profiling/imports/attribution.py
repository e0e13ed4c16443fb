"""Say of each imported module what it cost, and whether anything of it ran or was read."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from trimtab.profiling.imports.reading import ImportEvent, ProcessRecord
from trimtab.profiling.imports.taken_names import (
    Source,
    TakenName,
    source_of,
    taken_names,
    words_besides_imports,
)

_MAIN = "__main__"
_OF_PYTHON = {"sitecustomize", "usercustomize"}  # Python itself looks for them at each start


@dataclass
class ImportedModule:
    """A module, over all processes that imported it.

    `own_s` and `own_bytes` are without what it imported itself. `functions_ran` is the number of
    its functions that ran after its own import; None if that is unknown. `use` is ran, read, none
    or unknown. `unused_s` is `own_s` in the processes in which none of its functions ran, and
    `unread_s` the part of it in which no name of it was read either.
    """

    name: str
    kind: str
    file: str
    imports: int = 0
    own_s: float = 0.0
    total_s: float = 0.0
    own_bytes: int = 0
    total_bytes: int = 0
    functions_ran: int | None = None
    use: str = "unknown"
    unused_s: float = 0.0
    importers: dict[str, None] = field(default_factory=dict)  # in order, the first one first


@dataclass(frozen=True)
class ImportsOfRun:
    """All modules of a run, the costliest first; who took which names of them; its processes."""

    modules: list[ImportedModule]
    names: list[TakenName]
    processes: Sequence[ProcessRecord]


def imports_of(processes: Sequence[ProcessRecord]) -> ImportsOfRun:
    """Return what the imports of all processes of a run cost, by module."""
    modules: dict[str, ImportedModule] = {}
    spent_s: dict[tuple[str, str], float] = defaultdict(float)  # by family and module
    family_of = _families(processes)
    for process in processes:
        events = [event for event in process.imports if event.name not in _OF_PYTHON]
        for event, own_s, own_bytes in _own(events):
            module = modules.setdefault(event.name, ImportedModule(event.name, "", ""))
            _add(module, event, own_s, own_bytes)
            spent_s[family_of[process.name], event.name] += own_s
    ran: dict[str, dict[str, int]] = defaultdict(dict)  # by family, then by file
    ended = {family_of[process.name]: process.has_end for process in reversed(processes)}
    read: dict[str, set[str]] = defaultdict(set)  # names, by file
    for process in processes:
        places = ran[family_of[process.name]]
        for place, number in process.functions.items():
            places[place] = max(places.get(place, 0), number)
            read[place].update(process.names[place])
    for (family, name), own_s in spent_s.items():
        module = modules[name]
        if module.kind == "python" and ended[family]:
            number = _functions(ran[family], module)
            module.functions_ran = max(module.functions_ran or 0, number)
            module.unused_s += 0.0 if number else own_s
    names = taken_names(_sources(modules.values(), processes, read), modules.keys())
    _judge(modules, names)
    ordered = sorted(modules.values(), key=lambda module: -module.own_s)
    return ImportsOfRun(ordered, names, processes)


def _own(events: Iterable[ImportEvent]) -> Iterator[tuple[ImportEvent, float, int]]:
    """Yield each import with its time and memory without those of the imports within it."""
    within_s: dict[int, float] = defaultdict(float)
    within_bytes: dict[int, int] = defaultdict(int)
    for event in events:  # those within it end before it does
        yield (
            event,
            max(0.0, event.total_s - within_s[event.number]),
            event.growth_bytes - within_bytes[event.number],
        )
        within_s[event.above] += event.total_s
        within_bytes[event.above] += event.growth_bytes


def _add(module: ImportedModule, event: ImportEvent, own_s: float, own_bytes: int) -> None:
    if module.kind in ("", "failed"):
        module.kind, module.file = event.kind, event.file
    module.imports += 1
    module.own_s += own_s
    module.total_s += event.total_s
    module.own_bytes += own_bytes
    module.total_bytes += event.growth_bytes
    if event.importer:
        module.importers[event.importer] = None


def _families(processes: Sequence[ProcessRecord]) -> dict[str, str]:
    """Return for each process the one that it was forked from, first of all.

    Processes that were forked share what was imported before.
    """
    first: dict[str, str] = {}
    for process in processes:  # in the order of their beginning
        first[process.name] = first.get(process.forked_from, process.name)
    return first


def _functions(places: Mapping[str, int], module: ImportedModule) -> int:
    return places.get(module.file, 0) + places.get(f"module {module.name}", 0)


def _sources(
    modules: Iterable[ImportedModule],
    processes: Sequence[ProcessRecord],
    read: Mapping[str, set[str]],
) -> dict[str, Source]:
    sources = {}
    for module in modules:
        if module.kind == "python" and (text := source_of(module.file)):
            is_package = module.file.endswith("/__init__.py")
            package = module.name if is_package else module.name.rpartition(".")[0]
            names = read.get(module.file, set()) | read.get(f"module {module.name}", set())
            sources[module.name] = Source(text, package, names)
    mains = [_text_of_main(process) for process in processes]
    text = "\n".join(dict.fromkeys(filter(None, mains)))
    # Nothing imports the main program, so all that it reads counts.
    return {**sources, _MAIN: Source(text, "", words_besides_imports(text))}


def _text_of_main(process: ProcessRecord) -> str:
    if process.main:
        return source_of(process.main) or ""
    command = list(process.command)
    return command[command.index("-c") + 1] if "-c" in command[:-1] else ""


def _judge(modules: Mapping[str, ImportedModule], names: Iterable[TakenName]) -> None:
    """Set the use of each module, and complete its importers."""
    read = set()
    for taken in names:
        module = modules[taken.module]
        if taken.importer != taken.module:
            module.importers[taken.importer] = None
        if taken.read and taken.name and taken.importer != taken.module:
            read.add(taken.module)
    for module in modules.values():
        if module.kind == "python" and module.functions_ran is not None:
            is_read = "read" if module.name in read else "none"
            module.use = "ran" if module.functions_ran else is_read
