"""How often each word of a text occurs."""

import pyarrow as pa

WORDS = pa.schema([("text", pa.string()), ("word", pa.string()), ("occurrences", pa.int64())])
