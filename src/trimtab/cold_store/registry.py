"""A client of registries of images (OCI's distribution specification 1.1)."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import IO, Any
from urllib.parse import quote

from trimtab.cold_store import ranges
from trimtab.cold_store.chunks import chunks_of
from trimtab.cold_store.responses import OtherBytesError, RegistryError, Response
from trimtab.cold_store.transport import Transport, joined

__all__ = ["Registry", "RegistryError"]

_MOST_MANIFEST_BYTES = 4 << 20
_MOST_READ_ON_BYTES = 256 << 20  # of a blob whose registry ignores ranges
_MOST_PAGES, _MOST_LINK_CHARACTERS = 20, 4096
_MANIFESTS = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
_MOUNT_STATUSES = (201, 202, 400, 403, 404, 405)
_NEXT = re.compile(r'<([^>]*)>; *rel="?next"?')


class Registry:
    """The registry that `transport` leads to. Thread-safe; all methods raise RegistryError."""

    def __init__(self, transport: Transport):
        self.host = transport.host
        self._transport, self._again = transport, transport.again

    def manifest(self, repository: str, reference: str) -> tuple[bytes, str, str]:
        """Return the bytes, the media type and the digest of a manifest, by its tag or digest."""

        def get() -> tuple[bytes, str, str]:
            with self._manifest("GET", repository, reference) as response:
                data = response.body(_MOST_MANIFEST_BYTES)
                kind = response.headers.get("Content-Type", "").partition(";")[0].strip()
            digest = _digest_of(data)
            if ":" in reference:
                self._check(reference, digest)
            return data, kind, digest

        return self._again(get)

    def has_manifest(self, repository: str, reference: str) -> bool:
        """Tell whether the registry has a manifest of this tag or digest."""

        def head() -> bool:
            with self._manifest("HEAD", repository, reference, (200, 404)) as response:
                return response.status == 200

        return self._again(head)

    def put_manifest(self, repository: str, reference: str, data: bytes, media_type: str) -> bool:
        """Store a manifest by a tag or its digest; tell whether its `subject` was understood.

        A registry that did not needs the tag of `referrers`.
        """

        def put() -> bool:
            with self._transport.exchange(
                "PUT",
                self._path(repository, "manifests", reference),
                self._scope(repository, push=True),
                {"Content-Type": media_type},
                data,
                accepted=(201,),
            ) as response:
                return "OCI-Subject" in response.headers

        return self._again(put)

    def has_blob(self, repository: str, digest: str) -> bool:
        """Tell whether a repository has a blob."""

        def head() -> bool:
            path = self._path(repository, "blobs", digest)
            scope = self._scope(repository)
            with self._transport.exchange("HEAD", path, scope, accepted=(200, 404)) as response:
                return response.status == 200

        return self._again(head)

    def mount_blob(self, repository: str, digest: str, source: str) -> bool:
        """Tell whether the registry made a blob of the repository `source` one of `repository`.

        One that cannot, or does not allow it, wants the blob itself.
        """

        def post() -> bool:
            where = f"?mount={quote(digest)}&from={quote(self._name(source), safe='')}"
            scope = f"{self._scope(repository, push=True)} {self._scope(source)}"
            with self._transport.exchange(
                "POST", self._uploads(repository) + where, scope, accepted=_MOUNT_STATUSES
            ) as response:
                return response.status == 201

        return self._again(post)

    def put_blob(
        self, repository: str, digest: str, size_bytes: int, opened: Callable[[], IO[bytes]]
    ) -> None:
        """Store a blob of `size_bytes`; `opened` opens it anew for each try."""
        scope = self._scope(repository, push=True)

        def put() -> None:
            start = self._uploads(repository)
            with self._transport.exchange("POST", start, scope, accepted=(202,)) as response:
                location = response.headers.get("Location")
            if not location:
                raise RegistryError(f"{self.host}: it began an upload without a Location")
            place = joined(start, location)
            kind = "application/octet-stream"
            with self._transport.exchange(
                "PUT",
                f"{place}{'&' if '?' in place else '?'}digest={quote(digest)}",
                scope,
                {"Content-Type": kind, "Content-Length": str(size_bytes)},
                opened,
                accepted=(201,),
            ):
                pass

        self._again(put)

    def blob(self, repository: str, digest: str, most_bytes: int) -> bytes:
        """Return a blob of at most `most_bytes`, whose digest is checked."""

        def get() -> bytes:
            with self._blob(repository, digest) as response:
                data = response.body(most_bytes)
            self._check(digest, _digest_of(data))
            return data

        return self._again(get)

    def blob_chunks(self, repository: str, digest: str, size_bytes: int) -> Iterator[bytes]:
        """Yield a blob in pieces; the digest is checked after the last, so use none before.

        No more than `size_bytes` are read: a registry could send without end. After a failure that
        may be over soon the rest is asked for. A registry that ignores ranges sends all again.
        """
        rest = partial(self._rest, repository, digest, size_bytes)
        return chunks_of(rest, digest, size_bytes, self._transport.retries(), self._blob_at(digest))

    def _rest(
        self, repository: str, digest: str, end: int, start: int, by_range: bool
    ) -> Iterator[bytes]:
        by_range = by_range and start > 0
        asked = ranges.header_of(start, end) if by_range else None
        accepted = ranges.STATUSES if by_range else (200,)
        with self._blob(repository, digest, asked, accepted) as response:
            yield from ranges.pieces_of(response, start, end, self._blob_at(digest))

    def blob_range(self, repository: str, digest: str, start: int, end: int) -> bytes:
        """Return the bytes from `start` up to `end` of a blob, unchecked.

        If the registry ignores ranges, the blob is read on up to the place, at most 256 MiB.
        """

        def get() -> bytes:
            asked = ranges.header_of(start, end)
            with self._blob(repository, digest, asked, ranges.STATUSES) as response:
                return self._part(response, start, end, self._blob_at(digest))

        return self._again(get)

    def referrers(self, repository: str, digest: str, artifact_type: str) -> list[dict[str, Any]]:
        """Return descriptors of the manifests of a type whose `subject` has this digest.

        A registry without that list has an index of them with the tag `sha256-...`.
        """
        path: str | None = (
            f"{self._path(repository, 'referrers', digest)}?artifactType={quote(artifact_type)}"
        )
        found: list[dict[str, Any]] = []
        for _ in range(_MOST_PAGES):
            if path is None:
                break
            data, path = self._again(partial(self._page, repository, path))
            found += self._descriptors(data) if data else self.tagged_referrers(repository, digest)
        return [each for each in found if each.get("artifactType") == artifact_type]

    def _page(self, repository: str, path: str) -> tuple[bytes | None, str | None]:
        """Return a page of referrers, None if there is no such list, and the next page's path."""
        scope = self._scope(repository)
        with self._transport.exchange("GET", path, scope, accepted=(200, 404)) as response:
            kind = response.headers.get("Content-Type", "")
            if response.status == 404 or "json" not in kind:
                return None, None
            after = _NEXT.search(response.headers.get("Link", "")[:_MOST_LINK_CHARACTERS])
            return response.body(_MOST_MANIFEST_BYTES), after and joined(path, after[1])

    def tagged_referrers(self, repository: str, digest: str) -> list[dict[str, Any]]:
        """Return the descriptors in the index that stands for a list of referrers."""
        try:
            data = self.manifest(repository, digest.replace(":", "-"))[0]
        except RegistryError as error:
            if error.status != 404:
                raise
            return []
        return self._descriptors(data)

    def _descriptors(self, data: bytes) -> list[dict[str, Any]]:
        try:
            found = json.loads(data)["manifests"] or []
            return [dict(each) for each in found]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise RegistryError(f"{self.host}: its list of referrers is damaged") from None

    def _part(self, response: Response, start: int, end: int, said: str) -> bytes:
        if response.status == 200 and end > _MOST_READ_ON_BYTES:
            raise RegistryError(
                f"{said}: the registry ignores ranges, and 256 MiB are read at most"
            )
        data = b"".join(ranges.pieces_of(response, start, end, said))
        if len(data) != end - start:
            raise RegistryError(f"{said}: cut off at byte {start + len(data)}", passing=True)
        return data

    def _manifest(
        self, method: str, repository: str, reference: str, accepted: tuple[int, ...] = (200,)
    ) -> AbstractContextManager[Response]:
        return self._transport.exchange(
            method,
            self._path(repository, "manifests", reference),
            self._scope(repository),
            {"Accept": _MANIFESTS},
            accepted=accepted,
        )

    def _blob(
        self,
        repository: str,
        digest: str,
        headers: dict[str, str] | None = None,
        accepted: tuple[int, ...] = (200,),
    ) -> AbstractContextManager[Response]:
        return self._transport.exchange(
            "GET",
            self._path(repository, "blobs", digest),
            self._scope(repository),
            headers,
            accepted=accepted,
        )

    def _check(self, expected: str, found: str) -> None:
        if found != expected:
            raise OtherBytesError(f"{self.host}: it sent {found}; expected {expected}")

    def _blob_at(self, digest: str) -> str:
        return f"{self.host}: blob {digest}"

    def _name(self, repository: str) -> str:
        is_official = self._transport.is_docker_hub and "/" not in repository
        return f"library/{repository}" if is_official else repository

    def _path(self, repository: str, kind: str, reference: str) -> str:
        return f"/v2/{quote(self._name(repository))}/{kind}/{quote(reference, safe=':')}"

    def _uploads(self, repository: str) -> str:
        return f"/v2/{quote(self._name(repository))}/blobs/uploads/"

    def _scope(self, repository: str, push: bool = False) -> str:
        return f"repository:{self._name(repository)}:{'pull,push' if push else 'pull'}"


def _digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
