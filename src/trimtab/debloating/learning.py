"""Functions that the slim environment still called, added to what the traced runs used.

Which functions a run calls may hang on chance: on a random number, the address of an object, what
memory held before. A slim environment whose fallback puts functions back goes on where a traced
run went another way, and tells which function it was.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from trimtab.config.groups.workload import Workload
from trimtab.debloating.fallback import Behaviour, fallback_environment
from trimtab.debloating.targets.base import Target
from trimtab.errors import TrimtabError
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.runs.run import measure_run
from trimtab.records.removed_calls import RemovedCall, read_removed_calls
from trimtab.records.usage import Usage, UsedLibrary


def run_with_restored_code(
    target: Target, workload: Workload, slim: Path, repeats: int, folder: Path
) -> list[RemovedCall]:
    """Run `workload` in the slim environment, removed functions put back, and return these.

    Logs and the record stay in `folder`. Raises TrimtabError when a run fails: what it lacks is
    no function then.
    """
    record = folder / "removed_calls.jsonl"
    record.unlink(missing_ok=True)
    program = target.program(workload, folder / "output", slim)
    restoring = fallback_environment(program.environment, Behaviour.RESTORE, record)
    program = replace(program, environment=restoring)
    for repeat in range(repeats):
        run = measure_run(
            program,
            condition="restored",
            repeat=repeat,
            hardware=NO_POWER_MODEL,
            log_dir=folder / "logs",
        )
        if run.failure:
            raise TrimtabError(f"in {slim}, with removed functions put back: {run.failure}")
    return read_removed_calls(record)


def with_calls(usage: Usage, target: Target, calls: Sequence[RemovedCall]) -> Usage:
    """Return `usage` with the called functions of `target` among the used ones."""
    root = target.root.resolve()
    addresses: dict[str, set[int]] = {}
    for call in calls:
        library = (root / call.library).resolve()  # it may be a link out of the environment
        addresses.setdefault(str(library), set()).add(call.address)
    libraries = [_with(library, addresses.get(library.path, ())) for library in usage.libraries]
    note = f"{len(calls)} functions were called in the slim environment alone"
    return usage.model_copy(update={"libraries": libraries, "notes": [*usage.notes, note]})


def _with(library: UsedLibrary, addresses: Iterable[int]) -> UsedLibrary:
    used = sorted({*library.used_functions, *addresses})
    return replace(library, used_functions=used, functions_used=len(used))
