"""The published figures, separate from ours, each with its place in a paper.

`published/{paper}/paper.yaml` has a paper's title, and its counterparts of the report's figures.
Every other file there has the paper's values of one subject, named by `holds`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self, TypeAlias, TypeVar

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    ValidationError,
    model_validator,
)

from trimtab.errors import TrimtabError

_PLACE = re.compile(r"(Figures?|Tables?|Sections?) [A-Z\d].* of ")
FOLDER = Path(__file__).parents[1] / "published"

Text: TypeAlias = Annotated[str, Field(min_length=1, strict=True)]
Place: TypeAlias = Annotated[str, Field(pattern=r"^(Table|Section) [A-Z\d.]+$")]
# What a schedule needs to be comparable with a row.
Applicability: TypeAlias = Literal["node_types", "priorities"]
_STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True)
class PublishedRow:
    """One published row: its values by column, and their place.

    `place` is "Table 2" or "Section 4.6"; a value's key ends in its unit (`_mb` is 10^6 bytes).
    """

    paper: str
    place: str
    row: str
    hardware: str
    bears_on: Applicability | None
    values: Mapping[str, float | str]

    def number(self, key: str) -> float:
        """Return a value that has to be a number; raises TrimtabError if it is missing."""
        value = self.values.get(key)
        if not isinstance(value, (int, float)):
            raise TrimtabError(f"{self.place} of {self.paper}, {self.row}: no number {key!r}")
        return value


class _Paper(BaseModel):
    model_config = _STRICT
    title: Text
    figures: dict[str, Text] = {}


class _Row(BaseModel):
    model_config = _STRICT
    row: Text
    place: Place | None = None
    values: dict[str, StrictInt | StrictFloat | Text] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_reductions(self) -> Self:
        for key, value in self.values.items():
            if key.endswith("_reduction_pct") and isinstance(value, (int, float)) and value > 100:
                raise ValueError(f"{key}: {value} is more than 100 %")
        return self


class _Printed(BaseModel):
    model_config = _STRICT
    holds: Text
    place: Place | None = None  # default of rows without their own
    hardware: Text
    bears_on: Applicability | None = None
    rows: list[_Row] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_places(self) -> Self:
        nowhere = [row.row for row in self.rows if not (row.place or self.place)]
        if nowhere:
            raise ValueError(f"{nowhere[0]}: no place, neither of the row nor of the file")
        return self


_Model = TypeVar("_Model", bound=BaseModel)


def published(holds: str, folder: Path = FOLDER) -> tuple[PublishedRow, ...]:
    """Return all published rows of the subject `holds`, e.g. "run_cost", paper by paper.

    Raises TrimtabError where there is none, and, with file and key, for an invalid file in
    `folder`: an unknown or missing key, a value that is not a finite number or a name, a reduction
    above 100 %, or a duplicate row.
    """
    rows = _rows(folder).get(holds)
    if not rows:
        raise TrimtabError(f"{folder}: no file holds {holds}")
    return rows


def stated(holds: str, key: str) -> float:
    """Return the first published number `key` among the rows of the subject `holds`."""
    return next(row for row in published(holds) if key in row.values).number(key)


def places(holds: str, folder: Path = FOLDER) -> str:
    """Return the places of `holds` in papers, e.g. "Figure 5a of The Hidden Bloat"."""
    places = {
        paper.title: paper.figures[holds]
        for paper in _papers(folder).values()
        if holds in paper.figures
    } or {row.paper: row.place for row in published(holds, folder)}
    return "; ".join(f"{place} of {title}" for title, place in places.items())


def titled(title: str, holds: str) -> str:
    """Return a title with its places in papers: "Sizes (Table 2 of The Hidden Bloat)"."""
    return f"{title} ({places(holds)})"


def without_places(title: str) -> tuple[str, str]:
    """Split a title from the places that `titled` added; "" without places."""
    plain, _, shown = title.removesuffix(")").rpartition(" (")
    return (plain, shown) if plain and _PLACE.match(shown) else (title, "")


@cache
def _papers(folder: Path) -> dict[str, _Paper]:
    return {
        path.parent.name: read_checked(path, _Paper) for path in sorted(folder.glob("*/paper.yaml"))
    }


@cache
def _rows(folder: Path) -> dict[str, tuple[PublishedRow, ...]]:
    rows: dict[str, dict[tuple[str, str, str], PublishedRow]] = {}
    for path in sorted(folder.glob("*/*.yaml")):
        if path.name == "paper.yaml":
            continue
        if path.parent.name not in _papers(folder):
            raise TrimtabError(f"{path.parent / 'paper.yaml'}: missing; it names the paper")
        paper, printed = _papers(folder)[path.parent.name].title, read_checked(path, _Printed)
        of_it = rows.setdefault(printed.holds, {})
        for row in printed.rows:
            key = (paper, row.place or printed.place or "", row.row)
            if key in of_it:
                raise TrimtabError(f"{path}: {row.row} is given twice")
            of_it[key] = PublishedRow(*key, printed.hardware, printed.bears_on, row.values)
    return {holds: tuple(of_it.values()) for holds, of_it in rows.items()}


def read_checked(path: Path, model: type[_Model]) -> _Model:
    """Return a YAML file as this model; raises TrimtabError with file and key."""
    try:
        return model.model_validate(yaml.safe_load(path.read_text()))
    except (OSError, yaml.YAMLError) as error:
        raise TrimtabError(f"{path}: cannot be read: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(map(str, first["loc"])) or "the file"
        raise TrimtabError(f"{path}: {key}: {first['msg']}") from None
