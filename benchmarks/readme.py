"""Write the table of benchmarks/README.md from the committed results."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import characterization_table
import cold_start_table
import cold_store_table
import container_cpu_table
import corpus_table
import gpu_corpus_table
import gpu_environment_table
import gpu_table
import image_table
import schedule_table
import secure_table
import shipping_table
import snapshots_table
import thesis_image_table
import trust_table
import tuning_table
from common import load

from trimtab.files import atomic_write, read_json

README = Path(__file__).parent / "README.md"
BEGIN, END = "<!-- figures: made by readme.py -->", "<!-- end of figures -->"
SCHEDULE_BEGIN = "<!-- scheduling figures: made by readme.py -->"
SCHEDULE_END = "<!-- end of scheduling figures -->"
TRUST = ("<!-- trust: made by readme.py -->", "<!-- end of trust -->")
TUNING = ("<!-- tuning: made by readme.py -->", "<!-- end of tuning -->")
SECURE = ("<!-- secure tasks: made by readme.py -->", "<!-- end of secure tasks -->")
SPARK = ("<!-- learning on Spark: made by readme.py -->", "<!-- end of learning on Spark -->")
STARTS = ("<!-- cold starts: made by readme.py -->", "<!-- end of cold starts -->")
SHIPPED = ("<!-- shipped images: made by readme.py -->", "<!-- end of shipped images -->")
COLD_STORE = ("<!-- cold store: made by readme.py -->", "<!-- end of cold store -->")
SNAPSHOTS = ("<!-- snapshots: made by readme.py -->", "<!-- end of snapshots -->")
EACH_SNAPSHOT = ("<!-- each snapshot: made by readme.py -->", "<!-- end of each snapshot -->")
CONTAINER_CPU = (
    "<!-- containers' processor time: made by readme.py -->",
    "<!-- end of containers' processor time -->",
)
IMAGES = ("<!-- images: made by readme.py -->", "<!-- end of images -->")
SLIM_IMAGES = ("<!-- slim images: made by readme.py -->", "<!-- end of slim images -->")
METHODS = ("<!-- methods: made by readme.py -->", "<!-- end of methods -->")
CPU_CORPUS = ("<!-- CPU corpus: made by readme.py -->", "<!-- end of CPU corpus -->")
GPU_CORPUS = ("<!-- GPU corpus: made by readme.py -->", "<!-- end of GPU corpus -->")
GPU_ENVIRONMENTS = (
    "<!-- GPU environments: made by readme.py -->",
    "<!-- end of GPU environments -->",
)
GPU_BEGIN, GPU_END = "<!-- GPU figures: made by readme.py -->", "<!-- end of GPU figures -->"


def _share(before: float, after: float) -> float:
    return 100 * (1 - after / before)


def _range(figures: dict[str, Any], digits: int = 2) -> str:
    low, high = figures["low"], figures["high"]
    return f"{figures['median']:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def rows() -> list[tuple[str, str, str, str]]:
    """What, bar, measured and verdict of every benchmark that has results."""
    found: list[tuple[str, str, str, bool]] = []
    tracing: Any = load("tracing")
    if tracing:
        plain = tracing["plain_wall_s"]["median"]
        functions = tracing["functions_wall_s"]["median"]
        found.append(
            (
                "function and library tracing, LeNet5 training, 7 interleaved runs each",
                "at most 1.10x the wall time plus 1 s",
                f"{functions:.2f} s against {plain:.2f} s; ratio of pairs"
                f" {_range(tracing['functions_ratio'])},"
                f" difference {_range(tracing['functions_difference_s'])} s",
                functions <= 1.1 * plain + 1,
            )
        )
        found.append(
            (
                "file tracing, the same",
                "at most 1.15x",
                f"ratio of pairs {_range(tracing['files_ratio'])}",
                tracing["files_ratio"]["median"] <= 1.15,
            )
        )
    libraries: Any = load("libraries")
    if libraries:
        compact = libraries["compact"]
        function_share = _share(compact["function_bytes_before"], compact["function_bytes_after"])
        found.append(
            (
                "function bytes of traced libraries removed (quickstart)",
                "at least 90 % (published: up to 72 %)",
                f"{function_share:.1f} % of {compact['function_bytes_before'] / 1e6:.0f} MB",
                function_share >= 90,
            )
        )
        disk = _share(compact["disk_before_bytes"], compact["disk_after_bytes"])
        packed = _share(compact["compressed_before_bytes"], compact["compressed_after_bytes"])
        found.append(
            (
                "size of all traced shared libraries together, compact, stripped",
                "at least 60 % smaller on disk, and as much compressed",
                f"{disk:.1f} % on disk, {packed:.1f} % compressed (zstd)",
                disk >= 60 and packed >= 60,
            )
        )
        work = libraries["locate_and_compact"]
        memory = work["peak_rss_bytes"] / work["largest_library_bytes"]
        found.append(
            (
                "locate + compact, all libraries of PyTorch CPU that LeNet5 loads",
                "at most 20 s on two cores, memory at most 1.5x the largest library",
                f"{work['wall_s']:.1f} s for {work['libraries']} libraries;"
                f" peak {work['peak_rss_bytes'] / 1e6:.0f} MB, {memory:.2f}x",
                work["wall_s"] <= 20 and memory <= 1.5,
            )
        )
    relations: Any = load("relations")
    if relations:
        calls, default = relations["calls"], relations["default"]
        lenet5 = relations["disk_removed_percent"]["workloads/lenet5"]
        other, share = "other_program_missed_functions_mean", "disk_removed_percent_mean"
        found.append(
            (
                f"unused functions kept, {relations['programs']} programs: libraries on disk"
                " against what other programs and inputs miss",
                "LeNet5 at least 60 % smaller",
                f"LeNet5 {lenet5:.1f} %, mean {default[share]:.1f} % ({calls[share]:.1f} % with"
                f" calls alone); missed by another program {default[other]:.0f}"
                f" ({calls[other]:.0f}), another input"
                f" {default['heldout_missed_functions_mean']:.0f}"
                f" ({calls['heldout_missed_functions_mean']:.0f}), other conditions"
                f" {default['repeat_missed_functions_mean']:.0f}",
                lenet5 >= 60,
            )
        )
    fallback: Any = load("fallback")
    if fallback:
        kinds = [kind for kind in fallback if isinstance(fallback[kind], dict)]
        for what, words, most_ms in (
            ("function", "a removed function that is called comes back, once a process", 1),
            ("piece", "a MiB of removed GPU code that is read comes back", 50),
        ):
            medians = {k: fallback[k][f"{what}_first_ms"]["median"] for k in kinds}
            found.append(
                (
                    words,
                    f"at most {most_ms} ms",
                    "median ms by store: "
                    + ", ".join(f"{k.replace('_', ' ')} {v:.2f}" for k, v in medians.items()),
                    max(medians.values()) <= most_ms,
                )
            )
    files: Any = load("fallback_files")
    if files:
        stores = [kind for kind in ("original", "packed", "folder", "http") if kind in files]
        p99 = {kind: files[kind]["up_to_1_mb_cpu_p99_ms"] for kind in stores}
        large = {kind: files[kind]["of_10_mb_cpu_p50_ms"] for kind in stores}
        wall = {kind: files[kind]["up_to_1_mb_p99_ms"] for kind in stores}
        found.append(
            (
                f"a removed file that is read comes back, {files['files']} files, by store",
                "at most 20 ms a file, as delivered: from the original or a folder",
                f"processor time up to 1 MB, 99 of 100: {_by_kind(p99)} ms; of 10 MB, median:"
                f" {_by_kind(large)} ms; wall time up to 1 MB, 99 of 100: {_by_kind(wall)} ms",
                max(*p99.values(), large["original"], large["folder"], wall["folder"]) <= 20,
            )
        )
        nothing = files["nothing_missed"]
        calls = nothing["system_calls_of_a_start"]
        found.append(
            (
                "opening and closing a present file, with the fallback for files or without",
                "no cost",
                f"{_range(nothing['open_and_close']['ratio'])} times; a start of Python makes"
                f" {calls['with'] - calls['without']} system calls more than {calls['without']:,}",
                nothing["open_and_close"]["ratio"]["low"] <= 1,  # a range around it: no change
            )
        )
    held_out: Any = load("held_out")
    if held_out:
        measured = held_out["workloads"]
        runs = [run for each in measured.values() for run in each["inputs"]]
        strict = [run for run in runs if run["behaviour"] == "strict"]
        reported = [run for run in strict if run["equal"] or run["missed"]]
        named = [run for run in runs if not run["without_name"]]
        back = [run["equal"] for run in runs if run["behaviour"] == "restore"]
        found.append(
            (
                f"inputs that were not profiled, {len(measured)} workloads",
                "strict: reported, every miss named; delivered: output equal",
                f"strict: {len(reported)} of {len(strict)} equal or named,"
                f" {sum(bool(run['missed']) for run in strict)} with a miss; {len(named)} of"
                f" {len(runs)} runs have a name for every miss; delivered: {sum(back)} of"
                f" {len(back)} equal",
                len(reported) == len(strict) and len(named) == len(runs) and all(back),
            )
        )
        for name, each in measured.items():
            if again := each.get("repeated"):
                found.append(
                    (
                        f"{again['runs']} runs of {name} in its slim environment, one after the"
                        " other",
                        "no failure, outputs equal",
                        f"{again['failed']} failed, {again['another_output']} with another output,"
                        f" {again['missed']} pieces or files missed",
                        not (again["failed"] or again["another_output"]),
                    )
                )
    outputs: Any = load("outputs")
    if outputs:
        verdicts = outputs["verdicts"]
        other = [name for name, each in verdicts.items() if each["equal_runs"] != each["repeats"]]
        fewest = min(each["repeats"] for each in verdicts.values())
        found.append(
            (
                "output of the slim environment, shipped workloads of the experiment `full`",
                "equal to the last bit, five runs each",
                f"{len(verdicts) - len(other)} of {len(verdicts)}, at least {fewest} runs each"
                + (f"; not {', '.join(other)}" if other else ""),
                not other and fewest >= 5,
            )
        )
    debloat: Any = load("debloat")
    if debloat:
        whole = debloat["original_bytes"]
        peak = debloat["extra_peak_bytes"] / whole
        found.append(
            (
                f"`trimtab debloat` of {debloat['program']}: disk beside the original environment,"
                f" {whole / 1e6:,.0f} MB",
                "while working at most 0.5x, then the slim environment",
                f"peak {peak:.2f}x, then {debloat['extra_after_bytes'] / whole:.2f}x; the slim"
                f" environment is {debloat['slim_bytes'] / 1e6:,.0f} MB, of which"
                f" {debloat['shared_bytes'] / 1e6:,.0f} MB are files that both have",
                peak <= 0.5 and debloat["extra_after_bytes"] <= debloat["slim_bytes"],
            )
        )
    workflow: Any = load("workflow")
    if workflow:
        found.append(
            (
                "`snakemake -n` when nothing changed",
                "at most 6 s",
                f"{_range(workflow['dry_run_s'])} s",
                workflow["dry_run_s"]["median"] <= 6,
            )
        )
    return [(*row, "met" if met else "**missed**") for *row, met in found]


def main() -> None:
    """Replace what stands between the markers."""
    names = (
        "tracing",
        "libraries",
        "relations",
        "fallback",
        "fallback_files",
        "held_out",
        "outputs",
        "debloat",
        "workflow",
    )
    text = _replaced(README.read_text(), BEGIN, END, _machines(names), rows())
    schedules = schedule_table.rows()
    machines = _machines(schedule_table.RESULTS)
    text = _replaced(text, SCHEDULE_BEGIN, SCHEDULE_END, machines, schedules)
    secure = _machines(secure_table.RESULTS)
    text = _replaced(text, *SECURE, secure, secure_table.rows())
    spark = _machines(characterization_table.RESULTS)
    text = _replaced(text, *SPARK, spark, characterization_table.rows())
    trust = _machines(trust_table.RESULTS)
    text = _replaced(text, *TRUST, trust, trust_table.rows())
    text = _between(text, *SLIM_IMAGES, ["", *image_table.lines(), ""])
    images = [*image_table.rows(), *thesis_image_table.rows()]
    machines = [*image_table.machines(), *_machines(thesis_image_table.RESULTS)]
    text = _replaced(text, *IMAGES, machines, images)
    starts = _machines(cold_start_table.RESULTS)
    text = _replaced(text, *STARTS, starts, cold_start_table.rows())
    machines = container_cpu_table.machines()
    text = _replaced(text, *CONTAINER_CPU, machines, container_cpu_table.rows())
    stores = _machines(cold_store_table.RESULTS)
    text = _replaced(text, *COLD_STORE, stores, cold_store_table.rows())
    shipped = ["", f"Measured on {'; '.join(shipping_table.machines())}.", ""]
    text = _between(
        text, *SHIPPED, [*shipped, *shipping_table.lines(), "", *shipping_table.lazy_lines(), ""]
    )
    text = _between(text, *METHODS, ["", *image_table.side_by_side(), ""])
    saved = _machines(snapshots_table.RESULTS)
    text = _replaced(text, *SNAPSHOTS, saved, snapshots_table.rows())
    text = _between(text, *EACH_SNAPSHOT, ["", *snapshots_table.lines(), ""])
    tuning = _machines([f"tuning_{name}" for name in tuning_table.RESULTS])
    text = _replaced(text, *TUNING, tuning, tuning_table.rows())
    described = read_json(gpu_table.FOLDER / "machines.json")
    gpus = sorted({f"{', '.join(each['gpus'])}; {each['machine']}, {each['date']}"
                   for each in described})  # fmt: skip
    text = _replaced(text, GPU_BEGIN, GPU_END, gpus, gpu_table.rows())
    for (begin, end), module in (
        (CPU_CORPUS, corpus_table),
        (GPU_CORPUS, gpu_corpus_table),
        (GPU_ENVIRONMENTS, gpu_environment_table),
    ):
        text = _between(text, begin, end, ["", *module.lines(), ""])
    with atomic_write(README) as temporary:
        temporary.write_text(text)


def _by_kind(figures: dict[str, float]) -> str:
    return ", ".join(f"{kind} {value:.1f}" for kind, value in figures.items())


def _machines(names: Sequence[str]) -> list[str]:
    made: list[Any] = [figures for name in names if (figures := load(name))]
    return sorted({f"{each['machine']}, {each['date']}" for each in made})


def _replaced(
    text: str, begin: str, end: str, machines: list[str], made: list[tuple[str, str, str, str]]
) -> str:
    lines = ["", *(f"Measured on {machine}." for machine in machines), ""]
    lines += ["| what | bar | measured | |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in made]
    return _between(text, begin, end, [*lines, ""])


def _between(text: str, begin: str, end: str, lines: Sequence[str]) -> str:
    head, rest = text.split(begin)
    return "\n".join((head + begin, *lines, end + rest.split(end)[1]))


if __name__ == "__main__":
    main()
