"""The CSV of images: what it says, what is modelled, and what it must not say."""

from pathlib import Path

import pytest

from trimtab.errors import UserError
from trimtab.worth.fleet_images import DEFAULTS, Assumed, FleetImage, Side, about, read_fleet


def fleet(tmp_path: Path, text: str, assumed: Assumed = DEFAULTS) -> dict[str, FleetImage]:
    path = tmp_path / "images.csv"
    path.write_text(text)
    return read_fleet(path, assumed)


def test_what_is_given_is_taken(tmp_path: Path) -> None:
    head = "image,bytes,cold_start_s,warm_start_s,slim_bytes,slim_cold_start_s,slim_warm_start_s"
    one = fleet(tmp_path, f"{head},tuned_run_share,slimming_s\na,1e9,12,2,2.5e8,5,1,0.8,60\n")["a"]
    assert one.original == Side(1e9, 10.0, 2.0) and one.slim == Side(2.5e8, 4.0, 1.0)
    assert (one.tuned_run_share, one.slimming_s, one.modelled) == (0.8, 60.0, ())
    assert list(about([one], DEFAULTS)) == []


def test_a_cold_start_that_is_absent_is_pull_and_unpacking(tmp_path: Path) -> None:
    rates = Assumed(pull_mbit_per_s=800, unpack_mb_per_s=50)
    one = fleet(tmp_path, "image,bytes,warm_start_s,slim_bytes\na,1e9,3,2e8\n", rates)["a"]
    # 1 GB at 100 MB/s, unpacked at 50 MB/s.
    assert one.original.fetch_s == pytest.approx(10 + 20)
    assert one.slim is not None and one.slim.fetch_s == pytest.approx(2 + 4)
    assert one.slim.warm_s == one.original.warm_s == 3.0
    assert [line.partition(",")[0] for line in about([one], rates)] == [
        "modelled cold start",
        "modelled cold start of the slim image",
    ]


def test_a_slim_start_is_in_proportion_to_a_measured_one(tmp_path: Path) -> None:
    one = fleet(tmp_path, "image,bytes,cold_start_s,slim_bytes\na,1e9,40,1e8\n")["a"]
    assert one.slim is not None and one.slim.fetch_s == pytest.approx(4.0)


def test_a_slim_size_is_assumed_only_where_asked(tmp_path: Path) -> None:
    text = "image,bytes\na,1e9\n"
    assert fleet(tmp_path, text)["a"].slim is None
    one = fleet(tmp_path, text, Assumed(slim_share=0.3))["a"]
    assert one.slim is not None and one.slim.size_bytes == pytest.approx(3e8)
    assert any("30%" in line for line in about([one], Assumed(slim_share=0.3)))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no column image"),
        ("image\n", "no row"),
        ("image,bytes\na,\n", "2: expected bytes, cold_start_s or measured"),
        ("image,bytes\na,-1\n", "2: bytes: '-1', expected a number"),
        ("image,bytes\na,nan\n", "2: bytes: 'nan'"),
        ("image,bytes\na,1\na,2\n", "3: image 'a': expected each name once"),
        ("image,bytes\n,1\n", "2: image ''"),
        ("image,bytes\na,1,2\n", "2: more fields than the header"),
        ("image,size\na,1\n", "unknown column 'size'"),
        ("image,bytes,bytes\na,1,2\n", "a column twice"),
        ("image,cold_start_s,warm_start_s\na,1,2\n", "2: cold_start_s: 1 s, expected no less"),
        ("image,bytes,tuned_run_share\na,1,0\n", "2: tuned_run_share: 0"),
        ("image,bytes,measured\na,1,nothing.json\n", "2: measured: .*expected the folder of"),
        ('image,bytes\n"a,1\n', "unexpected end"),
    ],
)
def test_hostile_files_are_refused_with_their_place(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UserError, match=says) as raised:
        fleet(tmp_path, text)
    assert "images.csv" in str(raised.value)


def test_no_utf8_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "images.csv").write_bytes(b"image,bytes\n\xff,1\n")
    for name in ("images.csv", "other.csv"):
        with pytest.raises(UserError, match=name):
            read_fleet(tmp_path / name, DEFAULTS)
