"""The cold index as an artifact in a registry, which belongs to the slim image.

OCI image specification v1.1, manifest.md ("Guidelines for Artifact Usage"); distribution
specification v1.1, "Pushing Manifests with Subject" and "Referrers Tag Schema".
"""

from typing import Any

from trimtab.cold_store.index import ColdIndex
from trimtab.cold_store.registry import Registry
from trimtab.debloating.shipping import cold_blob
from trimtab.images.archives.descriptor import INDEX, MANIFEST
from trimtab.images.compression import Compression
from trimtab.images.digest import digest_of
from trimtab.images.writing.documents import described, json_bytes
from trimtab.images.writing.image import LAYER_TYPES

ARTIFACT_TYPE = "application/vnd.trimtab.cold-index.v1"
EMPTY = b"{}"
_OWN_TAG = ".cold"
_EMPTY_TYPE = "application/vnd.oci.empty.v1+json"


def put_artifact(
    registry: Registry,
    repository: str,
    subject: dict[str, Any],
    index: ColdIndex,
    data: bytes,
    cold_blob_digest: str | None,
) -> str:
    """Put the manifest of the index `data` for the image `subject`, and return its digest.

    It names the index and its layers, so that the registry keeps them as long; one of them may be
    the cold blob. All of them, and EMPTY, are there. A registry without the referrers API gets the
    tag that stands for it, and one for the manifest itself.
    """
    layers = [
        {
            "mediaType": cold_blob.MEDIA_TYPE
            if layer.digest == cold_blob_digest
            else LAYER_TYPES[Compression(layer.compression)],
            "digest": layer.digest,
            "size": layer.size_bytes,
        }
        for layer in index.layers
    ]
    manifest = json_bytes(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "artifactType": ARTIFACT_TYPE,
            "config": described(_EMPTY_TYPE, EMPTY),
            "layers": [described(ARTIFACT_TYPE, data), *layers],
            "subject": subject,
        }
    )
    digest = digest_of(manifest)
    if not registry.put_manifest(repository, digest, manifest, MANIFEST):
        # Such registries also remove manifests that have no tag, where they are told to.
        tag = f"{subject['digest'].replace(':', '-')}{_OWN_TAG}"
        registry.put_manifest(repository, tag, manifest, MANIFEST)
        mine = {**described(MANIFEST, manifest), "artifactType": ARTIFACT_TYPE}
        _add_to_tag(registry, repository, subject["digest"], mine)
    return digest


def _add_to_tag(
    registry: Registry, repository: str, subject: str, descriptor: dict[str, Any]
) -> None:
    tag = subject.replace(":", "-")
    listed = registry.tagged_referrers(repository, subject)
    others = [each for each in listed if each.get("digest") != descriptor["digest"]]
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [*others, descriptor]}
    registry.put_manifest(repository, tag, json_bytes(index), INDEX)
