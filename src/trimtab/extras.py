"""The parts of trimtab that have packages of their own, and which one a missing package is of."""

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
# Several have these; the room that asks for one tells which part it is.
_OF_SEVERAL = {"scipy", "sklearn", "threadpoolctl"}
_BY_ROOM = {"tuning": "tune", "evaluation": "report", "workloads": "workloads"}


def extra_of(error: ModuleNotFoundError) -> str | None:
    """Return the extra that has what could not be imported, or None where none has it."""
    name = (error.name or "").partition(".")[0]
    if name in _OF_SEVERAL:
        return _BY_ROOM.get(_room(error.__traceback__), "simulate")
    return _OF_ONE.get(name)


def _room(traceback: TracebackType | None) -> str:
    """Return the innermost room of trimtab that a traceback passed."""
    room = ""
    while traceback is not None:
        words = traceback.tb_frame.f_globals.get("__name__", "").split(".")
        if words[0] == "trimtab" and len(words) > 1:
            room = words[1]
        traceback = traceback.tb_next
    return room
