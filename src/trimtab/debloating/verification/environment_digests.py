"""Check that both environments are unchanged, to the byte, since the slim one was built."""

from pathlib import Path

from trimtab.debloating.verification.library_origins import and_more
from trimtab.errors import TrimtabError, UserError
from trimtab.files import sha256_of_all
from trimtab.records.built_environment import BuiltEnvironment
from trimtab.records.manifest import Manifest


def check_intact(debloated: Path, original: Path, slim: Path) -> None:
    """Compare the libraries of both environments, and the fallback, with their digests.

    The digests are in manifest.json and environment.json of the folder `debloated`. Raises
    UserError if the original is not the debloated one, and TrimtabError if the environment `slim`
    was changed since it was built.
    """
    files = Manifest.read(debloated / "manifest.json").files
    before = {original / name: file.sha256_before for name, file in files.items()}
    after = {slim / name: file.sha256_after for name, file in files.items()}
    record = debloated / "environment.json"
    if record.exists():
        built = BuiltEnvironment.read(record)
        after |= {slim / name: digest for name, digest in built.fallback.items()}
    if other := _others(before):
        raise UserError(f"{_first(other)}: not the library that was debloated; profile it again")
    if other := _others(after):
        raise TrimtabError(f"{_first(other)}: changed since it was built; build {slim} again")


def _others(expected: dict[Path, str]) -> list[Path]:
    digests = sha256_of_all(path for path in expected if path.is_file())
    return [path for path, digest in expected.items() if digests.get(path) != digest]


def _first(paths: list[Path]) -> str:
    return f"{paths[0]}{and_more(len(paths) - 1)}"
