"""What the figures say, in one sentence, and which command to type next."""

import shlex
from collections.abc import Sequence

from trimtab.records.batch.worth import (
    SHOWN_FIRST,
    RankedImage,
    Setting,
    figure_name,
    format_figure,
    interval_of,
)

_MOST_TOLD = 4
_SLIM = "trimtab_workspace/slim.tar"


def verdict_of(before: Setting, after: Setting) -> str:
    """Return the clear changes with their intervals, and which figures do not change."""
    if not after.stages:
        return "no slim image is known: give slim_bytes, measured or --slim-share"
    if any(each.saving.low is None for each in after.figures):
        return f"{after.name}: no interval is known, so no change is clear"
    clear, same = list[str](), list[str]()
    names = {each.name for each in before.figures}
    for figure in [name for name in SHOWN_FIRST if name in names][:_MOST_TOLD]:
        was, now, name = before.figure(figure).value, after.figure(figure), figure_name(figure)
        if now.saving.is_clear:
            values = f"{format_figure(figure, now.value)} instead of {format_figure(figure, was)}"
            clear.append(f"{name} {values} ({interval_of(now, was)})")
        else:
            same.append(name)
    told = [", ".join(clear)] if clear else []
    told += [f"no change of {', '.join(same)}"] if same else []
    return f"{after.name}: {'; '.join(told)}"


def next_command(images: Sequence[RankedImage], first: Sequence[str]) -> str:
    """Return what to type next: make the most pulled image slim, measure one, or push one.

    If no slim image saves anything: compare that of the most pulled image.
    """
    for row in images:
        if row.pulls and row.slim_bytes is None and row.saved_startup_s is None:
            return f"trimtab image slim {_word(row.image)}"
    by_name = {row.image: row for row in images}
    for name in first:
        if "size of the slim image" in by_name[name].modelled:
            return f"trimtab image slim {_word(name)}"
    if not any(_saves(by_name[name]) for name in first):
        return f"trimtab image compare {_word((first or list(by_name))[0])} {_SLIM}"
    for name in first:
        if by_name[name].modelled:
            return f"trimtab image start --output start.json {_word(name)} {_SLIM}"
    return f"trimtab image push {_SLIM} --to HOST/PATH:TAG"


def _saves(row: RankedImage) -> bool:
    return (row.saved_bytes or 0.0) > 0 or (row.saved_startup_s or 0.0) > 0


def _word(image: str) -> str:
    """Return an image as a word of a shell, which is no option of `trimtab`."""
    return "-- " * image.startswith("-") + shlex.quote(image)
