"""Fuzz every target for its share of the time, two at once: python tests/fuzz/run.py SECONDS.

Inputs that reach new code are kept in build/fuzz/corpus. One that fails a target is minimised and
kept in build/fuzz/found; what is printed says how to replay it. Ends with 1 after any.
"""

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
    "configuration": 3,
}  # fmt: skip
_AT_ONCE = 2
_FOUND = re.compile(rb"cov: (\d+) ft: (\d+)")
_EXECUTED = re.compile(rb"stat::number_of_executed_units: +(\d+)")


def fuzz(target: str, seconds: int) -> tuple[str, bool]:
    """Return a line about one target, and whether all its inputs passed."""
    corpus, found = BUILD / "corpus" / target, BUILD / "found" / target
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(parents=True, exist_ok=True)
    before = set(found.iterdir())
    command = [
        *HARNESS, target, f"-max_total_time={seconds}", f"-artifact_prefix={found}/",
        "-print_final_stats=1", "-verbosity=1", str(corpus), str(HERE / "seeds" / target),
    ]  # fmt: skip
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    (BUILD / f"{target}.log").write_bytes(done.stdout)
    executed, covered = _EXECUTED.findall(done.stdout), _FOUND.findall(done.stdout)
    said = f"{target}: {int(executed[-1]) if executed else 0:,} inputs in {seconds} s"
    said += f", {int(covered[-1][0]):,} places reached" if covered else ""
    new = sorted(set(found.iterdir()) - before)
    for path in new:
        replay = f"python tests/fuzz/harness.py {target} --replay {path}"
        said += f"\n  failed: {replay}\n  {minimised(target, path)}"
    if done.returncode and not new:
        said += f"\n  ended with {done.returncode}: see {BUILD / target}.log"
    return said, not done.returncode


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
        results = []
        for said, passed in pool.map(fuzz, chosen, each):
            print(said, flush=True)
            results.append(passed)
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
