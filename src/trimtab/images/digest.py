"""Digests in images: `sha256:` and hexadecimal digits."""

import hashlib
import re
from collections.abc import Iterable, Iterator

from trimtab.images.errors import DamagedError

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")
_LONGEST_SHOWN = 150


def check_digest(text: str) -> str:
    """Return `text`. Raises DamagedError unless it is a digest of a supported kind."""
    if not _DIGEST.fullmatch(text):
        raise DamagedError(
            f"{text[:_LONGEST_SHOWN]!r} is no digest; expected sha256: or sha512: and its digits"
        )
    return text


def digest_of(data: bytes) -> str:
    """Return the SHA-256 of `data` in the notation of images."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def check_data(data: bytes, digest: str) -> bytes:
    """Return `data`. Raises DamagedError unless it has this `digest`."""
    for _ in checked([data], digest):
        pass
    return data


def checked(pieces: Iterable[bytes], digest: str) -> Iterator[bytes]:
    """Yield `pieces`. Raises DamagedError after the last one unless they have this `digest`."""
    algorithm, _, expected = digest.partition(":")
    found = hashlib.new(algorithm)
    for piece in pieces:
        found.update(piece)
        yield piece
    if found.hexdigest() != expected:
        raise DamagedError(
            f"has the digest {algorithm}:{found.hexdigest()}, but {digest} was expected: it was"
            " damaged or changed; get the image again"
        )
