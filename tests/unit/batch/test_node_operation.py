"""Deadlines, nodes that are switched on and off, and start-up from images: exact times by hand."""

import re
from pathlib import Path

import pandas as pd
import pytest
from small_queues import jobs_of, node_type, nodes

from trimtab.batch.images import ImageStart, read_images
from trimtab.batch.operation import Operation, check_images, deadlines_of, node_use, startups_of
from trimtab.batch.policies.registry import build_batch_policy
from trimtab.batch.simulate import BatchResult, simulate_batch
from trimtab.batch.sleep import Sleep, parse_autoscale, parse_node_prices
from trimtab.clusters.cluster import Cluster, Level, NodeType
from trimtab.errors import UserError
from trimtab.records.batch.operation import DeadlineFigures, StartupFigures

EASY = build_batch_policy("easy")[1]
Rows = list[dict[str, object]]


def test_the_earliest_deadline_comes_first() -> None:
    rows: Rows = [
        {},
        {"submit_s": 1.0},
        {"submit_s": 2.0, "deadline_s": 99.0},
        {"submit_s": 3.0, "deadline_s": 25.0},
    ]
    jobs = jobs_of(rows)
    found = {}
    for policy in ("fcfs", "earliest_deadline"):
        built = build_batch_policy(policy)[1]
        schedule = simulate_batch(jobs, nodes(1, 1), built).schedule
        found[policy] = schedule["start_s"].tolist(), deadlines_of(jobs, schedule)
    assert found == {
        "fcfs": ([0.0, 10.0, 20.0, 30.0], DeadlineFigures(2, 0.5, 7.5)),
        "earliest_deadline": ([0.0, 30.0, 20.0, 10.0], DeadlineFigures(2, 0.0, 0.0)),
    }
    assert deadlines_of(jobs_of([{}]), schedule.head(1)) is None


# Each node is on from a job's start until 60 s after its end, and boots in 5 s.
SWITCHED = {"node": Sleep(after_s=60.0, wake_s=5.0, power_share=0.0, off=True)}


def switched(
    rows: Rows, *, count: int = 2, images: dict[str, ImageStart] | None = None
) -> BatchResult:
    kind = NodeType("node", 1000, 1 << 40, 100.0, (Level(1.0, 50.0),))
    return simulate_batch(
        jobs_of(rows), Cluster((kind,), (count,)), EASY, autoscale=SWITCHED, images=images
    )


def test_nodes_are_off_until_jobs_need_them() -> None:
    result = switched([{}, {"submit_s": 100.0}, {"submit_s": 120.0, "run_s": 400.0}])
    assert result.schedule["start_s"].tolist() == [5.0, 105.0, 120.0]
    # The first node is on from 0 to 75 and from 100 to 520 s. The second one is never used.
    assert result.makespan_s == 520.0
    on_s = 75.0 + 420.0
    assert result.hours_on == {"node": pytest.approx(on_s / 3600)}
    assert result.idle_energy_j == pytest.approx(100.0 * on_s)
    assert result.peak_power_w == 150.0
    use = node_use(result, Operation(autoscale=SWITCHED, node_prices={"node": 7.2}))
    assert use is not None
    assert (use.hours, use.cost_eur) == pytest.approx((on_s / 3600, 7.2 * on_s / 3600))


def test_fixed_nodes_are_paid_for_the_whole_makespan() -> None:
    cluster = Cluster((node_type("own", 1), node_type("cloud", 1)), (1, 2))
    rows: Rows = [{"run_s": 360.0}, {"submit_s": 1.0, "run_s": 60.0}]
    off = {"cloud": Sleep(after_s=20.0, wake_s=9.0, power_share=0.0, off=True)}
    result = simulate_batch(jobs_of(rows), cluster, EASY, autoscale=off)
    assert result.schedule["start_s"].tolist() == [0.0, 10.0]
    assert result.hours_on == {"own": pytest.approx(0.1), "cloud": pytest.approx(89 / 3600)}
    assert node_use(result, Operation()) is None


IMAGES = {"slow": ImageStart(30.0, 2.0, 1000), "fast": ImageStart(3.0, 1.0, None)}


def test_a_node_starts_an_image_warm_that_it_has() -> None:
    rows: Rows = [
        {"image": "slow"},
        {"image": "slow", "submit_s": 100.0},
        {"image": "fast", "submit_s": 200.0},
        {"submit_s": 300.0},
    ]
    result = simulate_batch(jobs_of(rows), nodes(1, 1), EASY, images=IMAGES)
    assert result.schedule["start_s"].tolist() == [30.0, 102.0, 203.0, 300.0]
    assert result.schedule["startup_s"].tolist() == [30.0, 2.0, 3.0, 0.0]
    assert (result.pulls, result.cold_starts) == ({"slow": 1, "fast": 1}, 2)
    assert startups_of(result, IMAGES) == StartupFigures(35.0, 2, None)
    result = simulate_batch(jobs_of(rows[:2]), nodes(1, 1), EASY, images=IMAGES)
    assert startups_of(result, IMAGES) == StartupFigures(32.0, 2 - 1, 1000)
    assert startups_of(result, None) is None


def test_each_node_of_a_job_pulls_its_image() -> None:
    rows: Rows = [{"image": "slow"}, {"image": "slow", "parts": 2, "submit_s": 50.0}]
    result = simulate_batch(jobs_of(rows), nodes(2, 1), EASY, images=IMAGES)
    assert result.schedule["start_s"].tolist() == [30.0, 80.0]
    assert (result.pulls["slow"], result.cold_starts) == (2, 2)


def test_a_job_waits_for_a_pull_that_goes_on() -> None:
    rows: Rows = [{"image": "slow"}, {"image": "slow", "submit_s": 10.0}]
    result = simulate_batch(jobs_of(rows), nodes(1, 2), EASY, images=IMAGES)
    assert result.schedule["start_s"].tolist() == [30.0, 30.0]
    assert (result.pulls["slow"], result.cold_starts) == (1, 1)


def test_a_node_that_was_off_has_no_images() -> None:
    rows: Rows = [
        {"image": "slow"},
        {"image": "slow", "submit_s": 50.0},
        {"image": "slow", "submit_s": 500.0},
    ]
    result = switched(rows, count=1, images=IMAGES)
    assert result.schedule["start_s"].tolist() == [35.0, 52.0, 535.0]
    assert result.pulls["slow"] == 2


def test_reservations_count_the_time_to_start() -> None:
    """The last job would end at 102 s with its cold start, after the first one's end."""
    rows: Rows = [
        {"run_s": 100.0},
        {"parts": 2, "submit_s": 1.0},
        {"submit_s": 2.0, "run_s": 70.0, "image": "slow"},
        {"submit_s": 3.0, "run_s": 60.0, "image": "slow"},
    ]
    starts = simulate_batch(jobs_of(rows), nodes(2, 1), EASY, images=IMAGES).schedule["start_s"]
    assert starts.tolist()[:2] == [0.0, 100.0]
    assert starts[3] == 33.0 and starts[2] > 110.0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("image,cold_start_s\na,1\n", "no column warm_start_s"),
        ("image,cold_start_s,warm_start_s\na,1,x\n", ":2: warm_start_s: 'x', expected a number"),
        ("image,cold_start_s,warm_start_s\na,-1,1\n", "expected a number from 0"),
        ("image,cold_start_s,warm_start_s\na,1,1\na,2,2\n", ":3: image 'a': expected each name"),
        ("image,cold_start_s,warm_start_s\na,1\n", "warm_start_s: '', expected a number"),
        ("\x00", "expected a CSV"),
        ("", "expected a CSV"),
    ],
)
def test_a_wrong_file_of_images_is_refused(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "images.csv"
    path.write_text(content)
    with pytest.raises(UserError, match=re.escape(said)):
        read_images(path)


def test_images_are_read(tmp_path: Path) -> None:
    path = tmp_path / "images.csv"
    path.write_text("image,cold_start_s,warm_start_s,bytes\na:1,30.5,2,1e9\nb,1,0,\n")
    found = read_images(path)
    assert found == {"a:1": ImageStart(30.5, 2.0, 10**9), "b": ImageStart(1.0, 0.0, None)}
    jobs = pd.DataFrame({"image": ["a:1", "c", ""]})
    with pytest.raises(UserError, match="no row of c; expected a row for each image"):
        check_images(Path("jobs.csv"), jobs, found)
    with pytest.raises(UserError, match=r"jobs\.csv: no column image"):
        check_images(Path("jobs.csv"), pd.DataFrame({"image": [""]}), found)


TWO = Cluster((node_type("own", 1), node_type("cloud", 1)), (1, 2))


def test_options_of_node_types() -> None:
    every = parse_autoscale("90:300", TWO)
    assert every == dict.fromkeys(["own", "cloud"], Sleep(300.0, 90.0, 0.0, True))
    assert parse_autoscale("cloud=90:300", TWO) == {"cloud": every["cloud"]}
    assert parse_node_prices("own=0,cloud=1.25", TWO) == {"own": 0.0, "cloud": 1.25}


@pytest.mark.parametrize(
    ("parse", "text", "said"),
    [
        (parse_autoscale, "90", "'90' given, expected BOOT_S:IDLE_S"),
        (parse_autoscale, "-1:5", "expected BOOT_S:IDLE_S"),
        (parse_autoscale, "fog=1:2", "expected TYPE=VALUE once for a type of --nodes: own, cloud"),
        (parse_node_prices, "own=1,own=2", "expected TYPE=VALUE once"),
        (parse_node_prices, "own=nan,cloud=1", "expected EUR per hour"),
        (parse_node_prices, "cloud=1", "no price of own; expected also own=0"),
    ],
)
def test_wrong_options_are_named(parse: object, text: str, said: str) -> None:
    assert callable(parse)
    with pytest.raises(UserError, match=said):
        parse(text, TWO)
