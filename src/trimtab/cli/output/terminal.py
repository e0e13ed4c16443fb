"""What the command line writes: nothing that others named steers the terminal."""

import sys
from typing import Any

from rich.console import Console
from rich.text import Text

from trimtab.errors import escape_control_characters


class Terminal(Console):
    """A console on which every text is shown as it is: no markup, no emoji codes, no controls.

    What is to be bold or coloured is given as a Text or by `style`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text as rich shows it; of tables and columns too."""
        return super().render_str(escape_control_characters(text), **options)


def prints_any_name() -> None:
    """Have standard output show what its encoding lacks in words instead of failing."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
