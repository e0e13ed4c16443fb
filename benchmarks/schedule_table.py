"""The rows of scheduling in benchmarks/README.md, from the results beside it."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import slurm_images_table
from common import load
from scipy.stats import binom

Row = tuple[str, str, str, str]
RESULTS = (
    "simulation", "batch", "worth", "slurm_images", "queueing", "analytic", "spark", "schedules",
    "da_nearest", "traces",
)  # fmt: skip
_RECORDED = "datacenter/"


def rows() -> list[Row]:
    """What, bar, measured and verdict of every part that has results."""
    found: list[Row] = []
    for name in RESULTS:
        figures: Any = load(name)
        if figures:
            found += _ROWS[name](figures)
    return found


def _met(met: bool) -> str:
    return "met" if met else "**missed**"


def _range(figures: dict[str, Any], digits: int = 0) -> str:
    low, high = figures["low"], figures["high"]
    return f"{figures['median']:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _simulation(found: dict[str, Any]) -> Iterator[Row]:
    times, tenth, whole = (
        found[key] for key in ("times_simpy", "peak_rss_mb_of_a_tenth", "peak_rss_mb")
    )
    yield (
        f"single queue of 3 priorities, 10⁷ jobs, against SimPy {found['simpy_version']}",
        "at least 200x; memory flat",
        f"{_range(times)}x: {found['ours_jobs_per_s']['median'] / 1e6:.1f} million against"
        f" {found['simpy_jobs_per_s']['median'] / 1e3:.0f} thousand jobs a second;"
        f" {tenth['median']:.0f} MB for 10⁶ jobs, {whole['median']:.0f} MB for 10⁷",
        _met(times["median"] >= 200 and whole["median"] < 1.1 * tenth["median"]),
    )
    for rule, name in (("HEATS", "heats"), ("Kubernetes", "kubernetes")):
        cpu_s = found[f"{name}_of_1000_nodes"]["cpu_s"]
        yield (
            f"{rule}-like placement, 10⁵ tasks of 160 shapes on 10³ nodes, saturated",
            "at most 1.5 s of one core",
            f"{cpu_s:.2f} s",
            _met(cpu_s <= 1.5),
        )
    most = found["heats_of_100000_nodes"]
    yield (
        "HEATS-like placement, 10⁶ tasks on 10⁵ nodes of 20 types, saturated",
        "at most 60 s and 2 GB",
        f"{most['wall_s']:.0f} s, of which {most['cpu_s']:.0f} s on a core;"
        f" {most['peak_rss_mb']:.0f} MB; {most['migrations']:,} migrations",
        _met(most["wall_s"] <= 60 and most["peak_rss_mb"] < 2000),
    )
    heats = found["heats"]
    yield (
        "HEATS-like placement, 10⁶ tasks on 10⁴ nodes of 20 types",
        "at most 120 s and 2 GB",
        f"{heats['wall_s']:.0f} s, {heats['peak_rss_mb']:.0f} MB;"
        f" {heats['migrations']:,} migrations",
        _met(heats["wall_s"] <= 120 and heats["peak_rss_mb"] <= 2000),
    )


def _batch(found: dict[str, Any]) -> Iterator[Row]:
    speed, easy_s = found["speed"], 60
    easy = speed["easy, 10^6 jobs"]
    yield (
        "batch queue: EASY, 10⁶ jobs of 1 to 1,024 cores on 1,000 nodes of 32, load 0.9",
        f"at most {easy_s} s",
        f"{_range(easy['cpu_s'], 1)} s of one core",
        _met(easy["cpu_s"]["median"] <= easy_s),
    )
    for name, words, least in (
        ("own policy", "a policy of one's own in a file, 2 · 10⁵ jobs on 1,000 nodes", 100_000),
        ("fcfs, 10000 demands, load 1.1", "first come, 10⁴ demands, saturated", 50_000),
        ("heats, 10000 demands, load 0.6", "HEATS, 10⁴ demands, load 0.6", 20_000),
        ("heats, 1000 demands, load 1.1", "HEATS, 1,000 demands, saturated", 20_000),
        ("heats, 10000 demands, load 1.1", "HEATS, 10⁴ demands, saturated", 20_000),
    ):
        rate = speed[name]["jobs_per_cpu_s"]
        yield (
            f"batch queue: {words}",
            f"at least {least:,} jobs a second of one core",
            _range(rate),
            _met(rate["median"] >= least),
        )
    logs = found.get("job_by_job", {})
    same = {"plain": [0, 0], "pyss": [0, 0], "AccaSim's first come": [0, 0]}
    easy_of_accasim, as_explained, of = 0, 0, 0
    for log in logs.values():
        for discipline in ("fcfs", "any", "easy", "conservative"):
            for peer, count in log[discipline]["equal"].items():
                if peer == "accasim" and discipline == "easy":
                    easy_of_accasim, of = easy_of_accasim + count, of + log["jobs"]
                elif peer == "accasim_as_plain_kept_slot":
                    as_explained += count
                else:
                    pair = same["AccaSim's first come" if peer == "accasim" else peer]
                    pair[0], pair[1] = pair[0] + count, pair[1] + log["jobs"]
    if logs:
        yield (
            "batch queues, start times of the NASA iPSC and LCG logs beside other simulators",
            "all equal, or the difference explained",
            "; ".join(f"{peer}: {equal:,} of {all_of:,}" for peer, (equal, all_of) in same.items())
            + f"; AccaSim's EASY: {easy_of_accasim:,} of {of:,}, all but {of - as_explained}"
            " explained",
            _met(all(equal == all_of for equal, all_of in same.values()) and as_explained == of),
        )


def _worth(found: dict[str, Any]) -> Iterator[Row]:
    yield (
        f"`trimtab worth`, a drawn `sacct` dump of 10⁵ jobs and {found['images']} images,"
        f" {found['settings']} settings, {found['replications']} replications (`worth.py`)",
        "at most 60 s on two cores",
        f"{found['cpu_s']:.0f} s of processor time, which bounds the wall time of a free machine;"
        f" {found['wall_s']:.0f} s beside other work; {found['peak_rss_bytes'] / 1e6:.0f} MB",
        _met(found["cpu_s"] <= 60),
    )


def _analytic(found: dict[str, Any]) -> Iterator[Row]:
    inside, all_of = found["inside_99"], found["comparisons"]
    # Of right formulas, how often as many or more lie outside a 99 % interval.
    by_chance = float(binom.sf(all_of - inside - 1, all_of, 0.01))
    yield (
        f"formula against simulation, mean and 95th percentile, {found['systems']} random MMAP/PH"
        " queues at loads 0.3 to 0.9, two disciplines",
        "within the simulation's own 99 % confidence interval",
        f"{inside} of {all_of} inside (of right formulas as few or fewer in"
        f" {100 * by_chance:.0f} % of such comparisons); median"
        f" difference {100 * found['median_difference']:.2f} %, largest"
        f" {100 * found['largest_difference']:.1f} %",
        _met(by_chance > 0.01),
    )


def _queueing(found: dict[str, Any]) -> Iterator[Row]:
    for name in ("two Erlang-60 classes", "eight Erlang-10 classes"):
        one = found.get(name)
        if one and "peer_wall_s" in one:
            yield (
                f"{name}, against BuTools' port in line-solver 3.0.8",
                "means equal to 1e-8, at least 50x faster",
                f"{one['times_as_fast']:.0f}x: {one['wall_s']['median']:.2f} against"
                f" {one['peer_wall_s']:.0f} s (once); means differ by"
                f" {one['means_relative_difference']:.0e}",
                _met(one["times_as_fast"] >= 50 and one["means_relative_difference"] <= 1e-8),
            )
    tail = found.get("tail")
    if tail:
        yield (
            "tail of the less important class of an M/M/1 queue",
            "right where the peer's is biased",
            f"exact {tail['exact']:.8f}, ours {tail['ours'] - tail['exact']:+.0e},"
            f" the peer's {tail.get('peer', float('nan')) - tail['exact']:+.0e}",
            _met(abs(tail["ours"] - tail["exact"]) < 1e-8),
        )


def _spark(found: dict[str, Any]) -> Iterator[Row]:
    processing, response = (
        found["processing_mean_error_pct"], found["response_mean_error_pct"]
    )  # fmt: skip
    yield (
        "model against real Spark, processing times by drop ratio",
        "mean error at most 11 % (published: 7.8 to 11.1 %)",
        f"{processing:.1f} % over {len(found['processing'])} cells",
        _met(processing <= 11),
    )
    yield (
        "model against real Spark, response times at 80 % load",
        "mean error at most 18 % (published: 18.7 %)",
        f"{response:.1f} % over {len(found['response'])} cells, on the same arrivals",
        _met(response <= 18),
    )


def _schedules(found: dict[str, Any]) -> Iterator[Row]:
    cells: dict[str, Any] = {
        key: cell
        for experiment in found["experiments"].values()
        for key, cell in experiment.items()
    }
    for experiment, verdicts in found["verdicts"].items():
        yield _verdicts(experiment, verdicts)
    yield from _recorded({key: cell for key, cell in cells.items() if key.startswith(_RECORDED)})
    for key, cell in cells.items():
        per_job = cell.get("real", {}).get("per_job")
        if per_job:
            yield (
                f"simulated against real, {cell['real']['engine']}, {key.split('/', 1)[1]}",
                "error per job",
                f"{per_job['jobs']:.0f} jobs: mean {per_job['mean_error_pct']:.0f} %, median"
                f" {per_job['median_error_pct']:.0f} %; "
                + _means_of_classes(cell["simulated_real_error_pct"]),
                "",
            )


def _da_nearest(found: dict[str, Any]) -> Iterator[Row]:
    free, best, published = (
        found[key] for key in ("nearest_without_delays", "nearest", "published")
    )  # fmt: skip
    yield (
        "figure 4.6a from one server, high priority: nearest to NP {np_high:+.0f} % with DA(0,20)"
        " {da_high:+.0f} %".format(**published),
        f"DA of at least +{found['least_da_high_at_np_high']:.1f} %, by derivation",
        "NP {np_high:+.0f} %, DA {da_high:+.0f} % (load {load:g}); ".format(**free)
        + "NP {np_high:+.0f} %, DA {da_high:+.0f} % if evicting takes {evicting_s:g} s and being"
        " evicted {evicted_s:g} s".format(**best),
        "",
    )


def _recorded(cells: dict[str, Any]) -> Iterator[Row]:
    """Yield what HEATS makes of each recorded trace, against the Kubernetes scheduler."""
    for key, before in cells.items():
        setting, _, policy = key.rpartition("/")
        if policy != "kubernetes":
            continue
        said = []
        for label, other in (("H = 0", "heats_00"), ("H = 1", "heats")):
            after = cells[f"{setting}/{other}"]["all"]
            energy = [
                one["active_energy_j"] + one["idle_energy_j"] for one in (before["all"], after)
            ]
            response = [one["response_mean_s"] for one in (before["all"], after)]
            said.append(f"{label}: energy {_change(*energy)}, response {_change(*response)}")
        jobs = before["all"]["jobs"]
        yield (
            f"HEATS, recorded trace {setting.removeprefix(_RECORDED)}, {jobs:,.0f} jobs",
            "",
            "; ".join(said),
            "",
        )


def _change(before: float, after: float) -> str:
    return f"{100 * (after / before - 1):+.1f} %"


def _traces(found: dict[str, Any]) -> Iterator[Row]:
    for name, figures in found["files"].items():
        days = figures["span_days"]
        span = f"{days:,.1f} days" if days >= 1 else f"{24 * days:.1f} hours"
        skipped = ", ".join(f"{reason} {rows:,}" for reason, rows in figures["skipped"].items())
        yield (
            f"reading {name}",
            "",
            f"{figures['rows']:,} jobs of {span},"
            f" {figures['rows_per_s']['median'] / 1e3:,.0f} thousand a second,"
            f" {figures['peak_rss_bytes'] / 1e6:.0f} MB"
            + (f"; left out: {skipped}" if skipped else ""),
            "",
        )


def _means_of_classes(errors: dict[str, float]) -> str:
    """Return how far the simulated means are from the real ones, class by class."""
    said = []
    for quantity in ("mean response", "mean execution"):
        suffix = f"/{quantity}"
        of_it = {
            key.removesuffix(suffix): value for key, value in errors.items() if key.endswith(suffix)
        }
        said.append(
            f"{quantity} "
            + ", ".join(f"{name} {round(value):+d} %" for name, value in of_it.items())
        )
    return "; ".join(said)


def _verdicts(experiment: str, verdicts: list[dict[str, str]]) -> Row:
    counts = Counter(row["verdict"] for row in verdicts)
    words = {"agrees": "agree", "differs": "differ", "open": "are open"}
    said = [f"{counts[name]} {word}" for name, word in words.items()]
    differing = dict.fromkeys(row["statement"] for row in verdicts if row["verdict"] == "differs")
    return (
        f"published statements about `{experiment}`",
        "all agree within 5 points",
        ", ".join(said) + (f". Differing: {'; '.join(differing)}" if differing else ""),
        _met(counts["agrees"] == len(verdicts)),
    )


_ROWS = {
    "simulation": _simulation,
    "batch": _batch,
    "worth": _worth,
    "slurm_images": slurm_images_table.rows,
    "queueing": _queueing,
    "analytic": _analytic,
    "spark": _spark,
    "schedules": _schedules,
    "da_nearest": _da_nearest,
    "traces": _traces,
}
