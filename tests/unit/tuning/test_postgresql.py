"""Journals in a real PostgreSQL: what holds for those in files holds for them."""

import math
import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import test_machines
from test_trial_queue import TUNING, Worker, alone, plan

from trimtab.config.groups.tuning import Kind
from trimtab.errors import UserError
from trimtab.tuning.sharing.claims import Claims
from trimtab.tuning.sharing.postgresql import PostgresJournal, name_in
from trimtab.tuning.sharing.trial_queue import TrialQueue
from trimtab.tuning.space import SearchSpace
from trimtab.tuning.study import Study
from trimtab.tuning.tune import tune


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs; Debian keeps the server's out of PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    own = shutil.which("initdb")
    return found[-1].parent if found else Path(own).parent if own else None


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server of our own, without a port, as whoever may run one: not root."""
    folder = programs()
    if folder is None or find_spec("psycopg") is None:
        pytest.skip("PostgreSQL or its driver is missing: run `make deps-postgresql`")
    user = None
    if os.geteuid() == 0:
        names = {one.pw_name for one in pwd.getpwall()}
        user = "postgres" if "postgres" in names else "nobody"
    with TemporaryDirectory() as name:
        data = Path(name, "data")
        if user is not None:
            shutil.chown(name, user)
        keys = {"user": user, "cwd": name, "check": True, "stdout": subprocess.DEVNULL}
        subprocess.run([folder / "initdb", "-A", "trust", "-U", "tuner", data], **keys)
        options = f"-k {name} -c listen_addresses= -c fsync=off"
        control = [folder / "pg_ctl", "-D", data, "-w"]
        subprocess.run([*control, "-l", f"{name}/log", "-o", options, "start"], **keys)
        try:
            yield f"postgresql:///postgres?host={name}&user=tuner"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **keys)


class Session(Worker):
    """A worker whose journal and claims are in the database."""

    def __init__(self, address: str, name: str) -> None:
        self.journal = PostgresJournal(address, name, patience_s=0.2)
        study = Study(self.journal, "s", SearchSpace(TUNING), [Kind.TRAINING], "random", seed=1)
        self.claims = Claims(self.journal)
        self.work = TrialQueue(plan(), study, self.claims)
        self.running = []

    def die(self) -> None:
        self.journal.close()  # as the kernel does


def test_sessions_search_as_files_do_also_where_one_ends(address: str, tmp_path: Path) -> None:
    expected = alone(tmp_path, plan())
    first, second = Session(address, "a"), Session(address, "a")
    for _ in range(3):
        assert first.take() is not None and second.take() is not None
    taken = [one.trial for one in (*first.running, *second.running)]
    assert sorted(taken) == list(range(6))
    told = [first.finish(first.running[0])]
    first.die()
    while second.running or second.take() is not None:
        told.append(second.finish(second.running[0]))
    assert second.work.is_done and sorted(told) == sorted(expected)
    third = Session(address, "a")
    assert third.take() is None and third.work.is_done
    other = Session(address, "b")  # another search
    assert other.take() is not None and not other.work.is_done


def test_a_session_that_was_cut_off_is_told_while_its_trials_run(address: str) -> None:
    cut, other = Session(address, "cut"), Session(address, "cut")
    one = cut.take()
    assert one is not None
    cut.claims.check()
    cut.claims._checked_at = -math.inf
    cut.claims.check()
    [(number,)] = cut.journal._connection.execute("select pg_backend_pid()").fetchall()
    other.journal._connection.execute("select pg_terminate_backend(%s)", (number,))
    cut.claims._checked_at = -math.inf
    with pytest.raises(UserError, match=r"experiment\.tune\.database: .*start it again"):
        cut.claims.check()
    cut.claims.close()  # nothing is left to unlock, which is no error
    again = other.take()
    assert again is not None and (again.trial, again.was_begun) == (one.trial, True)


def test_one_has_the_turn(address: str) -> None:
    first, second = Session(address, "turns"), Session(address, "turns")
    with first.work._study.lock(), pytest.raises(UserError, match="another has the journal"):
        second.take()
    assert second.take() is not None


def test_records_are_added_all_or_none(address: str) -> None:
    journal, reader = (PostgresJournal(address, "records") for _ in range(2))
    journal.append_logs([{"op_code": 1}, {"op_code": 2}])
    with pytest.raises(TypeError):
        journal.append_logs([{"op_code": 3}, {"op_code": {4}}])
    journal.append_logs([{"op_code": 5}])
    assert [one["op_code"] for one in reader.read_logs(1)] == [2, 5]
    assert not list(PostgresJournal(address, "others").read_logs(0))


def test_an_experiment_whose_machine_is_killed(address: str, tmp_path: Path) -> None:
    results = tmp_path / "results/v1/w/h/o"
    shared = test_machines.stage_of(test_machines.tuned(tmp_path / "shared"), 2)
    shared = replace(shared, database=address)
    pipe = os.open(tmp_path / "shared/tuner", os.O_RDWR)
    jobs = [test_machines.started(shared, results, machine) for machine in (1, 2)]
    os.kill(int(test_machines.told(pipe)), signal.SIGKILL)
    said = [job.communicate(timeout=test_machines.LIMIT_S)[1] for job in jobs]
    os.close(pipe)
    assert [job.returncode == 0 for job in jobs].count(True) == 1, said
    given = test_machines.request(shared)
    never = test_machines.trained_again
    tune(given, [1], results, tmp_path / "truth", never, address)
    assert len(test_machines.rows(results)) == 14
    assert not list(results.rglob("journal")) and not list(results.rglob("trial_*.lock"))


def test_sessions_that_are_cut_off_within_an_epoch_end_their_jobs(
    address: str, tmp_path: Path
) -> None:
    results = tmp_path / "results/v1/w/h/o"
    shared = test_machines.stage_of(test_machines.tuned(tmp_path / "shared"), 2)
    shared = replace(shared, database=address)
    pipe = os.open(tmp_path / "shared/tuner", os.O_RDWR)
    job = test_machines.started(shared, results, 1)
    test_machines.told(pipe)  # and its trial would wait without end
    cut = "select pg_terminate_backend(pid) from pg_stat_activity where pid != pg_backend_pid()"
    PostgresJournal(address, "other")._connection.execute(f"{cut} and backend_type like 'client%'")
    said = job.communicate(timeout=test_machines.LIMIT_S)[1]
    os.close(pipe)
    assert job.returncode not in (0, None) and "start it again" in " ".join(said.split()), said
    assert "Traceback" not in said
    tune(test_machines.request(shared), [1], results, tmp_path / "truth", database=address)
    assert len(test_machines.rows(results)) == 14
    epochs = (tmp_path / "shared/epochs.txt").read_text().splitlines()
    assert len(epochs) == len(set(epochs))  # what was there was not trained again


def test_no_database(tmp_path: Path) -> None:
    if find_spec("psycopg") is None:
        with pytest.raises(UserError, match=r"driver is missing: .*(deps-postgresql|psycopg)"):
            PostgresJournal("postgresql://me:secret@nowhere/db", "s")
    else:
        nowhere = f"postgresql://me:secret@/db?host={tmp_path}"
        with pytest.raises(UserError, match=r"experiment\.tune\.database") as error:
            PostgresJournal(nowhere, "s")
        assert "secret" not in str(error.value)


def test_a_folder_is_one_search_until_it_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "seed_1"
    name = name_in(folder)
    assert name_in(folder) == name and [one.name for one in folder.iterdir()] == ["search"]
    shutil.rmtree(folder)
    assert name_in(folder) != name
