"""Damaged libraries do after debloating what they did before, or are left as they are.

`benchmarks/mutants.py` tries thousands; here are some of each kind, and those that found something.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from exercised import Exercise
from mutant_debloating import outcome_of
from mutant_libraries import C_CALLS, C_SOURCE, CXX_CALLS, CXX_SOURCE, FLAGS, compiled
from mutations import Mutator

from trimtab.config.groups.debloat import Mode

# By library: what each of these found is said in the tests of what it was.
SEEDS = {
    "noseparate_code": [277, *range(1, 6)],
    "gold": [34, 281, *range(1, 6)],
    "relr": range(1, 6),
    "cxx": [100, 280, *range(1, 6)],
    "default": [2, 28, 100221, *range(1, 6)],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield tmp_path_factory.mktemp("mutants")


@pytest.mark.parametrize("kind", SEEDS)
def test_same_behaviour(folder: Path, kind: str) -> None:
    cxx = kind == "cxx"
    source, language = (CXX_SOURCE, "c++") if cxx else (C_SOURCE, "c")
    flags = FLAGS["bind_now" if cxx else kind]
    mutator = Mutator(compiled(folder / f"lib{kind}.so", source, language, flags))
    calls = CXX_CALLS if cxx else C_CALLS
    mutant, slim = folder / "mutant.so", folder / "slim/mutant.so"
    accepted = 0
    with Exercise(folder, calls) as plain, Exercise(folder, calls, "mutant.so") as watch:
        for seed in SEEDS[kind]:
            mutant.write_bytes(mutator.mutant(seed))
            mode = Mode.ZERO if seed % 4 == 3 else Mode.COMPACT
            outcome = outcome_of(mutant, slim, mode, plain, watch)
            assert outcome.before == outcome.after, (kind, seed)
            accepted += outcome.accepted
    assert accepted > len(SEEDS[kind]) / 3
