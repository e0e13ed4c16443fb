"""Counts the words of a text."""

from collections import Counter
from pathlib import Path

import pandas as pd

from trimtab.config.groups.words.text import WordsStage
from trimtab.records.parquet.files import write_table
from trimtab.records.words.occurrences import WORDS


def count_words(stage: WordsStage, destination: Path) -> None:
    """Write how often each word occurs to the file `destination`."""
    rows = [(stage.text.name, *found) for found in Counter(stage.text.words).items()]
    write_table(destination, WORDS, pd.DataFrame(rows, columns=WORDS.names))
