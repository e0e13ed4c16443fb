"""Reads the outcome of a folder of results: an experiment's, a target's or a workspace."""

from pathlib import Path
from typing import TypeVar

from trimtab.errors import UserError
from trimtab.evaluation.inputs.ends import judged
from trimtab.evaluation.outcome.weight import weigh
from trimtab.records.built_environment import BuiltEnvironment, CompressedEnvironment
from trimtab.records.document import Document
from trimtab.records.manifest import Manifest
from trimtab.records.misses.brought_back import brought_back
from trimtab.records.outcome import Outcome
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import LIBRARIES
from trimtab.records.verdict import Verdict

Kind = TypeVar("Kind", bound=Document)


def outcome_in(folder: Path) -> Outcome:
    """Return the outcome in a folder of results.

    It is `results/evaluate/EXPERIMENT`, `results/debloat/TARGET/HARDWARE` or a workspace, where
    sizes on disk are the environment's present ones. Raises UserError for any other folder.
    """
    if (folder / "outcome.json").is_file():
        found = Outcome.read(folder / "outcome.json")
        believed = [each.believed() for each in found.environments]
        return found.model_copy(update={"environments": believed})
    if not (folder / "environment.json").is_file():
        raise UserError(
            f"{folder}: no results are here; expected the workspace of `trimtab debloat`,"
            " results/debloat/TARGET/HARDWARE or results/evaluate/EXPERIMENT"
        )
    # A failed verification has only the verdict beside its evidence.
    verdict = _if_there(Verdict, folder / "verify.json")
    failure = _if_there(Verdict, folder / "failure/verify.json")
    built = BuiltEnvironment.read(folder / "environment.json")
    came_back = brought_back(folder)
    return Outcome(
        environments=[
            weigh(
                Manifest.read(folder / "manifest.json"),
                read_table(folder / "libraries.parquet", LIBRARIES),
                built.model_copy(update={"after_bytes": built.after_bytes + came_back.disk_bytes}),
                _if_there(CompressedEnvironment, folder / "compressed.json"),
                judged(folder, failure or verdict),
                came_back=came_back,
            )
        ]
    )


def _if_there(kind: type[Kind], path: Path) -> Kind | None:
    return kind.read(path) if path.is_file() else None
