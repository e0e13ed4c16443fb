"""Layers that images share are pulled once a node, whoever pulls first."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_queues import jobs_of, nodes

from trimtab.batch.policies.registry import build_batch_policy
from trimtab.errors import UserError
from trimtab.worth.fleet_images import DEFAULTS, FleetImage, Side, read_fleet
from trimtab.worth.replay import Prices, replay
from trimtab.worth.shared_layers import pulled_layer_bytes
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


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc")), min_size=1, max_size=30))
def test_it_is_the_union_on_each_node(pairs: list[tuple[int, str]]) -> None:
    images = {"a": image("base", "one"), "b": image("base", "two")}
    plan = Plan(images, (EASY, None))
    jobs = pd.DataFrame({"image": [name for _, name in pairs]})
    allocations = pd.DataFrame({"job": np.arange(len(pairs)), "node": [node for node, _ in pairs]})
    held: dict[int, set[str]] = {}
    for node, name in pairs:
        held.setdefault(node, set()).update(
            images[name].original.layers or () if name in images else ()
        )
    expected = sum(SIZES[digest] for digests in held.values() for digest in digests)
    assert pulled_layer_bytes(jobs, allocations, plan, ()) == expected


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
