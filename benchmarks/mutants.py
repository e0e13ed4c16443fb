"""Damaged libraries, loaded and called before and after debloating: do they do the same?"""

import argparse
import collections
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import save

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/unit/binaries"))
from exercised import Exercise
from mutant_debloating import outcome_of
from mutant_libraries import make_libraries
from mutations import Mutator

from trimtab.config.groups.debloat import Mode
from trimtab.errors import TrimtabError

# Of numpy's own, with what they give without Python.
NUMPY = {"libquadmath-*": ["no_such_function"], "libgfortran-*": ["_gfortran_iargc"]}
MODES = (Mode.COMPACT, Mode.COMPACT, Mode.COMPACT, Mode.ZERO)


def libraries(folder: Path) -> dict[str, tuple[Path, list[str]]]:
    found = make_libraries(folder)
    shipped = Path(np.__file__).parents[1] / "numpy.libs"
    for pattern, calls in NUMPY.items():
        for path in sorted(shipped.glob(pattern)):
            # They find each other by their folder, the slim ones too.
            copy = folder / path.name
            for beside in (copy, folder / "slim" / path.name):
                beside.write_bytes(path.read_bytes())
            found[path.name.partition("-")[0]] = copy, calls
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accepted", type=int, default=5000, help="mutants to load before")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for mutants that differ")
    parser.add_argument("--only", default="", help="the libraries with this in their name")
    options = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    by_library: dict[str, int] = {}
    findings, begun = [], time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "slim").mkdir()
        every = {k: v for k, v in libraries(folder).items() if options.only in k}
        share = -(-options.accepted // len(every))
        for library, (path, calls) in every.items():
            mutator, accepted, seed = Mutator(path), 0, options.seed
            mutant, slim = folder / "mutant.so", folder / "slim/mutant.so"
            with (
                Exercise(folder, calls) as plain,
                Exercise(folder, calls, "mutant.so") as watch,
            ):
                while accepted < share:
                    seed += 1
                    mutant.write_bytes(mutator.mutant(seed))
                    try:
                        outcome = outcome_of(mutant, slim, MODES[seed % 4], plain, watch)
                    except (TrimtabError, Exception) as error:
                        findings.append((library, seed, f"{type(error).__name__}: {error}"))
                    else:
                        counts[outcome.kind] += 1
                        accepted += outcome.accepted
                        counts["accepted"] += outcome.accepted
                        if outcome.same:
                            continue
                        findings.append((library, seed, f"{outcome.before} / {outcome.after}"))
                    print(*findings[-1], flush=True)
                    if options.keep:
                        options.keep.mkdir(exist_ok=True)
                        (options.keep / f"{library}-{seed}.so").write_bytes(mutant.read_bytes())
            by_library[library] = accepted
            print(library, accepted, seed, f"{time.perf_counter() - begun:.0f} s", dict(counts))
    if not options.only:
        save(
            "mutants",
            {
                "tried": sum(counts.values()) - counts["accepted"],
                **counts,
                "accepted_by_library": by_library,
                "seed": options.seed,
                "wall_s": round(time.perf_counter() - begun),
                "different": [list(finding) for finding in findings],
            },
        )
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
