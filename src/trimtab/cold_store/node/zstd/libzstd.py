"""Decode zstd frames by the system's libzstd, which Python before 3.14 has no module for.

Its functions are those of zstd.h, "Streaming decompression", stable since version 1.4.
"""

import ctypes
import weakref
from collections.abc import Generator, Iterator

from trimtab.cold_store.node.zstd.decoder import MOST_WINDOW_LOG, TEXT_BYTES, DamagedFrameError

_NAME = "libzstd.so.1"
_RESET_SESSION = 1  # ZSTD_reset_session_only
_WINDOW_LOG_MAX = 100  # ZSTD_d_windowLogMax


class _Buffer(ctypes.Structure):
    """ZSTD_inBuffer and ZSTD_outBuffer, which have the same fields."""

    _fields_ = (
        ("address", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("position", ctypes.c_size_t),
    )


class LibraryDecoder:
    """Decodes frames one after the other, for one thread.

    Raises OSError without the library, AttributeError with one too old, and MemoryError.
    """

    def __init__(self) -> None:
        self._library = library = ctypes.CDLL(_NAME)
        size, pointer = ctypes.c_size_t, ctypes.c_void_p
        for name, given, returned in (
            ("ZSTD_createDCtx", (), pointer),
            ("ZSTD_freeDCtx", (pointer,), size),
            ("ZSTD_DCtx_setParameter", (pointer, ctypes.c_int, ctypes.c_int), size),
            ("ZSTD_DCtx_reset", (pointer, ctypes.c_int), size),
            ("ZSTD_decompressStream", (pointer, pointer, pointer), size),
            ("ZSTD_isError", (size,), ctypes.c_uint),
            ("ZSTD_getErrorName", (size,), ctypes.c_char_p),
        ):
            function = getattr(library, name)
            function.argtypes, function.restype = given, returned
        self._context = library.ZSTD_createDCtx()
        if not self._context:
            raise MemoryError
        weakref.finalize(self, library.ZSTD_freeDCtx, self._context)
        self._checked(
            library.ZSTD_DCtx_setParameter(self._context, _WINDOW_LOG_MAX, MOST_WINDOW_LOG)
        )
        self._text = ctypes.create_string_buffer(TEXT_BYTES)

    def frame(self, data: bytes, pieces: Iterator[bytes]) -> Generator[bytes, None, bytes]:
        """Yield the text of the frame at the beginning of `data` and `pieces`.

        Returns what of a piece comes behind the frame. Raises DamagedFrameError.
        """
        self._checked(self._library.ZSTD_DCtx_reset(self._context, _RESET_SESSION))
        address = ctypes.addressof(self._text)
        while data:
            given = _Buffer(ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p), len(data), 0)
            is_full = True
            while given.position < len(data) or is_full:
                out = _Buffer(address, TEXT_BYTES, 0)
                left_bytes = self._checked(
                    self._library.ZSTD_decompressStream(
                        self._context, ctypes.byref(out), ctypes.byref(given)
                    )
                )
                is_full = out.position == TEXT_BYTES
                yield ctypes.string_at(address, out.position)
                if not left_bytes:
                    return data[given.position :]
            data = next(pieces, b"")
        return b""

    def _checked(self, result: int) -> int:
        if self._library.ZSTD_isError(result):
            raise DamagedFrameError(self._library.ZSTD_getErrorName(result).decode())
        return result
