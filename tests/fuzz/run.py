"""Fuzz every target, two at once.

    python tests/fuzz/run.py SECONDS [TARGET ...]    # each for its share of the time
    python tests/fuzz/run.py same [TARGET ...]       # the same inputs every time

The first hunts: inputs that reach new code are kept in build/fuzz/corpus, and the next hunt goes on
from them. The second begins with the seeds alone and draws from one generator of random numbers, so
that it fails only where a change of the code makes it fail: it is what CI runs. An input that fails
a target is minimised and kept in build/fuzz/found; what is printed says how to replay it. Ends with
1 after any. What is printed stands in build/fuzz/figures.json too, which
benchmarks/results/fuzz.json was once.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
BUILD = PROJECT / "build/fuzz"
SHARED = Path("/dev/shm")
HARNESS = [sys.executable, str(HERE / "harness.py")]
# Shares of the time: what is larger, and what code of ours believes more, has more.
SHARES = {
    "elf": 6, "fatbin": 3, "cubin": 2, "traced_records": 2, "documents": 3, "traces": 3,
    "configuration": 3, "roots": 2, "file_index": 2, "sif": 1, "cold_index": 2,
}  # fmt: skip
# Of the run that is the same every time: about what a minute and a half of two processors come to.
INPUTS = {
    "elf": 14_000, "fatbin": 7_000, "cubin": 80_000, "traced_records": 45_000,
    "documents": 65_000, "traces": 14_000, "configuration": 200, "roots": 4_000,
    "file_index": 1_000, "sif": 13_000, "cold_index": 20_000,
}  # fmt: skip
_AT_ONCE = 2
# Of one process: libFuzzer's own memory grows with every input.
_LONGEST_S = 300
_FOUND = re.compile(rb"cov: (\d+) ft: (\d+)")
_EXECUTED = re.compile(rb"stat::number_of_executed_units: +(\d+)")


def hunt(target: str, seconds: int) -> tuple[str, dict[str, int]]:
    """Fuzz one target for so long; return a line about it and its figures."""
    corpus = BUILD / "corpus" / target
    corpus.mkdir(parents=True, exist_ok=True)
    slices = [min(_LONGEST_S, seconds - begun_s) for begun_s in range(0, seconds, _LONGEST_S)]
    return fuzz(target, corpus, [[f"-max_total_time={slice_s}"] for slice_s in slices])


def same(target: str) -> tuple[str, dict[str, int]]:
    """Fuzz one target with the inputs of every such run; return a line and its figures."""
    with tempfile.TemporaryDirectory() as corpus:
        return fuzz(target, Path(corpus), [["-seed=1", f"-runs={INPUTS[target]}"]])


def fuzz(target: str, corpus: Path, runs: Sequence[Sequence[str]]) -> tuple[str, dict[str, int]]:
    """Run libFuzzer once with each of the options `runs`.

    Returns a line about the target, and its figures: inputs, seconds, places reached, failures.
    """
    found = BUILD / "found" / target
    found.mkdir(parents=True, exist_ok=True)
    before = set(found.iterdir())
    begun_s = time.monotonic()
    inputs = places = crashes = 0
    log = b""
    for options in runs:
        command = [
            *HARNESS, target, *options,
            f"-artifact_prefix={found}/", "-print_final_stats=1", "-verbosity=1",
            str(corpus), str(HERE / "seeds" / target),
        ]  # fmt: skip
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            env=os.environ | {"PYTHONHASHSEED": "0"},  # a set's order is part of the path taken
        )
        log += done.stdout
        executed, covered = _EXECUTED.findall(done.stdout), _FOUND.findall(done.stdout)
        inputs += int([b"0", *executed][-1])
        places = max(places, int([(b"0", b"0"), *covered][-1][0]))
        crashes += done.returncode != 0
    seconds = round(time.monotonic() - begun_s)
    (BUILD / f"{target}.log").write_bytes(log)
    said = f"{target}: {inputs:,} inputs in {seconds} s, {places:,} places reached"
    new = sorted(set(found.iterdir()) - before)
    failed = crashes if not new else 0
    for path in new:
        replay = f"python tests/fuzz/harness.py {target} --replay {path}"
        again = minimised(target, path)
        # What was slow once may be the machine's doing: it has to be so again.
        passes = again.endswith(": passes")
        failed += not passes
        said += f"\n  {'slow once' if passes else 'failed'}: {replay}\n  {again}"
    if failed and not new:
        said += f"\n  ended badly {crashes} times: see {BUILD / target}.log"
    return said, {"inputs": inputs, "seconds": seconds, "places": places, "failed": failed}


def minimised(target: str, path: Path) -> str:
    """Return what a shorter input of the same failure says; it is written beside `path`."""
    command = [*HARNESS, target, "--minimise", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip()[:2000].replace("\n", "\n  ")


def main() -> None:
    """Fuzz all of them, or those that are named."""
    how, *chosen = sys.argv[1:]
    chosen = chosen or list(SHARES)
    os.nice(5)
    memory = SHARED if SHARED.is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as folder, ThreadPoolExecutor(_AT_ONCE) as pool:
        os.environ["TMPDIR"] = folder  # libFuzzer ends its process without any tidying
        if how == "same":
            results = pool.map(same, chosen)
        else:
            seconds, whole = int(how), sum(SHARES[target] for target in chosen)
            shares = [max(1, seconds * SHARES[target] // whole) for target in chosen]
            results = pool.map(hunt, chosen, shares)
        figures = {}
        for target, (said, found) in zip(chosen, results, strict=True):
            print(said, flush=True)
            figures[target] = found
    made = {"seconds": sum(each["seconds"] for each in figures.values()), "targets": figures}
    (BUILD / "figures.json").write_text(json.dumps(made, indent=1) + "\n")
    sys.exit(any(found["failed"] for found in figures.values()))


if __name__ == "__main__":
    main()
