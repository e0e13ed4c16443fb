"""The decoder that a node has: Python's own zstd, or else the system's libzstd."""

from collections.abc import Generator, Iterator
from importlib import import_module
from typing import Any

from trimtab.cold_store.node.zstd.decoder import (
    MOST_WINDOW_LOG,
    TEXT_BYTES,
    DamagedFrameError,
    FrameDecoder,
    NoZstdError,
)


def frame_decoder() -> FrameDecoder:
    """Return a decoder. Raises NoZstdError."""
    try:
        return _PythonDecoder(import_module("compression.zstd"))
    except ImportError:  # before Python 3.14, or one that was built without it
        pass
    try:
        from trimtab.cold_store.node.zstd.libzstd import LibraryDecoder  # a Python may lack ctypes

        return LibraryDecoder()
    except (ImportError, OSError, AttributeError) as error:
        raise NoZstdError(
            f"this node cannot decode layers of zstd ({error}): run the cold store with Python 3.14"
            " or newer, or install libzstd.so.1 (Debian: apt-get install libzstd1; Alpine: apk add"
            " zstd-libs)"
        ) from None


class _PythonDecoder:
    def __init__(self, module: Any):
        self._module = module
        self._options = {module.DecompressionParameter.window_log_max: MOST_WINDOW_LOG}

    def frame(self, data: bytes, pieces: Iterator[bytes]) -> Generator[bytes, None, bytes]:
        decoder = self._module.ZstdDecompressor(options=self._options)
        while True:
            try:
                text = decoder.decompress(data, TEXT_BYTES)
            except self._module.ZstdError as error:
                raise DamagedFrameError(str(error)) from None
            yield text
            if decoder.eof:
                rest: bytes = decoder.unused_data
                return rest
            data = b""
            if decoder.needs_input and not (data := next(pieces, b"")):
                return b""
