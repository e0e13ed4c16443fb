"""Terminal output in which foreign names cannot control the terminal."""

import sys
from typing import Any

from rich.console import Console
from rich.text import Text

from trimtab.errors import escape_control_characters


class Terminal(Console):
    """A console that shows every text literally: no markup, no emoji codes, no controls.

    Bold or coloured output is given as a Text or by `style`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text for rich, also in tables and columns."""
        return super().render_str(escape_control_characters(text), **options)


def prints_any_name() -> None:
    """Make standard output escape characters outside its encoding instead of failing."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
