"""Stage words: how often each word of a text occurs."""

from typing import Any, ClassVar

from trimtab.config.groups.words.text import WordsStage
from trimtab.workflow.stage import Stage


class WordsCells(Stage):
    """The texts of the experiment."""

    cells: ClassVar = {"text": "words"}
    handed_on = ("words.parquet",)
    target = "words"

    def given(self, wildcards: Any) -> WordsStage:
        """Return what a job is given."""
        return WordsStage(self.config.option("text", wildcards.text))
