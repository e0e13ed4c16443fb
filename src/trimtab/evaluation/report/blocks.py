"""The blocks of the page, besides titled tables and figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, TypeAlias, Union

import jinja2
from markupsafe import Markup

from trimtab.errors import escape_control_characters
from trimtab.evaluation.report.figures import Figure
from trimtab.evaluation.report.tables import Table


@dataclass(frozen=True)
class Prose:
    """A part of the page other than a table or a figure."""

    kind: ClassVar[str] = "prose"
    html: Markup


@dataclass(frozen=True)
class Untitled:
    """A table without a heading."""

    kind: ClassVar[str] = "untitled"
    table: Table


@dataclass(frozen=True)
class Beside:
    """Figures side by side, if the window is wide enough."""

    kind: ClassVar[str] = "beside"
    figures: Sequence[Figure]


@dataclass(frozen=True)
class Fold:
    """A block that unfolds by a click on its summary."""

    kind: ClassVar[str] = "fold"
    summary: str
    block: "Block"
    is_open: bool = False


Block: TypeAlias = Union[Figure, Table, Untitled, Prose, Beside, Fold]  # noqa: UP007


def prose(template: str, **values: Any) -> Prose:
    """Return `templates/{template}` filled with `values`, which are escaped."""
    return Prose(Markup(templates().get_template(template).render(**values)))


@cache
def templates() -> jinja2.Environment:
    """Return the environment of templates; undefined names are errors."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("trimtab.evaluation"),
        autoescape=True,
        finalize=lambda value: escape_control_characters(value) if type(value) is str else value,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
