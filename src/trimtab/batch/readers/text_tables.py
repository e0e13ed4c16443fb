"""Files of separated columns, read as text in bounded memory."""

import codecs
import io
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from trimtab.errors import UserError
from trimtab.traces.text_file import open_text

_BLOCK_BYTES = 4 << 20


def text_columns(
    path: Path,
    header: Sequence[str],
    wanted: Sequence[int],
    separator: str,
    expected: str,
    skipped: list[int] | None = None,
) -> Iterator[list[pa.Array]]:
    """Yield the `wanted` columns of `header`, by number, of the rows below it.

    With `skipped`, fields have quotes only where commas separate them, and the numbers of rows that
    have another number of fields are added to it. Raises UserError with the file, the row and the
    format `expected`.
    """

    def skip(row: pa.csv.InvalidRow) -> str:
        assert skipped is not None
        skipped.append(row.number or 0)
        return "skip"

    names = [str(number) for number in range(len(header))]
    quoted = skipped is None or separator == ","
    options = {
        "read_options": pa.csv.ReadOptions(
            column_names=names, skip_rows=1, block_size=_BLOCK_BYTES, use_threads=False
        ),
        "parse_options": pa.csv.ParseOptions(
            delimiter=separator,
            quote_char='"' if quoted else False,
            newlines_in_values=False,
            invalid_row_handler=None if skipped is None else skip,
        ),
        "convert_options": pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            include_columns=[names[number] for number in wanted],
        ),
    }
    try:
        with open_text(path) as text, pa.csv.open_csv(_utf8(text), **options) as reader:
            for batch in reader:
                if len(batch):
                    yield batch.columns
    except (OSError, EOFError, ValueError, zlib.error, pa.ArrowException) as error:
        raise UserError(f"{path}: {error}; expected {expected}") from None


def _utf8(text: io.BufferedReader) -> pa.NativeFile:
    """Return a stream with invalid bytes replaced: a name in another encoding stops nothing."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def replaced(block: pa.Buffer) -> bytes:
        content = bytes(block)
        if content.isascii() and not decoder.getstate()[0]:  # by far the fastest
            return content
        return decoder.decode(content).encode()

    return pa.TransformInputStream(pa.PythonFile(text, mode="r"), replaced)
