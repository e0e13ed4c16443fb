"""The documents that the command line keeps in a workspace, besides those of stages."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ValidationInfo, WrapSerializer

from trimtab.config.groups.workload import Workload
from trimtab.records.document import Document
from trimtab.records.values import escaped, unescaped


def _of_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Change every text in lists and mappings."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_of_texts(each, change) for each in value]
    if isinstance(value, dict):
        return {key: _of_texts(each, change) for key, each in value.items()}
    return value


def _read(value: Any, info: ValidationInfo) -> Any:
    return _of_texts(value, unescaped) if info.mode == "json" else value


def _written(value: Any, plain: Callable[[Any], Any]) -> Any:
    return _of_texts(plain(value), escaped)


class TracedProgram(Document):
    """`workload.json`: the traced program.

    Any of its texts may be a file name with bytes that are no UTF-8.
    """

    stage: ClassVar[str] = "trimtab advanced trace"
    version: Literal[1] = 1
    workload: Annotated[
        Workload, BeforeValidator(_read), WrapSerializer(_written, when_used="json")
    ]
