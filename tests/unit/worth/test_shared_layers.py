"""Layers that images share are pulled once a node, whoever pulls first."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_queues import jobs_of, nodes

from trimtab.batch.images import ImageStart
from trimtab.batch.policies.registry import build_batch_policy
from trimtab.batch.simulate import simulate_batch
from trimtab.errors import UserError
from trimtab.worth.fleet_images import DEFAULTS, FleetImage, Side, read_fleet
from trimtab.worth.replay import Prices, replay
from trimtab.worth.stages import Plan, Stage

EASY = build_batch_policy("easy")[1]
SIZES = {"base": 100.0, "one": 10.0, "two": 20.0, "slim": 5.0}


def image(*digests: str, slim: tuple[str, ...] = ()) -> FleetImage:
    def side(names: tuple[str, ...]) -> Side:
        layers = {name: SIZES[name] for name in names}
        return Side(sum(layers.values()), 1.0, 0.0, layers)

    return FleetImage(side(digests), side(slim) if slim else None, (), None, None)


def test_two_images_with_a_common_base_on_one_node() -> None:
    plan = Plan(
        {"a": image("base", "one"), "b": image("base", "two", slim=("slim",))}, (EASY, None)
    )
    jobs = jobs_of([{"image": name, "submit_s": 100.0 * at} for at, name in enumerate("abab")])
    found = replay(jobs, nodes(1, 1), plan, (), Prices(), "core")
    assert found.figures["pulled_bytes"] == 100 + 10 + 20
    # The slim image no longer has the base, which the other one needs all the same.
    slim = replay(jobs, nodes(1, 1), plan, (Stage.SLIM,), Prices(), "core")
    assert slim.figures["pulled_bytes"] == 100 + 10 + 5
    apart = [
        {**row, "parts": 2, "distinct": True}
        for row in jobs[["image", "submit_s"]].to_dict("records")
    ]
    both = replay(jobs_of(apart), nodes(2, 1), plan, (), Prices(), "core")
    assert both.figures["pulled_bytes"] == 2 * 130


@given(st.lists(st.tuples(st.integers(1, 2), st.sampled_from("abc")), min_size=1, max_size=30))
def test_it_is_the_union_on_each_node(rows: list[tuple[int, str]]) -> None:
    images = {"a": image("base", "one"), "b": image("base", "two")}
    jobs = jobs_of(
        [
            {"image": name, "submit_s": 7.0 * at, "parts": parts, "distinct": True}
            for at, (parts, name) in enumerate(rows)
        ]
    )
    starts = Plan(images, (EASY, None)).starts(())
    result = simulate_batch(jobs, nodes(3, 1), EASY, images=starts, keep_allocations=True)
    assert result.allocations is not None
    held: dict[int, set[str]] = {}
    for job, node in result.allocations[["job", "node"]].itertuples(index=False):
        held.setdefault(node, set()).update(
            images[rows[job][1]].original.layers or () if rows[job][1] in images else ()
        )
    assert result.pulled_bytes == sum(SIZES[each] for digests in held.values() for each in digests)


def startup_s(
    names: str, *, at_s: float = 100.0, count: int = 1, registry: float = math.inf
) -> list[float]:
    starts = {
        "a": ImageStart(21.0, 1.0, 110, {"base": 100.0, "one": 10.0}),
        "b": ImageStart(14.0, 2.0, 120, {"base": 100.0, "two": 20.0}),
    }
    jobs = jobs_of([{"image": name, "submit_s": at_s * at} for at, name in enumerate(names)])
    result = simulate_batch(
        jobs, nodes(count, 1), EASY, images=starts, registry_bytes_per_s=registry
    )
    return list(result.schedule["startup_s"])


def test_a_node_that_has_the_base_waits_for_the_rest_alone() -> None:
    assert startup_s("abab") == pytest.approx([21.0, 12 * 20 / 120 + 2, 1.0, 2.0])


def test_the_registry_serves_one_pull_after_the_other() -> None:
    # 110 bytes at 5 bytes a second take 22 s, more than the 20 s of the node itself.
    assert startup_s("aaa", at_s=0.0, count=3, registry=5.0) == pytest.approx([23.0, 45.0, 67.0])
    assert startup_s("aaa", at_s=0.0, count=3, registry=1e9) == pytest.approx([21.0] * 3)
    # After 22 s the link is free again, for the other node: the first job is still there.
    assert startup_s("aa", at_s=30.0, count=2, registry=5.0) == pytest.approx([23.0, 23.0])


def test_a_reservation_lasts_as_long_as_the_pull_that_waits() -> None:
    images = {"a": ImageStart(1.0, 0.0, 100)}
    rows = [{"image": "a", "submit_s": 0.0, "run_s": 10.0, "parts": 1} for _ in range(6)]
    conservative = build_batch_policy("conservative")[1]
    result = simulate_batch(
        jobs_of(rows), nodes(2, 1), conservative, images=images, registry_bytes_per_s=10.0
    )
    # Pulls end at 10 and 20 s; then each node has a job every 10 s.
    assert sorted(result.schedule["end_s"]) == pytest.approx([20, 30, 30, 40, 40, 50])


def test_some_starts_of_a_slim_image_restore(tmp_path: Path) -> None:
    path = tmp_path / "images.csv"
    path.write_text(
        "image,bytes,warm_start_s,slim_bytes,slim_restore_share,slim_restore_s\na,100,2,10,0.25,8\n"
    )
    plan = Plan(read_fleet(path, DEFAULTS), (EASY, None))
    assert plan.starts(())["a"].warm_s == 2.0
    assert plan.starts((Stage.SLIM,))["a"].warm_s == 2.0 + 0.25 * 8


@pytest.mark.parametrize("given_", ["0.5,", ",8", "1.5,8", "-1,8"])
def test_restores_need_a_share_and_a_time(tmp_path: Path, given_: str) -> None:
    path = tmp_path / "images.csv"
    path.write_text(f"image,bytes,slim_bytes,slim_restore_share,slim_restore_s\na,9,1,{given_}\n")
    with pytest.raises(UserError, match=r"images\.csv:2: .*slim_restore_share"):
        read_fleet(path, DEFAULTS)


def test_without_common_layers_it_is_pulls_times_size() -> None:
    own = FleetImage(Side(7.0, 1.0, 0.0), None, (), None, None)
    rows = [{"image": name, "submit_s": 3.0 * at} for at, name in enumerate("abbaab")]
    plain = Plan({"a": own, "b": own}, (EASY, None))
    layered = Plan(
        {"a": own, "b": FleetImage(Side(7.0, 1.0, 0.0, {"x": 7.0}), None, (), None, None)},
        (EASY, None),
    )
    assert layered.shares_layers and not plain.shares_layers
    found = [
        replay(jobs_of(rows), nodes(2, 1), plan, (), Prices(), "core") for plan in (plain, layered)
    ]
    assert found[0].figures == found[1].figures


def test_layers_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "images.csv"
    path.write_text("image,layers,slim_layers\na,sha256:ab:5000000 sha256:cd:3,sha256:ef:9\n")
    one = read_fleet(path, DEFAULTS)["a"]
    assert one.original.size_bytes == 5_000_003 and one.slim is not None
    assert one.slim.layers == {"sha256:ef": 9.0} and one.slim.size_bytes == 9


@pytest.mark.parametrize("text", ["ab", "ab:", ":5", "ab:-5", "ab:1.5", "ab:nan"])
def test_hostile_layers(tmp_path: Path, text: str) -> None:
    path = tmp_path / "images.csv"
    path.write_text(f"image,layers\na,{text}\n")
    with pytest.raises(UserError, match=r"images\.csv:2: layers: .*expected DIGEST:BYTES"):
        read_fleet(path, DEFAULTS)


def test_a_layer_of_an_image_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "images.csv"
    path.write_text("image,layers\na,x:5 x:5 y:1\n")
    assert read_fleet(path, DEFAULTS)["a"].original.size_bytes == 6


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("a,x:1 x:2,\n", r"2: layers: 'x:2', but 1 bytes at .*images\.csv:2"),
        ("a,x:1,\nb,x:2,\n", r"3: layers: 'x:2', but 1 bytes at .*images\.csv:2"),
        ("a,x:1,\nb,y:1,x:3\n", r"3: slim_layers: 'x:3', but 1 bytes at .*images\.csv:2"),
    ],
)
def test_a_layer_has_one_size(tmp_path: Path, rows: str, says: str) -> None:
    path = tmp_path / "images.csv"
    path.write_text(f"image,layers,slim_layers\n{rows}")
    with pytest.raises(UserError, match=says):
        read_fleet(path, DEFAULTS)
