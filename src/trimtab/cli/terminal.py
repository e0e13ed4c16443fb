"""What the command line writes: nothing that others named steers the terminal.

Standard error is for people, standard output for what the next program reads: a path.
"""

import os
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from trimtab.errors import visible


class Terminal(Console):
    """A console on which every text is shown as it is: no markup, no emoji codes, no controls.

    What is to be bold or coloured is given as a Text or by `style`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text as rich shows it; of tables and columns too."""
        return super().render_str(visible(text), **options)


def say_path(path: Path) -> None:
    """Write a result's path to standard output, if anybody reads it."""
    try:
        print(visible(str(path)), flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nor at the end of this process
    except OSError:
        pass  # closed, or on a disk that is full: the result is there all the same


def prints_any_name() -> None:
    """Have standard output show what its encoding lacks in words instead of failing."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
