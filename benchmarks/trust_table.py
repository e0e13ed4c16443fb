"""The table of benchmarks/README.md on hostile files, kills, faults and two at once."""

from typing import Any

from common import load

RESULTS = ("mutants", "kills", "faults", "tampered", "bombs", "hostile", "fuzz", "checks")
_LONGEST_S, _LARGEST_MB = 5, 1000


def rows() -> list[tuple[str, str, str, str]]:
    """What, bar, measured and verdict of every campaign that has results."""
    made = {name: load(name) for name in RESULTS}
    found = [_OF[name](figures) for name, figures in made.items() if figures]
    return [(*row, "met" if met else "**missed**") for *row, met in found]


def _mutants(figures: Any) -> tuple[str, str, str, bool]:
    return (
        "damaged libraries that load, used before and after debloating (`mutants.py`)",
        "at least 5,000, the same in all",
        f"{figures['accepted']:,} of {figures['tried']:,} tried, {len(figures['different'])} other"
        f" than before; {figures['left']:,} left as they are",
        figures["accepted"] >= 5000 and not figures["different"],
    )


def _kills(figures: Any) -> tuple[str, str, str, bool]:
    gone = figures["s_until_all_below_were_gone"]
    return (
        "kills at random moments (`kills.py`)",
        "at least 200: same results, nothing alive after 2 s, no lock that needs a hand",
        f"{figures['kills']}: {figures['rounds_with_the_same_results']} of {figures['rounds']}"
        f" rounds with the same results, {figures['left_alive_after_2_s']} with something alive"
        f" after 2 s (gone in {gone['median']:.2f} s, at most {gone['highest']:.2f})",
        figures["kills"] >= 200
        and figures["rounds"] == figures["rounds_with_the_same_results"]
        and not figures["left_alive_after_2_s"],
    )


def _faults(figures: Any) -> tuple[str, str, str, bool]:
    ended = sum(figures["ended_with_an_error"].values())
    return (
        "faults injected into a call that changes a file or starts something (`faults.py`)",
        "at least 500: no half result, originals as they were",
        f"{figures['faults']}: {ended} one clear error, the others the right result;"
        f" {len(figures['problems'])} anything else",
        figures["faults"] >= 500 and not figures["problems"],
    )


def _tampered(figures: Any) -> tuple[str, str, str, bool]:
    total = figures["total"]
    return (
        f"every field of {len(figures['documents'])} documents of a workspace, damaged"
        " (`tampered.py`)",
        "one clear error each",
        f"{total['refused when read']:,} refused when read; of the other"
        f" {total['accepted when read']:,}, other values of the field's own kind, every third was"
        f" given to a step: {total['refused by a step']} refused, {total['accepted by a step']}"
        f" with the right result; {len(figures['wrong'])} anything else",
        not figures["wrong"],
    )


def _bombs(figures: Any) -> tuple[str, str, str, bool]:
    rows = figures["libraries"]
    return (
        f"{len(rows)} libraries whose GPU code grows or is damaged (`bombs.py`)",
        f"at most {_LONGEST_S} s and {_LARGEST_MB} MB",
        _most(rows),
        _within(rows),
    )


def _hostile(figures: Any) -> tuple[str, str, str, bool]:
    rows = figures["programs"]
    hang = [row["program"] for row in rows if row["said"].startswith("hangs")]
    died = [row["program"] for row in rows if row["said"].startswith("dies")]
    return (
        f"{len(rows)} traced programs that mean harm (`hostile.py`)",
        "none has trimtab hang or die",
        f"{len(hang)} hang, {len(died)} die; {_most(rows)}, their own time included",
        not hang and not died,
    )


def _fuzz(figures: Any) -> tuple[str, str, str, bool]:
    targets = figures["targets"]
    inputs = sum(target["inputs"] for target in targets.values())
    failed = sum(target["failed"] for target in targets.values())
    return (
        f"fuzzing of {len(targets)} kinds of files, guided by coverage (`make fuzz`)",
        "an hour: no crash, hang over 5 s, memory over 1 GB or file outside its folder",
        f"{figures['seconds'] / 60:.0f} min of processor time, {inputs:,} inputs, {failed} failed",
        figures["seconds"] >= 3600 and not failed,
    )


def _checks(figures: Any) -> tuple[str, str, str, bool]:
    ratio = figures["ratio"]
    return (
        "`trimtab debloat` of LeNet5 with all checks against none, in turns",
        "at most 1.10x",
        f"{ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})x",
        ratio["median"] <= 1.1,
    )


_OF = {
    "mutants": _mutants, "kills": _kills, "faults": _faults, "tampered": _tampered,
    "bombs": _bombs, "hostile": _hostile, "fuzz": _fuzz, "checks": _checks,
}  # fmt: skip


def _most(rows: Any) -> str:
    longest, largest = (max(row[key] for row in rows) for key in ("wall_s", "peak_mb"))
    return f"at most {longest:.1f} s and {largest:,} MB"


def _within(rows: Any) -> bool:
    return all(row["wall_s"] <= _LONGEST_S and row["peak_mb"] <= _LARGEST_MB for row in rows)
