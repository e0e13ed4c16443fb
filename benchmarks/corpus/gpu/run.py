"""The corpus on a GPU: programs debloated as a new user would, then run as they were not traced.

    python benchmarks/corpus/gpu/run.py --environment ENV --workspaces FOLDER --output FILE [NAME]

ENV holds PyTorch, CuPy and JAX for CUDA; trimtab may be installed elsewhere. One line of JSON a
program is appended to FILE: sizes, the traced input, sizes of input that were not traced,
operations and programs that were not traced, and strict runs.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "programs"
# Sizes of input that are not traced, by program; what is traced is its default.
HELD_OUT: dict[str, list[str]] = {
    "decoder": [f"{b}:{p}" for b in (1, 3, 7, 16) for p in (5, 17, 48, 100, 256, 300)],
    "resnet": [f"{b}:{s}" for b in (1, 5, 24, 40) for s in (64, 96, 160, 200)],
    "compiled": ["8", "100", "511", "2000"],
    "cupyfft": ["7", "30", "61", "97", "100", "128", "243", "343", "500", "720", "1000", "1024"],
    "jaxjit": ["3", "17", "33", "64", "100", "128", "300", "500", "768", "1000", "1500", "2000"],
    "lstm": [f"{n}:{w}" for n in (1, 7, 50, 128) for w in (16, 48, 128, 256)],
    "vit": [f"{b}:{s}" for b in (1, 3, 16, 33) for s in (112, 160, 256, 384)],
    "bert": [f"{b}:{n}" for b in (1, 5, 32, 65) for n in (3, 17, 128, 400)],
    "diffusion": ["16", "24", "40", "48", "64", "66", "80", "96"],
    "graphs": ["8", "33", "64", "100", "256", "500", "1024", "2048"],
    "cupylinalg": ["3", "8", "17", "33", "100", "128", "200", "256", "300", "513", "777", "1024"],
    "jaxtraining": ["1", "2", "3", "7", "8", "12", "24", "32", "48", "64", "96", "128"],
    "geometric": ["10", "33", "64", "100", "333", "1000", "2048", "5000", "10000", "30000"],
    "audio": ["5000", "8000", "9999", "12345", "16001", "24000", "48000", "100000"],
}
OTHERS = [
    "cupyfft",
    "jaxjit",
    "lstm",
    "bert",
    "geometric",
    "graphs",
    "vit",
    "audio",
    "diffusion",
    "decoder",
]
OPERATIONS = "operations"


def run(environment: Path, name: str, words: list[str], **variables: str) -> dict[str, Any]:
    """Run a program with an environment's interpreter."""
    begun = time.perf_counter()
    done = subprocess.run(
        [environment / "bin/python", PROGRAMS / f"{name}.py", *words],
        env={**os.environ, **variables}, capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    return {
        "exit_code": done.returncode,
        "lines": done.stdout.splitlines(),
        "error": done.stderr[-600:] if done.returncode else "",
        "wall_s": round(time.perf_counter() - begun, 2),
    }


def compared(
    original: dict[str, Any], slim: dict[str, Any], record: Path | None = None
) -> dict[str, Any]:
    """Return how many lines are equal, the first that are not, and what came back."""
    pairs = list(zip(original["lines"], slim["lines"], strict=False))
    misses: dict[str, int] = {}
    if record is not None and record.exists():
        for line in map(json.loads, record.read_text().splitlines()):
            if "library" in line:
                library = Path(line["library"]).name
                misses[library] = misses.get(library, 0) + 1
    return {
        "equal": sum(before == after for before, after in pairs),
        "of": max(len(original["lines"]), len(slim["lines"])),
        "exit_codes": [original["exit_code"], slim["exit_code"]],
        "wall_s": [original["wall_s"], slim["wall_s"]],
        "misses": misses,
        "different": [pair for pair in pairs if pair[0] != pair[1]][:5],
        "error": slim["error"],
    }


def measure(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Debloat one program, run it in every way, and return its row."""
    workspace, original = options.workspaces / name, options.environment
    begun = time.perf_counter()
    command = [*options.trimtab, "debloat", "--workspace", str(workspace), *options.option, "--"]
    done = subprocess.run(
        [*command, str(original / "bin/python"), str(PROGRAMS / f"{name}.py")],
        capture_output=True, text=True,
    )  # fmt: skip
    row: dict[str, Any] = {
        "program": name,
        "debloat_exit_code": done.returncode,
        "debloat_s": round(time.perf_counter() - begun, 1),
    }
    if done.returncode:
        logs = sorted(workspace.glob("settling/*/logs/*.stderr"), key=lambda p: p.stat().st_mtime)
        last = logs[-1].read_text()[-1500:] if logs else ""
        return row | {"error": (done.stdout + done.stderr)[-1500:] + last}
    slim = workspace / "env"
    files = json.loads((workspace / "manifest.json").read_text())["files"].values()
    row["libraries_before_bytes"] = sum(file["size_before_bytes"] for file in files)
    row["libraries_after_bytes"] = sum(file["size_after_bytes"] for file in files)

    def case(program: str, words: list[str], label: str) -> dict[str, Any]:
        record = workspace / f"{label}.jsonl"
        before = run(original, program, words)
        after = run(slim, program, words, TRIMTAB_FALLBACK_RECORD=str(record))
        return compared(before, after, record)

    row["traced_input"] = case(name, [], "traced")
    row["held_out"] = case(name, HELD_OUT[name], "held_out")
    strict = [
        run(slim, name, [], TRIMTAB_FALLBACK="strict", TRIMTAB_FALLBACK_RECORD=os.devnull)
        for _ in range(options.strict_runs)
    ]
    row["strict"] = {
        "runs": len(strict),
        "clean": sum(each["exit_code"] == 0 for each in strict),
        "error": next((each["error"] for each in strict if each["error"]), ""),
    }
    if name in options.others:
        row["operations"] = case(OPERATIONS, [], "operations")
        with ThreadPoolExecutor(len(OTHERS)) as pool:
            cases = pool.map(lambda other: case(other, [], f"other_{other}"), OTHERS)
            row["other_programs"] = dict(zip(OTHERS, cases, strict=True))
    if name in options.eager:
        row["eager"] = compared(
            run(original, name, [], CUDA_MODULE_LOADING="EAGER"),
            run(slim, name, [], CUDA_MODULE_LOADING="EAGER"),
        )
    if not options.keep:
        shutil.rmtree(workspace)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(HELD_OUT), metavar="NAME")
    parser.add_argument("--environment", type=Path, required=True)
    parser.add_argument("--workspaces", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--strict-runs", type=int, default=5)
    parser.add_argument(
        "--others", nargs="*", default=["decoder"], help="also run what they are not"
    )
    parser.add_argument("--eager", nargs="*", default=["decoder"])
    parser.add_argument("--option", action="append", default=[], help="of trimtab debloat")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    options.trimtab = [sys.executable, "-c", "from trimtab.cli.main import main; main()"]

    def work(name: str) -> None:
        try:
            row = measure(name, options)
        except Exception as error:  # one program's failure is its row
            row = {"program": name, "error": f"{type(error).__name__}: {error}"}
        with options.output.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(name, row.get("debloat_s"), row.get("error", "")[-300:], flush=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(work, options.names))


if __name__ == "__main__":
    main()
