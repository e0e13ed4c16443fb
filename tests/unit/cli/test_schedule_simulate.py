"""`trimtab schedule simulate` as an operator types it: from a file to a table and a report."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trimtab.evaluation
from trimtab.batch.comparing import compare_policies
from trimtab.batch.nodes import pool_of
from trimtab.batch.policies.registry import build_batch_policy
from trimtab.batch.readers.read import read_jobs
from trimtab.cli.verbs import command_line
from trimtab.errors import UserError
from trimtab.records.batch.comparison import QueueComparison
from trimtab.records.batch.tables import BATCH_JOBS, BATCH_RUNS, BATCH_SCHEDULE
from trimtab.records.parquet.files import read_table

app = command_line()

# The second job waits for the first; the third has room beside the first, but fcfs lets it wait.
THREE = "submit,run,cores,user\n0,600,32,ann\n60,1200,64,bob\n120,300,8,ann\n"


def simulate(*words: object) -> None:
    app(["schedule", "simulate", *map(str, words)], standalone_mode=False)


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of three jobs, in the current folder."""
    monkeypatch.chdir(tmp_path)
    path = Path("jobs.csv")
    path.write_text(THREE)
    return path


def compared(jobs: Path, cores: int) -> QueueComparison:
    """Compare the default policies as the command does, without a report."""
    policies = dict(map(build_batch_policy, ("fcfs", "easy")))
    return compare_policies(jobs, read_jobs(jobs), pool_of(cores), policies, jobs.parent)


def document() -> QueueComparison:
    return QueueComparison.read(Path("trimtab_schedule/comparison.json"))


def test_three_jobs_by_hand(jobs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simulate(jobs, "--nodes", "64c:1")
    fcfs, easy = document().policies
    # fcfs: 0, 600 and 1800 s; easy starts the third at once, which ends before the second starts.
    assert fcfs.waits.every.mean_wait_s == pytest.approx((0 + 540 + 1680) / 3)
    assert easy.waits.every.mean_wait_s == pytest.approx((0 + 540 + 0) / 3)
    assert (fcfs.makespan_s, easy.makespan_s) == (2100, 1800)
    assert easy.cpu_share == pytest.approx((32 * 600 + 64 * 1200 + 8 * 300) / (64 * 1800))
    assert fcfs.energy_kwh is None and fcfs.gpu_share is None and document().load is None
    written = capsys.readouterr()
    assert "3 min" in written.out and "12.3 min" in written.out
    assert "easy: mean wait 3 min instead of 12.3 min under fcfs (-76 %)" in written.err
    assert "kWh" not in written.out and "EUR" not in written.out and "GPUs" not in written.out


def test_only_the_nodes_of_conf_are_checked(jobs: Path) -> None:
    for file, text in (("policy/heats_idle", "name: [\n"), ("hardware/mine", "name: other\n")):
        Path("conf", file).parent.mkdir(parents=True)
        Path("conf", file).with_suffix(".yaml").write_text(text)
    simulate(jobs, "--nodes", "gpu_a40_x8:8", "--policy", "easy")
    with pytest.raises(UserError, match=r"hardware/mine\.yaml"):
        simulate(jobs, "--nodes", "mine:8", "--policy", "easy")


def test_what_is_written_can_be_read(jobs: Path) -> None:
    simulate(jobs, "--nodes", "64c:1", "--output", "out")
    every = read_table(Path("out/jobs.parquet"), BATCH_JOBS)
    assert len(every) == 3
    for policy in QueueComparison.read(Path("out/comparison.json")).policies:
        schedule = read_table(Path("out", policy.schedule), BATCH_SCHEDULE)
        assert list(schedule["job"]) == list(every["job"])
        assert (schedule["start_s"] >= schedule["submit_s"]).all()
    page = Path("out/report.html").read_text()
    assert "How long jobs wait" in page and "https://" not in re.sub(r"<!--.*?-->", "", page)


def test_json_is_the_document(jobs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simulate(jobs, "--nodes", "64c:1", "--json", "-q")
    written = capsys.readouterr()
    found = json.loads(written.out)
    assert written.err == "" and found.pop("folder") == "trimtab_schedule"
    assert found == document().to_json()


def test_without_nodes_it_says_what_to_type(jobs: Path) -> None:
    with pytest.raises(UserError, match=r"jobs\.csv: .* 64 cores.* --nodes") as raised:
        simulate(jobs)
    suggested = str(raised.value).rpartition(" ")[2]
    simulate(jobs, "--nodes", suggested)
    assert document().left_out == 0


def test_jobs_of_gpu_types_need_nodes_that_have_them(jobs: Path) -> None:
    jobs.write_text(
        "submit,run,cores,gpus,gpu_type\n0,60,8,4,NVIDIA-A100-SXM4-80GB\n1,60,8,4,H100\n"
    )
    with pytest.raises(UserError, match=r"8 cores, 4 GPUs \(types a100, h100\)") as raised:
        simulate(jobs)
    [suggested] = re.findall(r"--nodes (\d\S+)", str(raised.value))
    simulate(jobs, "--nodes", suggested)
    assert document().left_out == 0
    simulate(jobs, "--nodes", "h100_x8:1")
    assert document().left_out == 1


def test_nodes_of_several_types_are_for_heats_too(jobs: Path) -> None:
    simulate(jobs, "--nodes", "epyc_7281:2,epyc_9654:1", "--price", "0.5", "--carbon", "400")
    found = document()
    assert [each.policy for each in found.policies] == ["fcfs", "easy", "heats"]
    for each in found.policies:
        assert each.energy_kwh is not None and each.cost_eur is not None
        assert each.cost_eur == pytest.approx(0.5 * each.energy_kwh)
        assert each.carbon_kg == pytest.approx(0.4 * each.energy_kwh)


def test_a_price_needs_nodes_of_known_power(jobs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match="no power is known of 64c; expected --nodes"):
        simulate(jobs, "--nodes", "64c:1", "--price", "0.5")
    simulate(jobs, "--nodes", "64c:1,epyc_9654:1", "--price", "0.5")
    assert "no power is known of 64c: it counts as none" in capsys.readouterr().err


def test_a_price_that_varies_is_between_its_extremes(jobs: Path) -> None:
    hours = "".join(f"{3600 * hour},{0.1 + 0.2 * (hour % 2)}\n" for hour in range(24))
    Path("price.csv").write_text(hours)
    simulate(jobs, "--nodes", "epyc_9654:1", "--price", "price.csv")
    [fcfs, _] = document().policies
    assert fcfs.energy_kwh is not None and fcfs.cost_eur is not None
    assert fcfs.cost_eur == pytest.approx(0.1 * fcfs.energy_kwh)  # all ran in the first hour


def test_dates_of_a_curve_are_those_of_the_jobs(tmp_path: Path) -> None:
    jobs, price = tmp_path / "jobs.csv", tmp_path / "price.csv"
    jobs.write_text("submit,run,cores\n2026-03-02T10:30,3600,96\n")
    price.write_text("".join(f"2026-03-02T{hour:02}:00,{hour}\n" for hour in range(24)))
    simulate(jobs, "--nodes", "epyc_9654:1", "--price", price, "--output", tmp_path / "out")
    [easy, _] = QueueComparison.read(tmp_path / "out/comparison.json").policies
    # Half of it at 10, half at 11 EUR/kWh.
    assert easy.energy_kwh is not None
    assert easy.cost_eur == pytest.approx(10.5 * easy.energy_kwh)


def test_what_ran_at_once_is_said_beside_what_there_is(
    jobs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs.write_text("submit,start,run,cores,queue\n0,0,60,8,a\n0,60,60,8,a\n0,30,60,4,b\n")
    simulate(jobs, "--nodes", "16c:2")
    said = capsys.readouterr().err
    assert "as recorded, up to 12 of the 32 cores ran at once" in said
    assert "queues have no limits of their own: any job may use any node" in said


def test_nodes_that_sleep_draw_less(jobs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = (jobs, "--nodes", "epyc_9654:4", "--policy", "easy")
    simulate(*words)
    [awake] = document().policies
    simulate(*words, "--sleep-after", "60")
    [asleep] = document().policies
    assert "idle nodes sleep after 60 s; assumed are 120 s" in capsys.readouterr().err
    assert awake.idle_energy_j is not None and asleep.idle_energy_j is not None
    assert asleep.idle_energy_j < 0.6 * awake.idle_energy_j
    assert asleep.active_energy_j == awake.active_energy_j


def test_a_curve_that_is_too_short_is_an_error(jobs: Path) -> None:
    Path("price.csv").write_text("0,1\n600,2\n")
    with pytest.raises(UserError, match=r"price\.csv: covers 0 to 1,200 s"):
        simulate(jobs, "--nodes", "epyc_9654:1", "--price", "price.csv")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--nodes", "no_such_machine:1"], "no_such_machine"),
        (["--nodes", "64c:none"], "--nodes"),
        (["--nodes", "64c:1", "--policy", "fastest"], "fastest"),
        (["--nodes", "64c:1", "--policy", "easy,easy"], "each policy once"),
        (["--nodes", "64c:1", "--policy", ""], "--policy"),
        (["--nodes", "4c:1"], "jobs.csv: no job fits the nodes"),
        (["--nodes", "64c:1", "--format", "no_such_format"], "no_such_format"),
        (["--nodes", "64c:1", "--price", "free"], "free"),
    ],
)
def test_mistakes_are_named(jobs: Path, words: list[str], problem: str) -> None:
    with pytest.raises(UserError, match=re.escape(problem)):
        simulate(jobs, *words)


def test_jobs_that_fit_nowhere_are_counted(jobs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simulate(jobs, "--nodes", "32c:1")
    found = document()
    assert (found.jobs, found.left_out) == (2, 1)
    assert "jobs left out: 1 fit no nodes" in capsys.readouterr().err


def test_recorded_starts_are_what_policies_are_compared_with(
    jobs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs.write_text("submit,start,run,cores\n0,10,600,32\n60,3660,1200,64\n120,4720,300,8\n")
    simulate(jobs, "--nodes", "64c:1", "--policy", "easy")
    found = document()
    assert found.recorded is not None
    assert found.recorded.every.mean_wait_s == pytest.approx((10 + 3600 + 4600) / 3)
    written = capsys.readouterr()
    assert "as recorded" in written.out
    assert "easy: mean wait 3 min instead of 45.6 min as recorded (-93 %)" in written.err


def test_an_overload_is_named_before_percentages(
    jobs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{10 * at},100,8\n" for at in range(100))
    jobs.write_text(f"submit,run,cores\n{rows}")
    simulate(jobs, "--nodes", "16c:2")
    load = document().load
    assert load == pytest.approx(100 * 100 * 8 / (32 * 990))
    err = capsys.readouterr().err
    assert "jobs ask for 2.53 times what the nodes have" in err


def test_left_out_jobs_are_in_no_row(jobs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same jobs count as recorded and under each policy; the others are said."""
    rows = "".join(f"{100 * at},{100 * at + 10},50,8\n" for at in range(40))
    jobs.write_text(f"submit,start,run,cores\n{rows}7,9999,10,64\n")
    simulate(jobs, "--nodes", "16c:1", "--warm-up", "0.1")
    found = document()
    assert found.recorded is not None and found.left_out == 1 and found.jobs == 40
    rows_of = [found.recorded, *(each.waits for each in found.policies)]
    # One was there when the first job ended, at 60 s; of 39 others, 3 at either end.
    assert {each.every.jobs for each in rows_of} == {found.counted} == {33}
    assert found.recorded.every.mean_wait_s == 10 and found.recorded.every.mean_response_s == 60
    said = capsys.readouterr().err
    assert "1 were there when the first job ended, 6 are the first and the last 10 %" in said
    assert "jobs left out: 1 fit no nodes" in said


def test_tables_are_at_most_80_columns_wide(jobs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"{at},{at},{2e6 + at},96,4\n" for at in range(300))
    jobs.write_text(f"submit,start,run,cores,gpus\n{rows}")
    words = ["--price", "0.5", "--carbon", "400", "--policy", "easy,heats:energy_weight=0.5"]
    simulate(jobs, "--nodes", "h100_x8:1,epyc_9654:1", *words)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80 and "response" in "".join(lines)
    assert {"EUR", "CO2e", "kWh"} <= set(" ".join(lines).split())


def test_a_new_policy_is_one_that_runs(jobs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app(["new", "--policy", "mine"], standalone_mode=False)
    assert capsys.readouterr().out == "mine.py\n"
    simulate(jobs, "--nodes", "64c:1", "--policy", "fcfs,./mine.py,./mine.py:ageing=1e9")
    fcfs, small_first, in_order = document().policies
    assert small_first.waits.every.mean_wait_s < fcfs.waits.every.mean_wait_s
    assert (
        in_order.policy == "mine:ageing=1e9"
        and len({each.schedule for each in document().policies}) == 3
    )
    with pytest.raises(UserError, match=r"mine\.py: exists already"):
        app(["new", "--policy", "mine.py"], standalone_mode=False)
    with pytest.raises(UserError, match="expected letters"):
        app(["new", "--policy", "../mine"], standalone_mode=False)
    with pytest.raises(UserError, match="expected no folder"):
        app(["new", "folder", "--policy", "other"], standalone_mode=False)
    with pytest.raises(UserError, match="expected a folder"):
        app(["new"], standalone_mode=False)


def test_the_template_is_sound(tmp_path: Path, jobs: Path) -> None:
    """Its hooks are those of the base, with the same parameters."""
    app(["new", "--policy", "mine"], standalone_mode=False)
    check = (
        "import inspect, mine; from trimtab.batch.policies.base import BatchPolicy as base\n"
        "for name in ('order', 'cost'):\n"
        "    own, given = (inspect.signature(getattr(of, name)) for of in (mine.MyPolicy, base))\n"
        "    assert list(own.parameters) == list(given.parameters), name\n"
    )
    subprocess.run([sys.executable, "-c", check], cwd=tmp_path, check=True)


def test_without_the_reports_packages_there_is_a_table(
    jobs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(trimtab, "evaluation", trimtab.evaluation)  # another is imported here
    for name in [name for name in sys.modules if name.startswith("trimtab.evaluation")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "altair", None)
    simulate(jobs, "--nodes", "64c:1")
    written = capsys.readouterr()
    assert "without a report, as altair is not installed" in written.err
    assert "fcfs" in written.out and not Path("trimtab_schedule/report.html").exists()


names = st.text(st.characters(exclude_characters='",\r\n\x00', codec="utf-8"), max_size=12)
rows = st.lists(
    st.tuples(st.integers(0, 10**6), st.floats(0.5, 1e5), st.integers(1, 64), names, names),
    min_size=1, max_size=20,
)  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(rows)
def test_any_jobs_have_figures(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Any, ...]]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    frame = pd.DataFrame(rows, columns=["submit", "run", "cores", "user", "queue"])
    frame.to_csv(folder / "jobs.csv", index=False)
    found = compared(folder / "jobs.csv", 128)
    assert found == QueueComparison.read(folder / "comparison.json")
    assert found.jobs == len(rows)
    counted = read_table(folder / "jobs.parquet", BATCH_JOBS)["counted"]
    assert counted.sum() == found.counted == len(rows) - 2 * (len(rows) // 20)
    for policy in found.policies:
        waits = policy.waits
        schedule = read_table(folder / policy.schedule, BATCH_SCHEDULE)[counted]
        assert waits.every.longest_wait_s == pytest.approx(float(schedule["wait_s"].max()))
        assert waits.every.p95_wait_s == pytest.approx(float(np.percentile(schedule["wait_s"], 95)))
        assert sum(each.jobs for each in waits.by_width) == found.counted
        assert 0 <= policy.cpu_share <= 1


@pytest.mark.parametrize(
    "rows",
    [
        "0,0,1\n0,0,1\n",  # nothing takes any time
        "0,1,1\n9007199254740990,1,1\n",
        "0,0.000001,1\n1e-9,1e-300,1\n",
        *("0,9e15,64\n" * many for many in (1, 200)),
    ],
)
def test_absurd_times_end_in_words(tmp_path: Path, rows: str) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(f"submit,run,cores\n{rows}")
    try:
        found = compared(path, 96)
    except UserError as error:
        assert str(error).startswith(f"{path}: a figure is beyond any machine")
    else:
        assert found.jobs == rows.count("\n")


def test_hostile_names_are_shown_as_text(jobs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs.write_text(
        "submit,run,cores,user,queue\n"
        "0,60,1,\x1b[31m,<script>alert(1)</script>\n1,60,1,b,[red]\x1b[31m\n"
        f"3,60,1,c,{'q' * 1000}\n"
    )
    simulate(jobs, "--nodes", "1c:1", "--policy", "fcfs")
    page = Path("trimtab_schedule/report.html").read_text()
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page
    written = capsys.readouterr()
    assert "\x1b" not in written.out + written.err + page


# The second job is late under fcfs; both images are pulled once by each node.
RICH = (
    "submit,run,cores,tasks,deadline,image,least_parts,most_parts,serial_share\n"
    "0,600,96,1,700,train:2,,,\n60,1200,96,1,2500,train:2,1,1,0\n120,300,96,1,900,serve,,,\n"
)


def test_deadlines_power_images_and_prices_are_in_every_output(
    jobs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs.write_text(RICH)
    Path("images.csv").write_text(
        "image,cold_start_s,warm_start_s,bytes\ntrain:2,30,1,2000000000\nserve,10,1,1000\n"
    )
    simulate(
        *(jobs, "--nodes", "epyc_9654:2", "--policy", "fcfs,earliest_deadline"),
        *("--power-cap-kw", "3", "--autoscale", "60:300", "--node-price", "epyc_9654=2"),
        *("--images", "images.csv"),
    )
    for each in document().policies:
        assert each.deadlines is not None and each.deadlines.jobs == 3
        assert each.startups is not None and each.startups.cold_starts == 3
        assert each.startups.pulled_bytes == 2 * 2_000_000_000 + 1000
        assert each.node_use is not None and each.node_use.cost_eur is not None
        assert each.node_use.cost_eur == pytest.approx(2 * each.node_use.hours)
        assert each.peak_power_w is not None and 0 < each.peak_power_w <= 3000
    written = capsys.readouterr()
    for word in ("late", "tardiness", "node", "start-up"):
        assert word in written.out
    assert "epyc_9654: off until needed, 60 s to boot, off after 300 s" in written.err
    page = Path("trimtab_schedule/report.html").read_text()
    for heading in ("Peak power, kW", "Late, %", "Images pulled, GB", "Node hours", "Nodes, EUR"):
        assert heading in page


def test_jobs_over_the_cap_are_counted(jobs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simulate(jobs, "--nodes", "epyc_9654:1", "--policy", "easy", "--power-cap-kw", "0.2")
    found = document()
    assert (found.jobs, found.left_out, found.over_cap) == (2, 1, 1)
    assert "jobs left out: 1 need more power than the cap" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--nodes", "64c:1", "--power-cap-kw", "5"], "no power is known of 64c"),
        (["--nodes", "epyc_9654:1", "--power-cap-kw", "0.01"], "kW without a job"),
        (["--nodes", "64c:1", "--autoscale", "soon"], "expected BOOT_S:IDLE_S"),
        (["--nodes", "64c:1", "--node-price", "32c=1"], "--node-price: '32c=1' given"),
        (["--nodes", "64c:1", "--images", "none.csv"], "none.csv: no such file"),
    ],
)
def test_mistakes_of_operation_are_named(jobs: Path, words: list[str], problem: str) -> None:
    with pytest.raises(UserError, match=re.escape(problem)):
        simulate(jobs, *words)


def test_interruptions_are_in_the_document_the_table_and_the_report(
    jobs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    costs = ["--checkpoint", "100:5:10", "--spot", "64c=3:600", "--seed", "2", "--policy", "easy"]
    simulate(jobs, "--nodes", "64c:1", *costs)
    (easy,) = document().policies
    assert easy.interruptions is not None and easy.interruptions.count > 0
    runs = read_table(Path("trimtab_schedule", str(easy.runs)), BATCH_RUNS)
    assert int((runs["interrupted_by"] == "reclaim").sum()) == easy.interruptions.count
    assert runs["checkpoint_s"].sum() == pytest.approx(3600 * easy.interruptions.checkpoint_h)
    assert "lost" in capsys.readouterr().out
    assert "Interruptions" in Path("trimtab_schedule/report.html").read_text()


def test_columns_of_checkpoints_override_the_option(jobs: Path) -> None:
    jobs.write_text(
        "submit,run,cores,checkpoint_interval_min,checkpoint_cost_s\n0,600,1,1,2\n0,600,1,,\n"
    )
    simulate(jobs, "--nodes", "2c:1", "--checkpoint", "300:7", "--policy", "easy")
    schedule = read_table(Path("trimtab_schedule/schedule_easy.parquet"), BATCH_SCHEDULE)
    assert schedule["end_s"].tolist() == [600 + 9 * 2, 600 + 7]


def test_a_checkpoint_of_ages_in_a_column_is_left_out_and_said(
    jobs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs.write_text("submit,run,cores,checkpoint_interval_min,checkpoint_cost_s\n0,600,1,1,1e300\n")
    simulate(jobs, "--nodes", "2c:1", "--policy", "easy")
    captured = capsys.readouterr()
    assert "checkpoint_cost_s: 1 not 0 to 2,592,000 s" in " ".join(
        (captured.out + captured.err).split()
    )
    schedule = read_table(Path("trimtab_schedule/schedule_easy.parquet"), BATCH_SCHEDULE)
    assert schedule["end_s"].tolist() == [600]


def test_max_min_preempts_between_types_by_the_shipped_throughputs(jobs: Path) -> None:
    jobs.write_text(
        "submit,run,gpus,model\n0,3600,4,CycleGAN\n0,7200,4,A3C\n60,3600,4,LM (batch size 5)\n"
    )
    words = ["--nodes", "gpu_v100:1,gpu_k80:1", "--policy", "max_min", "--checkpoint", "inf:10:30"]
    simulate(jobs, *words, "--throughputs", "gavel")
    (outcome,) = document().policies
    costs = outcome.interruptions
    assert costs is not None and costs.count > 0
    assert costs.lost_core_h == 0
    assert costs.restart_h == pytest.approx(costs.count * 30 / 3600)
    assert costs.checkpoint_h <= costs.count * 10 / 3600 + 1e-9


@pytest.mark.parametrize("value", ["0", "-5", "1e-300", "1e300"])
def test_absurd_checkpoints_of_a_column_count_as_none(jobs: Path, value: str) -> None:
    jobs.write_text(f"submit,run,cores,checkpoint_interval_s\n0,600,1,{value}\n")
    simulate(jobs, "--nodes", "1c:1", "--policy", "fcfs")
    assert document().policies[0].makespan_s == 600


def test_higher_tiers_preempt_and_the_first_run_compiles(
    jobs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs.write_text(
        "submit,run,cores,queue\n0,600,4,long\n0,600,4,other\n60,60,4,short\n60,60,4,short\n"
    )
    words = ["--nodes", "8c:1", "--policy", "easy", "--preempt", "short=2,long=1"]
    simulate(jobs, *words)
    (easy,) = document().policies
    assert easy.interruptions is not None and easy.interruptions.preemptions == 1
    assert easy.interruptions.lost_core_h == pytest.approx(4 * 60 / 3600)
    schedule = read_table(Path("trimtab_schedule/schedule_easy.parquet"), BATCH_SCHEDULE)
    assert schedule["start_s"].tolist() == [0, 0, 60, 120]
    assert "interrup-" in capsys.readouterr().out
    assert "Preemptions" in Path("trimtab_schedule/report.html").read_text()
    simulate(jobs, *words)  # its code is cached now
    assert "compiling" not in capsys.readouterr().err
    with pytest.raises(
        UserError, match=r"no jobs of queue 'urgent'; .* JOBS has long, other, short"
    ):
        simulate(jobs, "--nodes", "8c:1", "--preempt", "urgent=1")
