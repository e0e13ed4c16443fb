"""`formula.json`: the response times of a cell by formula."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from trimtab.records.document import Document
from trimtab.records.figures import ResponseFigures


class FormulaResponse(Document):
    """Response times by class and the model that they are of, or why there are none."""

    stage: ClassVar[str] = "schedule"
    version: Literal[1] = 1
    model: str = ""
    classes: dict[str, ResponseFigures] = Field(default_factory=dict)
    not_possible_because: str = ""

    @model_validator(mode="after")
    def _says_why_there_is_none(self) -> Self:
        if not self.classes and not self.not_possible_because:
            raise ValueError("no class, and not_possible_because does not say why")
        return self
