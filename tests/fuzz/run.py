"""Fuzz every target for its share of the time, two at once: python tests/fuzz/run.py SECONDS.

Inputs that reach new code are kept in build/fuzz/corpus. One that fails a target is minimised and
kept in build/fuzz/found; what is printed says how to replay it. Ends with 1 after any. What is
printed stands in build/fuzz/figures.json too, which benchmarks/results/fuzz.json was once.
"""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
BUILD = PROJECT / "build/fuzz"
HARNESS = [sys.executable, str(HERE / "harness.py")]
# Shares of the time: what is larger, and what code of ours believes more, has more.
SHARES = {
    "elf": 6, "fatbin": 3, "cubin": 2, "traced_records": 2, "documents": 3, "traces": 3,
    "configuration": 3, "roots": 2, "file_index": 2,
}  # fmt: skip
_AT_ONCE = 2
# Of one process: libFuzzer's own memory grows with every input.
_LONGEST_S = 300
_FOUND = re.compile(rb"cov: (\d+) ft: (\d+)")
_EXECUTED = re.compile(rb"stat::number_of_executed_units: +(\d+)")


def fuzz(target: str, seconds: int) -> tuple[str, dict[str, int]]:
    """Return a line about one target, and its figures: inputs, places reached, failures."""
    corpus, found = BUILD / "corpus" / target, BUILD / "found" / target
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(parents=True, exist_ok=True)
    before = set(found.iterdir())
    inputs = places = crashes = 0
    log = b""
    for begin_s in range(0, seconds, _LONGEST_S):
        command = [
            *HARNESS, target, f"-max_total_time={min(_LONGEST_S, seconds - begin_s)}",
            f"-artifact_prefix={found}/", "-print_final_stats=1", "-verbosity=1",
            str(corpus), str(HERE / "seeds" / target),
        ]  # fmt: skip
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        log += done.stdout
        executed, covered = _EXECUTED.findall(done.stdout), _FOUND.findall(done.stdout)
        inputs += int([b"0", *executed][-1])
        places = max(places, int([(b"0", b"0"), *covered][-1][0]))
        crashes += done.returncode != 0
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
    """Fuzz all of them."""
    seconds = int(sys.argv[1])
    chosen = sys.argv[2:] or list(SHARES)
    whole = sum(SHARES[target] for target in chosen)
    os.nice(5)
    each = [max(1, seconds * SHARES[target] // whole) for target in chosen]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        figures = {}
        for target, (said, found) in zip(chosen, pool.map(fuzz, chosen, each), strict=True):
            print(said, flush=True)
            figures[target] = found
    made = {"seconds": sum(each), "targets": figures}
    (BUILD / "figures.json").write_text(json.dumps(made, indent=1) + "\n")
    sys.exit(any(found["failed"] for found in figures.values()))


if __name__ == "__main__":
    main()
