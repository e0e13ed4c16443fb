"""What others named steers no terminal: no escape codes, no markup, any bytes, any encoding."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table

from trimtab.cli.output.terminal import Terminal
from trimtab.errors import TrimtabError, escape_control_characters, format_error

HOSTILE = {
    "escape": "a\x1b[31mred\x1b]0;title\x07",
    "controls": "a\x00\x08\x0d\x7f\x9b2J",
    "direction": "a\u202eexe.txt\u2066\u200f",
    "markup": "[/bold] [red]x[/red] :boom: [link=http://x]",
    "bytes": os.fsdecode(b"caf\xe9-\xff"),
    "lines": "a\u2028b\u2029",
}
each = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)


def seen(text: str) -> str:
    """What a terminal is sent for a text in a line, a table's cell and its caption."""
    output = io.StringIO()
    terminal = Terminal(file=output, width=200, force_terminal=True, color_system=None)
    terminal.print(text, soft_wrap=True)
    table = Table("name", text, caption=text)
    table.add_row(text, "x")
    terminal.print(table)
    return output.getvalue()


@each
def test_nothing_invisible_reaches_the_terminal(text: str) -> None:
    shown = seen(text)
    assert all(character.isprintable() or character == "\n" for character in shown)
    assert shown.count(escape_control_characters(text)) == 4
    shown.encode()


@each
def test_an_error_is_one_text_that_prints(text: str) -> None:
    for error in (TrimtabError(f"/x/{text}: bad"), OSError(2, "no", f"/x/{text}")):
        words = format_error(error)
        assert words.startswith("/x/a") or words.startswith(("/x/[/bold]", "/x/caf\\xe9-\\xff"))
        assert words.isprintable()


def test_what_people_write_stays_as_it_is() -> None:
    for text in ("naïve café 日本語 — “x”\tand\na line", "5\u202f000\u00a0MB", "C:\\x1b"):
        assert escape_control_characters(text) == text


@pytest.mark.parametrize("closed", [False, True])
def test_the_command_line_ends_in_one_line(tmp_path: Path, closed: bool) -> None:
    """Also where only ASCII can be written, and where nobody listens."""
    folder = tmp_path / "".join(HOSTILE.values()).replace("/", "_").replace("\x00", "")
    folder.mkdir()
    (folder / "usage.json").write_text("{")
    (folder / "workload.json").write_text("[]")
    environment = {**os.environ, "LANG": "C", "PYTHONIOENCODING": "ascii", "COLUMNS": "500"}
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@"' + (" >&-" if closed else ""), "sh",
         sys.executable, "-c", "from trimtab.cli.main import main; main()",
         "advanced", "locate", "--workspace", folder],
        capture_output=True, env=environment, timeout=60,
    )  # fmt: skip
    said = done.stderr.decode("ascii")
    assert done.returncode == 1 and said.count("error:") == 1 and "Traceback" not in said
    assert "workload.json: expected an object" in said.replace("\n", "")
    assert all(character.isprintable() or character == "\n" for character in said)
