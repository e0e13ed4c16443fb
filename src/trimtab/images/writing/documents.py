"""JSON documents of images, and descriptors of them (image specification, descriptor.md)."""

import json
from collections.abc import Mapping
from typing import Any

from trimtab.images.digest import digest_of


def json_bytes(document: Mapping[str, Any] | list[Any]) -> bytes:
    """Return the bytes of a document; the same document gives the same bytes."""
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def described(media_type: str, data: bytes) -> dict[str, Any]:
    """Return a descriptor of `data`."""
    return {"mediaType": media_type, "digest": digest_of(data), "size": len(data)}
