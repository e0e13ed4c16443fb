"""Every kind of document; one that is accepted is written and read again."""

import importlib
import pkgutil
from pathlib import Path

import trimtab.records
from trimtab.debloating.span_document import spans_of
from trimtab.errors import TrimtabError
from trimtab.records.document import Document
from trimtab.records.library_spans import LibrarySpans

ERRORS = TrimtabError
for _module in pkgutil.walk_packages(trimtab.records.__path__, "trimtab.records."):
    importlib.import_module(_module.name)
KINDS = sorted(Document.__subclasses__(), key=lambda kind: kind.__name__)


def run(data: bytes, folder: Path) -> None:
    kind = KINDS[(data[0] if data else 0) % len(KINDS)]
    path = folder / "document.json"
    path.write_bytes(data[1:])
    document = kind.read(path)
    if isinstance(document, LibrarySpans):
        spans_of(document)
    document.write(folder / "again.json")
    assert kind.read(folder / "again.json") == document
