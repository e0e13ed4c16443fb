"""The parts of trimtab that have packages of their own, and which one a missing package is of."""

from collections.abc import Iterator
from types import TracebackType

# By the first name of what is imported.
_OF_ONE = {
    "altair": "report", "jinja2": "report", "markupsafe": "report", "vl_convert": "report",
    "docker": "engine", "requests": "engine", "urllib3": "engine",
    "dvc": "dvc", "pygit2": "growth", "snakemake": "workflow",
    "numba": "simulate", "optuna": "tune", "pyspark": "spark",
    "kubernetes": "kubernetes", "psycopg": "postgresql", "zeus": "zeus",
    "torch": "workloads", "transformers": "workloads", "mlxtend": "workloads",
    "PIL": "workloads", "safetensors": "workloads", "django": "workloads",
}  # fmt: skip
# Several have these; the room that led to one tells which part it is.
_OF_SEVERAL = {"scipy", "sklearn", "threadpoolctl"}
_BY_ROOM = {"tuning": "tune", "evaluation": "report", "workloads": "workloads"}


def extra_of(error: ModuleNotFoundError) -> str | None:
    """Return the extra that has what could not be imported, or None where none has it."""
    name = (error.name or "").partition(".")[0]
    if name in _OF_SEVERAL:
        rooms = _rooms(error.__traceback__)
        return next((_BY_ROOM[room] for room in rooms if room in _BY_ROOM), "simulate")
    return _OF_ONE.get(name)


def _rooms(traceback: TracebackType | None) -> Iterator[str]:
    """Yield the rooms of trimtab that a traceback passed, from without."""
    while traceback is not None:
        words = str(traceback.tb_frame.f_globals.get("__name__", "")).split(".")
        if words[0] == "trimtab" and len(words) > 1:
            yield words[1]
        traceback = traceback.tb_next
