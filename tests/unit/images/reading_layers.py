"""Parts of layers as a node reads them, from a blob in memory."""

from concurrent.futures import ThreadPoolExecutor

from trimtab.cold_store.index import ColdIndex
from trimtab.cold_store.node.layers import text_of


def read(
    index: ColdIndex, blob: bytes, start: int, end: int, pool: ThreadPoolExecutor
) -> tuple[bytes, int]:
    """The text, and how many bytes of the blob were asked for."""
    asked = []

    def fetch(begin: int, stop: int) -> bytes:
        assert 0 <= begin < stop <= len(blob)
        asked.append(stop - begin)
        return blob[begin:stop]

    text = b"".join(text_of(index, index.layers[0], start, end, fetch, pool))
    return text, sum(asked)
