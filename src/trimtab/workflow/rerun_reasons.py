"""Explains why jobs run again: the changed keys with old and new values, and changed files."""

import json
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from trimtab.files import read_json
from trimtab.workflow.read_files import CHANGED

_SHOWN, _LONGEST = 4, 60
_NOTHING = object()


def explain_reasons(workflow: Any, sources: set[str]) -> None:
    """Make Snakemake name the keys and files for which jobs run again, without source files.

    Of `sources`, paths as in Snakemake, only the number is shown.
    """
    from snakemake.logging import logger

    logger.addFilter(_Told(workflow, sources))


def changes_of(before: Iterable[str], now: Iterable[str]) -> str:
    """Return the changed keys of configurations in JSON; other texts are compared whole."""
    old, new = _values_of(before), _values_of(now)
    pairs = {key: (old.get(key, _NOTHING), new.get(key, _NOTHING)) for key in {**old, **new}}
    found = _listed(
        f"{key}: {_shown(was)} -> {_shown(now_is)}"
        for key, (was, now_is) in sorted(pairs.items())
        if was != now_is
    )
    return found or "other keys without values"


def _values_of(texts: Iterable[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for text in texts:
        try:
            values.update(_leaves(json.loads(text), ""))
        except ValueError:
            values["parameter"] = text
    return values


def _leaves(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    """Yield every leaf value, by its full key; named parts by their names."""
    inner: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        inner = ((_name_of(item, place), item) for place, item in enumerate(value))
    found = [leaf for name, item in inner for leaf in _leaves(item, f"{key}.{name}".lstrip("."))]
    if value != {}:
        yield from found or [(key, value)]


def _name_of(item: Any, place: int) -> Any:
    return item.get("name", place) if isinstance(item, dict) else place


def _shown(value: Any) -> str:
    if value is _NOTHING:
        return "(not there)"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _listed(items: Iterable[str]) -> str:
    shown = list(items)
    more = [f"and {len(shown) - _SHOWN} more"] if len(shown) > _SHOWN else []
    return "; ".join([*shown[:_SHOWN], *more])


def _shortened(part: str) -> str:
    """Shorten a part of a reason that lists many files."""
    what, colon, names = part.partition(": ")
    listed = names.split(", ")
    if not what.startswith("Input files") or len(listed) <= _SHOWN:
        return part
    return f"{what}{colon}{', '.join(listed[:_SHOWN])} and {len(listed) - _SHOWN} more"


class _Told(logging.Filter):
    """Rewrites Snakemake's records of jobs: explains reasons, and only counts source files."""

    def __init__(self, workflow: Any, sources: set[str]) -> None:
        super().__init__()
        self._workflow, self._sources = workflow, sources

    def filter(self, record: logging.LogRecord) -> bool:
        told: Any = record
        if not isinstance(getattr(record, "input", None), list):
            return True
        if hasattr(record, "reason"):
            other = "Set of input files has changed since last execution"
            told.reason = self._edited(told)
            if other in told.reason:
                named = _listed(self._other_inputs(told)) or "their order"
                told.reason = told.reason.replace(other, f"Other input files: {named}")
        own = [path for path in told.input if path not in self._sources]
        if count := len(told.input) - len(own):
            told.input = [*own, f"{count} source files"]
        return True

    def _edited(self, told: Any) -> str:
        """The reason with changed keys instead of configurations, and changed files by name."""
        reason = str(told.reason)
        for job in self._jobs(told):
            if change := self._workflow.dag.reason(job).params_changed:
                reason = reason.replace(str(change), changes_of(change.only_old, change.only_new))
        for path in told.input:
            if path.startswith(f"{CHANGED}/") and path in reason:
                changed = read_json(Path(path)).items()
                told_of = (name if digest else f"{name} (gone)" for name, digest in changed)
                reason = reason.replace(path, _listed(told_of) or "a list of files")
        return "; ".join(map(_shortened, reason.split("; ")))

    def _other_inputs(self, told: Any) -> Iterator[str]:
        outputs = (path for job in self._jobs(told) for path in job.output)
        records = map(self._workflow.persistence.metadata, outputs)
        before = {path for record in records if record for path in record.input or []}
        now = set(told.input)
        yield from (f"{path} is new" for path in sorted(now - before))
        yield from (f"{path} is gone" for path in sorted(before - now))

    def _jobs(self, told: Any) -> list[Any]:
        """The job in question."""
        dag = self._workflow.dag
        return [
            job
            for job in dag.jobs
            if job.rule.name == told.rule_name and dag.jobid(job) == told.jobid
        ]
