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


def verdict_of(before: Setting, after: Setting) -> str:
    """Return the clear changes with their intervals, and which figures do not change."""
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
    """Return what to type next: make the most pulled image slim, measure one, or push one."""
    for row in images:
        if row.pulls and row.slim_bytes is None and row.saved_startup_s is None:
            return f"trimtab image slim {shlex.quote(row.image)}"
    by_name = {row.image: row for row in images}
    for name in first:
        if "size of the slim image" in by_name[name].modelled:
            return f"trimtab image slim {shlex.quote(name)}"
    for name in first:
        if by_name[name].modelled:
            folder = "trimtab_workspace/slim.tar"
            return f"trimtab image start {shlex.quote(name)} {folder} --output start.json"
    return "trimtab image push trimtab_workspace/slim.tar --to HOST/PATH:TAG"
