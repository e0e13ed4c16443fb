"""Small queues by hand, and what must hold of each: no change, no saving."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_queues import jobs_of, node_type, nodes

from trimtab.batch.operation import Operation
from trimtab.batch.policies.base import Backfill, BatchPolicy, WaitingJobs
from trimtab.batch.policies.registry import build_batch_policy
from trimtab.batch.readers.read import ReadJobs
from trimtab.batch.sleep import Sleep
from trimtab.clusters.cluster import Cluster
from trimtab.errors import UserError
from trimtab.records.batch.replications import REPLICATIONS
from trimtab.records.batch.worth import Worth
from trimtab.records.parquet.files import read_table
from trimtab.worth.fleet_images import FleetImage, Side
from trimtab.worth.ranking import first_few
from trimtab.worth.replay import Prices
from trimtab.worth.stages import Plan, Stage, ablation
from trimtab.worth.weigh import weigh

EASY, FCFS = (build_batch_policy(name)[1] for name in ("easy", "fcfs"))
A = FleetImage(Side(1e9, 10.0, 2.0), Side(2.5e8, 3.0, 1.0), (), None, 60.0)
# Two on two nodes of a core, and one that waits for the first to end.
THREE = [
    {"submit_s": 0.0, "run_s": 10.0, "image": "a", "distinct": True},
    {"submit_s": 0.0, "run_s": 10.0, "image": "a", "distinct": True},
    {"submit_s": 1.0, "run_s": 10.0, "image": "a", "distinct": True},
]


def weighed(
    folder: Path,
    rows: list[dict[str, Any]],
    images: dict[str, FleetImage],
    cluster: Cluster | None = None,
    prices: Prices | None = None,
    **of_plan: Any,
) -> Worth:
    read = ReadJobs(jobs_of(rows), "csv", {}, [], None, None)  # type: ignore[arg-type]
    plan = Plan(images, **{"policies": (EASY, None), **of_plan})
    file = Path("jobs.csv")
    return weigh(file, read, cluster or nodes(2, 1), plan, prices or Prices(), folder)


def values(document: Worth, setting: int) -> dict[str, float]:
    return {each.name: each.value for each in document.settings[setting].figures}


def test_three_jobs_by_hand(tmp_path: Path) -> None:
    found = weighed(tmp_path, THREE, {"a": A})
    before, after = values(found, 0), values(found, 1)
    # Cold starts of 12 s on both nodes, then a warm one of 2 s; slim ones of 4 s and 1 s.
    assert before["pulled_bytes"] == 2e9 and after["pulled_bytes"] == 5e8
    assert before["startup_s"] == 12 + 12 + 2 and after["startup_s"] == 4 + 4 + 1
    assert before["mean_startup_s"] == pytest.approx(26 / 3)
    assert before["mean_response_s"] == pytest.approx((22 + 22 + 33) / 3)
    assert after["mean_response_s"] == pytest.approx((14 + 14 + 24) / 3)
    assert before["core_hours"] == pytest.approx((22 + 22 + 12) / 3600)
    assert after["core_hours"] == pytest.approx((14 + 14 + 11) / 3600)
    saved = found.after.figure("startup_s").saving
    assert saved.value == 17 and saved.low <= 17 <= saved.high
    [row] = found.images
    assert (row.starts, row.pulls, row.pulled_bytes, row.saved_bytes) == (3, 2, 2e9, 1.5e9)
    assert row.saved_startup_s == 17
    assert row.break_even_starts == pytest.approx(60 / (17 / 3))
    assert found.first == ["a"] and found.first_share == 1.0


def test_each_stage_alone_by_hand(tmp_path: Path) -> None:
    found = weighed(tmp_path, THREE, {"a": A})
    alone = {each.name: each for each in found.settings[2:]}
    assert alone.keys() == {"only slim images", "only quick starts"}
    assert alone["only slim images"].figure("startup_s").value == 5 + 5 + 2
    assert alone["only quick starts"].figure("startup_s").value == 11 + 11 + 1
    assert alone["only quick starts"].figure("pulled_bytes").value == 2e9


def test_tuned_jobs_run_for_their_share(tmp_path: Path) -> None:
    tuned = FleetImage(Side(1e9, 10.0, 2.0), None, (), 0.5, None)
    found = weighed(tmp_path, THREE, {"a": tuned})
    assert found.stages == [Stage.TUNED]
    assert found.after.figure("core_hours").value == pytest.approx((17 + 17 + 7) / 3600)
    assert found.after.figure("startup_s").saving.value == 0


def test_energy_euro_and_carbon_follow_the_energy(tmp_path: Path) -> None:
    from trimtab.batch.curves import read_curve

    cluster = Cluster((node_type("node", 1, watts=100.0),), (2,))
    prices = Prices(
        energy=read_curve("0.5", None), carbon=read_curve("400", None), egress_eur_per_gb=0.1,
        storage_eur_per_gb_month=0.0, nodes={"node": 1.0},
    )  # fmt: skip
    found = weighed(tmp_path, THREE, {"a": A}, cluster, prices)
    now, makespan_h = values(found, 0), 34 / 3600
    assert now["energy_j"] == 30 * 100  # above idle only while jobs run
    assert now["carbon_g"] == pytest.approx(400 * now["energy_j"] / 3.6e6)
    energy_eur = 0.5 * now["energy_j"] / 3.6e6
    assert now["eur"] == pytest.approx(energy_eur + 2 * makespan_h + 0.1 * 2)


def test_switched_nodes_and_another_policy_are_stages(tmp_path: Path) -> None:
    off = Operation(autoscale={"node": Sleep(60.0, 5.0, power_share=0.0, off=True)})
    found = weighed(tmp_path, THREE, {"a": A}, policies=(FCFS, EASY), operation=off)
    assert found.stages == ["slim images", "quick starts", "policy", "switched nodes"]
    assert len(found.settings) == 2 + 2 * 4
    only = {each.name: each for each in found.settings}
    # Nodes are on in the beginning, so these jobs wait for none; one that comes late does.
    assert only["only switched nodes"].figure("mean_response_s").saving.value == 0
    late = [*THREE, {"submit_s": 1000, "run_s": 10, "image": "a"}]
    found = weighed(tmp_path / "late", late, {"a": A}, policies=(FCFS, EASY), operation=off)
    [switched] = [each for each in found.settings if each.name == "only switched nodes"]
    # It boots for 5 s, and pulls for 10 s as what is switched off loses its images.
    assert switched.figure("mean_response_s").saving.value == pytest.approx(-(5 + 10) / 4)


same = st.floats(0.0, 50.0)


@given(
    st.lists(
        st.tuples(st.integers(0, 3000), st.integers(1, 400), st.sampled_from("abc")),
        min_size=1, max_size=12,
    ),
    st.lists(st.tuples(same, same), min_size=3, max_size=3),
)  # fmt: skip
@settings(max_examples=4, deadline=None)
def test_a_slim_image_as_its_original_saves_exactly_nothing(
    tmp_path_factory: pytest.TempPathFactory,
    jobs: list[tuple[int, int, str]],
    times: list[tuple[float, float]],
) -> None:
    rows = [
        {"submit_s": float(at_s), "run_s": float(run_s), "image": image}
        for at_s, run_s, image in sorted(jobs)
    ]
    images = {
        name: FleetImage(side := Side(1e9, *pair), side, (), 1.0, None)
        for name, pair in zip("abc", times, strict=True)
    }
    found = weighed(tmp_path_factory.mktemp("same"), rows, images)
    assert {Stage.SLIM, Stage.TUNED} <= set(found.stages)
    for setting in found.settings:
        for figure in setting.figures:
            saving = figure.saving
            assert (saving.value, saving.low or 0, saving.high or 0) == (0, 0, 0)
            assert not figure.saving.is_clear
    assert ("no change of" if found.replications else "no interval") in found.verdict


def test_what_is_written_can_be_read_and_is_the_same_again(tmp_path: Path) -> None:
    first, second = (weighed(tmp_path / name, THREE, {"a": A}) for name in ("one", "two"))
    assert first == second == Worth.read(tmp_path / "one/worth.json")
    table = read_table(tmp_path / "one/replications.parquet", REPLICATIONS)
    assert set(table["replication"]) == set(range(21))
    recorded = table[(table["replication"] == 0) & (table["setting"] == "as it is")]
    assert dict(zip(recorded["figure"], recorded["value"], strict=True)) == values(first, 0)


def test_slim_images_that_are_not_known_save_nothing_and_are_ranked(tmp_path: Path) -> None:
    large = FleetImage(Side(9e9, 90.0, 2.0), None, (), None, None)
    rows = [*THREE, {"submit_s": 100.0, "image": "b c", "distinct": True}]
    found = weighed(tmp_path, rows, {"a": A, "b c": large, "unused": large})
    assert [row.image for row in found.images] == ["b c", "a"]
    assert found.images[0].saved_bytes is None and found.first == ["a"]
    assert found.next == "trimtab image slim 'b c'"


def test_without_any_slim_image_it_says_what_is_pulled(tmp_path: Path) -> None:
    found = weighed(tmp_path, THREE, {"a": FleetImage(A.original, None, (), None, None)})
    assert found.stages == [] and found.first == ["a"]
    assert [each.name for each in found.settings] == ["as it is"]
    assert found.verdict == "no slim image is known: give slim_bytes, measured or --slim-share"
    assert found.next == "trimtab image slim a"


def test_jobs_of_unknown_images_start_at_once_and_are_told(tmp_path: Path) -> None:
    rows = [THREE[0], {**THREE[1], "image": "other"}, {**THREE[2], "image": ""}]
    found = weighed(tmp_path, rows, {"a": A})
    assert values(found, 0)["startup_s"] == 12
    assert any("1 jobs name 1 images without a row" in remark for remark in found.remarks)


def test_sizes_that_are_not_known_are_not_shown(tmp_path: Path) -> None:
    found = weighed(tmp_path, THREE, {"a": FleetImage(Side(None, 10.0, 2.0), None, (), 0.5, None)})
    assert "pulled_bytes" not in values(found, 0) and found.images[0].pulled_bytes is None


@pytest.mark.parametrize(
    ("rows", "prices", "says"),
    [
        ([{"image": ""}], Prices(), "no job names an image"),
        ([{"image": "b"}], Prices(), "no row of an image of jobs.csv: b"),
        ([{"image": "a", "cpu_milli": 9000}], Prices(), "no job fits the nodes"),
        ([{"image": "a"}], Prices(egress_eur_per_gb=1.0), "expected bytes of each image"),
    ],
)
def test_what_cannot_be_weighed(
    tmp_path: Path, rows: list[dict[str, Any]], prices: Prices, says: str
) -> None:
    images = {"a": FleetImage(Side(None, 10.0, 2.0), None, (), None, None)}
    with pytest.raises(UserError, match=says):
        weighed(tmp_path / "out", rows, images, prices=prices)
    assert not (tmp_path / "out").exists()


def test_settings_are_none_all_each_alone_and_all_but_each() -> None:
    three = (Stage.SLIM, Stage.START, Stage.NODES)
    assert list(ablation(three).values()) == [
        (), three, three[:1], three[1:2], three[2:], three[1:], (Stage.SLIM, Stage.NODES), three[:2]
    ]  # fmt: skip
    assert list(ablation(three[:1]).values()) == [(), three[:1]]


def test_the_fewest_images_that_give_four_fifths(tmp_path: Path) -> None:
    from trimtab.records.batch.worth import RankedImage

    def row(image: str, saved: float) -> RankedImage:
        return RankedImage(image, 1, 1, 10.0, 10.0, 1.0, [], 1.0, saved, 1.0, None)

    images = [row("a", 1.0), row("b", 6.0), row("c", 2.0), row("d", -5.0), row("e", 1.0)]
    names, share = first_few(images)
    assert names == ["b", "c"] and share == pytest.approx(0.8)
    assert first_few([]) == ([], None)


class Alternating(BatchPolicy):
    """Keeps state: the order of the waiting jobs turns around at every question."""

    reorder_s, backfill, asked = 1.0, Backfill.NONE, 0

    def order(self, jobs: WaitingJobs, now_s: float) -> np.ndarray:
        self.asked += 1
        return np.where(self.asked % 2, jobs.submit_s, -jobs.submit_s)


def test_policies_that_keep_state_do_not_meet(tmp_path: Path) -> None:
    """Replications run in threads: each has a policy of its own, so results are the same."""
    rows = [{**THREE[0], "submit_s": 2.0 * at, "run_s": 3.0 + at % 7} for at in range(60)]
    policy = Alternating()
    one, two = (
        weighed(tmp_path / name, rows, {"a": A}, policies=(policy, None)) for name in ("one", "two")
    )
    assert one == two and policy.asked == 0


def test_the_record_stands_beside_the_replay(tmp_path: Path) -> None:
    rows = [{**row, "recorded_start_s": 1.0 + row["submit_s"]} for row in THREE]
    found = weighed(tmp_path, rows, {"a": A})
    said = "mean response as recorded: 11 s; in the replay as it is: 25.7 s"
    assert said in found.remarks


def test_gpu_hours_count_also_in_replications_without_a_gpu_job(tmp_path: Path) -> None:
    """Only one of ten blocks has a GPU job, so that some replications have none."""
    rows = [
        {"submit_s": 100.0 * at, "gpu_milli": 1000 * (at == 5), "image": "a"} for at in range(10)
    ]
    cluster = Cluster((node_type("node", 1, gpus=1),), (2,))
    found = weighed(tmp_path, rows, {"a": A}, cluster)
    table = read_table(tmp_path / "replications.parquet", REPLICATIONS)
    hours = table[(table["figure"] == "gpu_hours") & (table["setting"] == "as it is")]
    assert "core_hours" not in values(found, 0) and len(hours) == 21
    assert hours["value"].min() == 0 < values(found, 0)["gpu_hours"]


@pytest.mark.parametrize("jobs", [1, 3])
def test_jobs_of_one_instant_have_no_interval(tmp_path: Path, jobs: int) -> None:
    rows = [{"submit_s": 5.0, "run_s": 10.0 + at, "image": "a"} for at in range(jobs)]
    found = weighed(tmp_path, rows, {"a": A})
    assert found == Worth.read(tmp_path / "worth.json") and found.replications == 0
    saving = found.after.figure("pulled_bytes").saving
    assert saving.value > 0 and not saving.is_clear
    assert (saving.low, saving.high) == (None, None)
    assert found.verdict == "all stages: no interval is known, so no change is clear"
    assert any("nothing to resample" in remark for remark in found.remarks)


def test_a_figure_that_was_0_has_an_interval_of_what_is_saved(tmp_path: Path) -> None:
    """Images that start at once, and slim ones that do not: by how much, jobs decide."""
    none = Side(1e9, 0.0, 0.0)
    images = {
        "a": FleetImage(none, Side(1e8, 0.0, 1.0), (), None, None),
        "b": FleetImage(none, Side(1e8, 0.0, 90.0), (), None, None),
    }
    rows = [{"submit_s": 200.0 * at, "image": "b" if at == 4 else "a"} for at in range(10)]
    found = weighed(tmp_path, rows, images)
    figure = next(each for each in found.settings if each.name == "only quick starts").figure(
        "startup_s"
    )
    assert values(found, 0)["startup_s"] == 0 and figure.value == 9 + 90
    low, high = figure.saving.low, figure.saving.high
    assert low is not None and high is not None and low < -99 < 0 < high
    assert not figure.saving.is_clear


def test_a_saving_that_is_the_same_in_all_replications_is_clear(tmp_path: Path) -> None:
    rows = [{**THREE[0], "submit_s": 5.0 * at} for at in range(200)]
    found = weighed(tmp_path, rows, {"a": A}, nodes(1, 1))
    saving = found.after.figure("pulled_bytes").saving
    assert saving.is_clear and saving.low == saving.high == saving.value == 7.5e8


def test_a_curve_need_not_cover_more_than_the_recorded_queue(tmp_path: Path) -> None:
    """Replications repeat the last burst, and so end later."""
    from trimtab.batch.curves import EnergyCurve

    rows = [{"submit_s": 10.0 * at, "run_s": 5.0, "image": "a"} for at in range(30)]
    rows += [{"submit_s": 300.0, "run_s": 50.0, "image": "a"} for _ in range(6)]
    cluster = Cluster((node_type("node", 1, watts=100.0),), (1,))

    def priced(folder: str, end_s: float, value: float) -> Worth:
        times_s = np.array([0.0, 1.0])
        curve = EnergyCurve("p.csv", times_s, np.array([value, 0.5]), end_s)
        return weighed(tmp_path / folder, rows, {"a": A}, cluster, Prices(energy=curve))

    found = priced("ends", 12 + 36 * 2 + 600, 0.5)
    assert values(found, 0)["eur"] == pytest.approx(0.5 * values(found, 0)["energy_j"] / 3.6e6)
    table = read_table(tmp_path / "ends/replications.parquet", REPLICATIONS)
    sums = table.pivot_table("value", ["replication", "setting"], "figure")
    assert np.allclose(sums["eur"], 0.5 * sums["energy_j"] / 3.6e6, rtol=1e-9)
    assert any("its last value lasts" in remark for remark in found.remarks)
    with pytest.raises(UserError, match="covers 0 to 400 s"):
        priced("short", 400.0, 0.5)


LARGER = FleetImage(Side(1e9, 10.0, 1.0), Side(2e9, 20.0, 9.0), (), None, None)


def test_a_slim_image_that_makes_all_worse_is_not_pushed(tmp_path: Path) -> None:
    found = weighed(tmp_path, THREE, {"a": LARGER})
    assert found.first == [] and found.first_share is None
    assert found.next == "trimtab image compare a trimtab_workspace/slim.tar"
    by_start = FleetImage(Side(1e9, 10.0, 1.0), Side(None, 20.0, 1.0), (), None, None)
    found = weighed(tmp_path, THREE, {"a": by_start})
    assert "compare" in found.next


def test_a_name_is_no_option_of_the_next_command(tmp_path: Path) -> None:
    rows = [{**row, "image": "-rf"} for row in THREE]
    found = weighed(tmp_path, rows, {"-rf": FleetImage(A.original, None, (), None, None)})
    assert found.next == "trimtab image slim -- -rf"
