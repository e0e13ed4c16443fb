"""A cold index and a layer, as a node's cold store reads them of registries."""

import gzip
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from trimtab.cold_store.index import HEAD, MAGIC, VERSION, ColdIndex, DamagedIndexError
from trimtab.cold_store.node.layers import DamagedLayerError, text_of
from trimtab.cold_store.node.zstd.decoder import NoZstdError

ERRORS = (DamagedIndexError, DamagedLayerError, NoZstdError)
_MOST_OBJECTS, _MOST_BYTES = 4, 1 << 22


class Here(Executor):
    """Runs what is submitted at once."""

    def submit(self, function: Any, /, *given: Any, **named: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(function(*given, **named))
        return done


def run(data: bytes, folder: Path) -> None:
    """A line of JSON, the table; the number of bytes of windows (2), the windows; the layer."""
    table, _, rest = data.partition(b"\n")
    packed = gzip.compress(table, 0, mtime=0)
    count = int.from_bytes(rest[:2], "little")
    windows, blob = rest[2 : 2 + count], rest[2 + count :]
    index = ColdIndex.parse(HEAD.pack(MAGIC, VERSION, len(packed)) + packed + windows)
    assert ColdIndex.parse(index.to_bytes()) == index
    for sha256 in list(index.files)[:_MOST_OBJECTS]:
        found = index.find(f"{sha256[:32]}-000000")
        assert found is not None
        end = found.offset + min(found.size_bytes, _MOST_BYTES)

        def fetch(start: int, end: int) -> bytes:
            return blob[start:end]

        text = text_of(index, found.layer, found.offset, end, fetch, Here())
        size_bytes = sum(map(len, text))
        assert found.layer.compression == "none" or size_bytes == end - found.offset
