"""The optional parts of trimtab with their packages, and the part of a missing package."""

from collections.abc import Iterator
from types import TracebackType

# By the top-level name of the import.
_OF_ONE = {
    "altair": "report", "jinja2": "report", "markupsafe": "report", "vl_convert": "report",
    "docker": "engine", "indexed_gzip": "engine", "requests": "engine",
    "dvc": "dvc", "pygit2": "growth", "snakemake": "workflow",
    "numba": "simulate", "optuna": "tune", "pyspark": "spark",
    "kubernetes": "kubernetes", "psycopg": "postgresql", "zeus": "zeus",
    "torch": "workloads", "transformers": "workloads", "mlxtend": "workloads",
    "PIL": "workloads", "safetensors": "workloads", "django": "workloads",
}  # fmt: skip
# Several parts need these; the package of trimtab that imported one decides.
_OF_SEVERAL = {"scipy", "sklearn", "threadpoolctl"}
_BY_PACKAGE = {"tuning": "tune", "evaluation": "report", "workloads": "workloads"}


def extra_of(error: ModuleNotFoundError) -> str | None:
    """Return the extra with the module that could not be imported, or None."""
    name = (error.name or "").partition(".")[0]
    if name in _OF_SEVERAL:
        packages = _packages(error.__traceback__)
        return next(
            (_BY_PACKAGE[package] for package in packages if package in _BY_PACKAGE), "simulate"
        )
    return _OF_ONE.get(name)


def _packages(traceback: TracebackType | None) -> Iterator[str]:
    """Yield the packages of trimtab in a traceback, from the outside in."""
    while traceback is not None:
        words = str(traceback.tb_frame.f_globals.get("__name__", "")).split(".")
        if words[0] == "trimtab" and len(words) > 1:
            yield words[1]
        traceback = traceback.tb_next
