"""What the report says of fleets."""

from dataclasses import replace
from pathlib import Path

import experiment_files as files
import pytest

from trimtab.evaluation.images.fleets import Fleets
from trimtab.evaluation.inputs.read import load
from trimtab.records.images.fleet import Fleet, FleetState, LayerTotals

MB = 1_000_000


def state(own: int, common: int) -> FleetState:
    images = {
        name: LayerTotals(2, common + own * MB, 3 * (common + own * MB)) for name in ("a", "b")
    }
    everything = LayerTotals(3, common + 2 * own * MB, 3 * (common + 2 * own * MB))
    return FleetState(images, everything, LayerTotals(1, common, 3 * common))


@pytest.mark.parametrize("machines", [1, 2])
def test_each_image_and_all_of_them(tmp_path: Path, machines: int) -> None:
    inputs = files.write_experiment(tmp_path)
    fleet = Fleet(before=state(30, 40 * MB), alone=state(20, 0), sharing=state(5, 10 * MB))
    places = [tmp_path / f"fleet/services/machine_{it}/fleet.json" for it in range(machines)]
    for place in places:
        fleet.write(place)
    section = Fleets(load(replace(inputs, files={**inputs.files, "fleet": places})))
    rows = section.tables[0].rows
    assert [row["image"] for row in rows] == ["a", "b", "all on one host"] * machines
    assert len({row["name"] for row in rows}) == machines
    assert (rows[0]["before_pulled_mb"], rows[0]["sharing_pulled_mb"]) == (70, 15)
    assert (rows[2]["before_pulled_mb"], rows[2]["alone_stored_mb"]) == (100, 120)
    assert rows[2]["pulled_reduction_pct"] == pytest.approx(80)
    assert len(section.metrics()["fleets"]) == 3 * machines


def test_without_a_fleet_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert not Fleets(load(files.write_experiment(tmp_path))).applies
