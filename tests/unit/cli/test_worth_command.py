"""`trimtab worth` as an operator types it: from a `sacct` dump to a verdict and a report."""

import json
import re
import shutil
from pathlib import Path

import pytest

from trimtab.cli.verbs import command_line
from trimtab.errors import UserError
from trimtab.records.batch.worth import Worth
from trimtab.records.built_environment import CompressedEnvironment
from trimtab.records.images.cold_start import (
    ColdRound,
    ColdSide,
    ColdStart,
    NeededFiles,
    StartParts,
)
from trimtab.records.images.comparison import ImageComparison, ImageSide, Step
from trimtab.worth.fleet_images import DEFAULTS, Side, read_fleet

app = command_line()

SACCT = "JobID|User|Submit|Start|End|ElapsedRaw|NNodes|AllocCPUS|State|Container"
DAYS = range(1, 15)
IMAGES = "image,bytes,warm_start_s,slim_bytes,slim_warm_start_s\na.sif,8e9,5,2e9,3\nb.sif,1e9,4,,\n"


def worth(*words: object) -> Worth:
    app(["worth", *map(str, words)], standalone_mode=False)
    return Worth.read(Path("trimtab_worth/worth.json"))


@pytest.fixture(autouse=True)
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two weeks of jobs and their images, in the current folder."""
    monkeypatch.chdir(tmp_path)
    lines = [SACCT]
    for day in DAYS:
        for hour in range(6, 18):
            name = "a.sif" if hour % 3 else "b.sif"
            at = f"2026-03-{day:02}T{hour:02}"
            lines.append(
                f"{day}{hour:02}|ann|{at}:00:00|{at}:00:00|{at}:40:00|2400|1|4|COMPLETED|{name}"
            )
    Path("jobs.txt").write_text("\n".join(lines) + "\n")
    Path("images.csv").write_text(IMAGES)


def test_from_a_dump_to_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    found = worth("jobs.txt", "--images", "images.csv", "--nodes", "4c:2")
    # Both images on both nodes at most; each is pulled once.
    pulls = {row.image: row.pulls for row in found.images}
    assert pulls.keys() == {"a.sif", "b.sif"} and all(1 <= each <= 2 for each in pulls.values())
    assert found.before.figure("pulled_bytes").value == 8e9 * pulls["a.sif"] + 1e9 * pulls["b.sif"]
    assert found.after.figure("mean_startup_s").saving.is_clear
    assert (found.first, found.next) == (["a.sif"], "trimtab image slim b.sif")
    written = capsys.readouterr()
    assert len(written.out.splitlines()) <= 25
    for words in ("all stages: ", "not known", "only quick starts", "next: trimtab image slim b"):
        assert words in written.out
    assert "written: trimtab_worth/report.html" in written.err


def test_json_is_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    document = worth("jobs.txt", "--images", "images.csv", "--nodes", "4c:2", "--json", "-q")
    written = capsys.readouterr()
    found = json.loads(written.out)
    assert written.err == "" and found.pop("folder") == "trimtab_worth"
    assert found == document.to_json()


def test_the_report_is_whole_and_colours_no_interval_that_spans_zero() -> None:
    Path("images.csv").write_text(IMAGES.replace("2e9,3", "8e9,5"))
    found = worth("jobs.txt", "--images", "images.csv", "--nodes", "4c:2")
    page = Path("trimtab_worth/report.html").read_text()
    assert found.verdict.partition(": ")[2] in page and found.next in page
    assert "https://" not in re.sub(r"<!--.*?-->", "", page, flags=re.DOTALL)
    assert "No change: bytes pulled, mean start-up" in page
    assert 'class="better"' not in page and 'class="worse"' not in page
    images = Path("trimtab_worth/tables/images.csv").read_text().splitlines()
    assert len(images) == 1 + 2 and images[1].startswith("a.sif,")


def test_energy_euro_and_carbon_are_there_where_curves_are() -> None:
    given = ("jobs.txt", "--images", "images.csv", "--nodes", "epyc_7281:2")
    plain = {each.name for each in worth(*given).before.figures}
    assert "energy_j" in plain and not {"eur", "carbon_g", "node_hours"} & plain
    found = worth(*given, "--price", 0.5, "--carbon", 300, "--autoscale", "60:600").before
    energy_kwh = found.figure("energy_j").value / 3.6e6
    assert found.figure("eur").value == pytest.approx(0.5 * energy_kwh)
    assert found.figure("carbon_g").value == pytest.approx(300 * energy_kwh)
    assert found.figure("node_hours").value > 0


def test_a_map_gives_images() -> None:
    Path("map.csv").write_text("image,user\nb.sif,a*\n")
    found = worth("jobs.txt", "--images", "images.csv", "--map", "map.csv", "--nodes", "4c:2")
    assert [row.image for row in found.images] == ["b.sif"]
    assert found.images[0].starts == found.jobs and found.stages == []


def test_a_share_is_assumed_where_asked() -> None:
    found = worth("jobs.txt", "--images", "images.csv", "--nodes", "4c:2", "--slim-share", 0.25)
    saved = {row.image: (row.saved_bytes, row.pulls) for row in found.images}
    assert saved["b.sif"][0] == pytest.approx(0.75e9 * saved["b.sif"][1])
    assert any("25%" in remark for remark in found.remarks)


def test_measured_documents_say_sizes_and_starts() -> None:
    def side(size: int, start_s: float) -> ColdSide:
        rounds = [ColdRound(8.0, 4.0, start_s, 9.0), ColdRound(8.0, 4.0, start_s + 2, 9.0)]
        needed = NeededFiles(1, 1, 1, 1, 1)
        return ColdSide("image", size, 9.0, rounds, StartParts(1.0, None, None), needed)

    ColdStart(
        command=[], gbit_per_s=1.0, compression="gzip", emptied="files", processors=2,
        before=side(4000, 5.0), after=side(1000, 1.0),
    ).write(Path("start.json"))  # fmt: skip
    Path("images.csv").write_text("image,measured,bytes\na.sif,start.json,\nb.sif,,1e9\n")
    found = worth("jobs.txt", "--images", "images.csv", "--nodes", "4c:2")
    [row] = [row for row in found.images if row.image == "a.sif"]
    assert (row.size_bytes, row.slim_bytes, row.modelled) == (4000, 1000, [])
    # Cold 18 s and warm 6 s: the medians of the rounds.
    assert found.stages == ["slim images", "quick starts"]
    assert found.before.figure("startup_s").value == pytest.approx(_starts(found, 18, 6))


def _starts(found: Worth, cold_s: float, warm_s: float) -> float:
    rows = {row.image: row for row in found.images}
    b = rows["b.sif"]
    a = rows["a.sif"]
    fetch_b_s = 8.0 + 10.0  # 1 GB at 1,000 Mbit/s, unpacked at 100 MB/s
    return a.pulls * cold_s + (a.starts - a.pulls) * warm_s + b.pulls * fetch_b_s


def test_the_folder_of_a_slim_image_says_its_sizes(tmp_path: Path) -> None:
    from slim_example import manifest_of

    folder = Path("workspace")
    folder.mkdir()
    CompressedEnvironment(
        target="t", compression="zstd", before_bytes=8_000_000_000, after_bytes=1_000_000_000
    ).write(folder / "compressed.json")
    manifest_of("compact", {}).write(folder / "manifest.json")
    Path("images.csv").write_text(
        "image,measured\na.sif,workspace\nb.sif,workspace/manifest.json\n"
    )
    found = worth("jobs.txt", "--images", "images.csv", "--nodes", "4c:2")
    assert {row.slim_bytes for row in found.images} == {1e9}
    shutil.rmtree(folder)
    with pytest.raises(UserError, match=r"images\.csv:2: measured: .*expected the folder"):
        worth("jobs.txt", "--images", "images.csv", "--nodes", "4c:2")


def test_a_comparison_says_pull_and_unpacking_which_add_the_warm_start() -> None:
    def side(size: int, transfer_s: float, unpack_s: float) -> ImageSide:
        transfer, unpack = Step(transfer_s, "modelled"), Step(unpack_s, "measured")
        return ImageSide(
            "a", 1, size, size, size, unpack, transfer, unpack, 0, [], [], [], [], [], [], [], []
        )

    ImageComparison(
        gbit_per_s=1.0, before=side(10**9, 8.0, 12.0), after=side(10**8, 1.0, 2.0), removed=[],
        removed_files=0, removed_bytes=0, smaller_files=0, smaller_bytes=0,
    ).write(Path("compared.json"))  # fmt: skip
    Path("images.csv").write_text("image,warm_start_s,measured\na.sif,2,compared.json\n")
    one = read_fleet(Path("images.csv"), DEFAULTS)["a.sif"]
    # Cold starts of 20 s + 2 s and of 3 s + 2 s.
    assert one.original == Side(1e9, 20.0, 2.0) and one.slim == Side(1e8, 3.0, 2.0)
    assert one.modelled == ()
    # A warm start may take longer than the pull, and a cold start that is given counts.
    Path("images.csv").write_text(
        "image,warm_start_s,measured,cold_start_s\na.sif,25,compared.json,\nb.sif,2,compared.json,9\n"
    )
    both = read_fleet(Path("images.csv"), DEFAULTS)
    assert both["a.sif"].original == Side(1e9, 20.0, 25.0)
    assert both["b.sif"].original == Side(1e9, 7.0, 2.0)


def test_slim_images_that_are_larger_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("images.csv").write_text("image,bytes,slim_bytes\na.sif,1e9,2e9\nb.sif,1e9,3e9\n")
    found = worth("jobs.txt", "--images", "images.csv", "--nodes", "4c:2")
    assert found.first == []
    out = capsys.readouterr().out
    assert "no slim image saves bytes" in out and "no image is pulled" not in out


def test_without_a_stage_there_is_a_ranking_and_no_change(
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = "-" + 40 * "x" + "\n\x1b[31m.sif"
    Path("images.csv").write_text(f'image,bytes\n"{name}",8e9\nb.sif,1e9\n')
    Path("map.csv").write_text(f'image,user\n"{name}",a*\n')
    worth("jobs.txt", "--images", "images.csv", "--map", "map.csv", "--nodes", "4c:2")
    out = capsys.readouterr().out
    assert "no slim image is known: give slim_bytes, measured or --slim-share" in out
    assert "no change" not in out and "as it is" not in out and "8.00 GB" in out
    # A long name is cut to its end, in one line, wherever it only names.
    assert out.count("...") == 2 and out.count("x\\n\\x1b[31m.sif") == 2 and "\x1b[31m" not in out
    assert "next: trimtab image slim -- '-x" in out
    page = Path("trimtab_worth/report.html").read_text()
    assert "No slim image is known" in page and "No change" not in page


def test_jobs_of_one_instant_make_a_report_without_intervals(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("jobs.csv").write_text("submit,run,cores,image\n" + "0,100,4,a.sif\n" * 3)
    worth("jobs.csv", "--images", "images.csv", "--nodes", "4c:2")
    out = capsys.readouterr().out
    assert "all stages: no interval is known, so no change is clear" in out
    assert "no interval" in Path("trimtab_worth/tables/settings.csv").read_text()
    page = Path("trimtab_worth/report.html").read_text()
    assert "No change" not in page and 'class="better"' not in page


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--policy", "fcfs,easy,any_fit"), "expected one policy"),
        (("--policy", "easy,easy"), "expected one policy"),
        (("--price", "0.3"), "no power is known"),
        (("--egress-price", "0.1"), "expected bytes of each image"),
        (("--map", "images.csv"), "unknown column 'bytes'"),
        (("--autoscale", "often"), "--autoscale"),
    ],
)
def test_mistakes_are_told(words: tuple[str, ...], says: str) -> None:
    Path("images.csv").write_text("image,bytes,cold_start_s\na.sif,,9\nb.sif,1e9,\n")
    with pytest.raises(UserError, match=says):
        worth("jobs.txt", "--images", "images.csv", "--nodes", "4c:2", *words)
    assert not Path("trimtab_worth/worth.json").exists()


def test_nodes_that_are_reclaimed(capsys: pytest.CaptureFixture[str]) -> None:
    usual = worth("jobs.txt", "--images", "images.csv", "--nodes", "4c:2").before
    spot = ("--spot", "4c=0.2:600", "--checkpoint", "300:5", "--registry-mbit", "400")
    found = worth("jobs.txt", "--images", "images.csv", "--nodes", "4c:2", *spot)
    # A reclaimed node loses its images, and work since the last checkpoint.
    for figure in ("pulled_bytes", "core_hours", "mean_response_s"):
        assert found.before.figure(figure).value > usual.figure(figure).value
    assert any("reclaimed 0.2 times an hour" in each for each in found.remarks)
    assert any("400 Mbit/s to all nodes" in each for each in found.remarks)
    with pytest.raises(UserError, match="--preempt"):
        worth("jobs.txt", "--images", "images.csv", "--nodes", "4c:2", "--preempt", "no=1")
