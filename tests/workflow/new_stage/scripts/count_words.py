"""Rule count_words: how often each word of a text occurs."""

import argparse
from pathlib import Path

from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="a WordsStage, JSON")
parser.add_argument("--output", type=Path, required=True, help="the table")
arguments = parser.parse_args()

with supervised():
    from trimtab.config.groups.words.text import WordsStage
    from trimtab.config.stages import read
    from trimtab.words.count import count_words

    count_words(read(arguments.config, WordsStage), arguments.output)
