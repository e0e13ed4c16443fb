"""The server on a node: objects for containers, made from the layers of registries."""

from pathlib import Path

SOCKET = "unix:/run/trimtab/cold-store.sock"
CACHE = Path("/var/cache/trimtab/cold-store")
CACHE_BYTES = 10 << 30
