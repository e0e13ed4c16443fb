"""RAPL from a recorded tree, its wrap-around and attribution, and the power model's sums."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.profiling.meters.machine import parse_busy_s
from trimtab.profiling.meters.power_model import HardwareModel, modelled_energy_j
from trimtab.profiling.meters.rapl import Rapl, attribute, wrapped_difference_uj

RANGE_UJ = 262_143_328_850  # as on real packages
HARDWARE = HardwareModel("m", 8, 16.0, 80.0, 0.4, 32.0, 0.1, "a test")
seconds = st.floats(0, 1e5)


def tree(root: Path, **energy_uj: int) -> None:
    """Write the files of a package, its parts, the whole board and the second view."""
    layout = {
        "intel-rapl:0": "package-0", "intel-rapl:0:0": "core", "intel-rapl:0:1": "dram",
        "intel-rapl:1": "psys", "intel-rapl-mmio:0": "package-0",
    }  # fmt: skip
    for folder, name in layout.items():
        path = root / folder
        path.mkdir(parents=True, exist_ok=True)
        (path / "name").write_text(f"{name}\n")
        (path / "energy_uj").write_text(f"{energy_uj.get(name.split('-')[0], 0)}\n")
        (path / "max_energy_range_uj").write_text(f"{RANGE_UJ}\n")


def test_packages_and_memory_are_counted_once(tmp_path: Path) -> None:
    tree(tmp_path, package=5_000_000, core=1, dram=1_000_000, psys=9)
    rapl = Rapl(tmp_path)
    assert rapl.domains == ["package-0", "dram"]
    tree(tmp_path, package=8_000_000, core=10**9, dram=1_500_000, psys=10**9)
    assert rapl.read_j() == pytest.approx(3.5)
    tree(tmp_path, package=1_000_000, core=0, dram=1_500_000)
    assert rapl.read_j() == pytest.approx(3.5 + (RANGE_UJ - 7_000_000) / 1e6)


def test_a_machine_without_counters(tmp_path: Path) -> None:
    rapl = Rapl(tmp_path / "none")
    assert rapl.domains == [] and rapl.missing and rapl.read_j() == 0


@given(st.integers(0, RANGE_UJ - 1), st.integers(0, RANGE_UJ - 1))
def test_wrap_around_against_modular_arithmetic(before: int, used: int) -> None:
    after = (before + used) % RANGE_UJ
    assert wrapped_difference_uj(before, after, RANGE_UJ) == used


@given(seconds, seconds, seconds, st.floats(0, 1e7), st.integers(1, 8))
def test_a_run_pays_no_more_than_all_and_no_less_than_its_active_part(
    wall_s: float, cpu_s: float, others_s: float, total_j: float, cores: int
) -> None:
    share = attribute(
        total_j, HARDWARE, wall_s=wall_s, cpu_s=cpu_s, machine_busy_s=cpu_s + others_s,
        cores_usable=cores,
    )  # fmt: skip
    assert -1e-6 <= share.low_j <= share.energy_j * (1 + 1e-9) + 1e-6
    assert share.energy_j <= share.high_j * (1 + 1e-9) + 1e-6 and share.high_j == total_j


def test_alone_on_the_machine_a_run_pays_all() -> None:
    share = attribute(500.0, HARDWARE, wall_s=10, cpu_s=40, machine_busy_s=40, cores_usable=8)
    assert share.energy_j == pytest.approx(500)


def test_busy_seconds_leave_out_idle_and_stolen_time() -> None:
    line = "cpu  100 10 50 99999 7777 20 30 8888 5555 6666\ncpu0 1 2 3\n"
    assert parse_busy_s(line) == pytest.approx((100 + 10 + 50 + 20 + 30) / 100)


@given(st.lists(st.tuples(seconds, seconds, st.floats(0, 1e12)), min_size=1, max_size=5))
def test_the_parts_of_a_run_add_up(parts: list[tuple[float, float, float]]) -> None:
    def energy_j(wall_s: float, cpu_s: float, byte_s: float) -> float:
        return modelled_energy_j(
            HARDWARE, wall_s=wall_s, cpu_s=cpu_s, resident_byte_s=byte_s, cores_usable=2
        )

    whole = energy_j(*(sum(column) for column in zip(*parts, strict=True)))
    assert whole == pytest.approx(sum(energy_j(*part) for part in parts))


def test_the_model_by_hand() -> None:
    """One of eight cores busy for 10 s with 2 GiB: 4 W idle share, 8 W a core, 0.8 W memory."""
    energy_j = modelled_energy_j(
        HARDWARE, wall_s=10, cpu_s=10, resident_byte_s=20 * 2**30, cores_usable=2
    )
    assert energy_j == pytest.approx(10 * (16 * 2 / 8 + 64 / 8 + 0.8))
