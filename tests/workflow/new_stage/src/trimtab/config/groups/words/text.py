"""A text whose words are counted: one YAML in `conf/text/`."""

from typing import ClassVar

from pydantic.dataclasses import dataclass

from trimtab.config.fields import CHECKED, Name, Text, about


@dataclass(config=CHECKED)
class TextConfig:
    """What is counted."""

    group: ClassVar[str] = "text"
    name: Name = about("Name of the text: the stem of its file.")
    words: list[Text] = about("The words.")


@dataclass(config=CHECKED)
class WordsStage:
    """What counting the words of a text depends on."""

    text: TextConfig
