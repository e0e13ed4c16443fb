"""How much of an environment's files stays and goes, in its manifest."""

from pydantic.dataclasses import dataclass

from trimtab.records.document import PART
from trimtab.records.values import Whole


@dataclass(frozen=True, config=PART)
class RemovedFiles:
    """Regular files that stay and go, each once, and their bytes, before libraries lose code.

    Links and folders are no files; files.parquet has all.
    """

    kept_files: Whole
    kept_bytes: Whole
    removed_files: Whole
    removed_bytes: Whole
