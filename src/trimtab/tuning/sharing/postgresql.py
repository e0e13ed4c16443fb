"""The journal of a search in PostgreSQL, for machines without shared file locks.

Each record of a journal's file is a row of a table. Its lock and the claims are advisory locks of
the session; the server releases them when a worker's connection ends.
"""

import hashlib
import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from optuna.storages.journal import BaseJournalBackend

from trimtab.errors import UserError
from trimtab.files import write_once
from trimtab.installation import how_to_add

_TABLE = """
create table if not exists trimtab_journal
  (search text, number bigint, record text not null, primary key (search, number))
"""
_ADD = "insert into trimtab_journal values (%s, %s, %s)"
_READ = "select record from trimtab_journal where search = %s and number >= %s order by number"
_COUNT = "select count(*) from trimtab_journal where search = %s"
# The server probes machines that may have lost power or network; in s.
_KEEPALIVE = {"tcp_keepalives_idle": 30, "tcp_keepalives_interval": 10, "tcp_keepalives_count": 3}
# Such a machine has to end before the server releases its locks.
_OUR_KEEPALIVE = {
    "connect_timeout": 20, "tcp_user_timeout": 20_000,  # ms
    "keepalives_idle": 10, "keepalives_interval": 3, "keepalives_count": 3,
}  # fmt: skip

_CUT_OFF = (
    "; a session that is cut off loses its trials to others, so that those here were ended: start"
    " it again, and the search goes on"
)
_IDLE_TIMEOUT_SINCE = 140000  # version 14, in the server's notation


class PostgresJournal(BaseJournalBackend):  # type: ignore[misc] # Optuna is not typed here
    """The records of the search `name` in the database at `address`, `postgresql://host/database`.

    Raises UserError, as all methods do, where the driver is missing, the database fails, or another
    process holds the lock for more than `patience_s`.
    """

    def __init__(self, address: str, name: str, patience_s: float = 60.0) -> None:
        try:
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        except ImportError:
            raise UserError(
                "experiment.tune.database: PostgreSQL's driver is missing:"
                f" {how_to_add('postgresql')}"
            ) from None
        self._driver, self._name = psycopg, name
        self._place = address.rpartition("@")[2]  # without a password
        self._connection: Any = None
        with self._telling():
            keys = {**_OUR_KEEPALIVE, **conninfo_to_dict(address)}
            self._connection = psycopg.connect(**keys, autocommit=True)
            patience_ms = int(patience_s * 1000)
            self._connection.execute(f"set lock_timeout = {patience_ms}")
            if self._connection.info.server_version >= _IDLE_TIMEOUT_SINCE:
                # The session is idle during epochs, and its end would release the locks.
                self._connection.execute("set idle_session_timeout = 0")
            for name, value in _KEEPALIVE.items():
                self._connection.execute(f"set {name} = {value}")
            with self._locked("table"):  # of two concurrent creations, one would fail
                self._connection.execute(_TABLE)

    def __str__(self) -> str:
        return f"{self._place}: search {self._name}"

    def backend(self) -> Any:
        """Return Optuna's backend of the records."""
        return self

    def read_logs(self, log_number_from: int) -> Iterable[dict[str, Any]]:
        """Return the records from this number onwards."""
        with self._telling():
            found = self._connection.execute(_READ, (self._name, log_number_from)).fetchall()
        return [json.loads(record) for (record,) in found]

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Add records, all or none, under the lock."""
        with self._telling(), self._connection.transaction():
            [(count,)] = self._connection.execute(_COUNT, (self._name,)).fetchall()
            for number, record in enumerate(logs, count):
                self._connection.execute(_ADD, (self._name, number, json.dumps(record)))

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the write lock."""
        with self._telling(), self._locked(f"{self._name} turn"):
            yield

    def try_lock(self, trial: int) -> Callable[[], None] | None:
        """Lock a trial; return its unlock function, or None where another session holds it."""
        key = _key(f"{self._name} {trial}")
        with self._telling():
            asked = self._connection.execute("select pg_try_advisory_lock(%s)", (key,))
            [(locked,)] = asked.fetchall()
        return (lambda: self._unlock(key)) if locked else None

    def check(self) -> None:
        """Raise UserError where the session, and with it all locks, has ended."""
        with self._telling():
            self._connection.execute("select 1")

    def close(self) -> None:
        """End the session, which releases all locks."""
        self._connection.close()

    @contextmanager
    def _locked(self, what: str) -> Iterator[None]:
        self._connection.execute("select pg_advisory_lock(%s)", (_key(what),))
        try:
            yield
        finally:
            self._unlock(_key(what))

    def _unlock(self, key: int) -> None:
        if not self._connection.closed:  # else it is already unlocked
            with self._telling():
                self._connection.execute("select pg_advisory_unlock(%s)", (key,))

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except self._driver.errors.LockNotAvailable:
            raise UserError(f"{self}: another has the journal without end") from None
        except self._driver.Error as error:
            said = " ".join(str(error).split())
            if self._connection is not None and self._connection.closed:
                said += _CUT_OFF
            raise UserError(f"experiment.tune.database: {self._place}: {said}") from None


def name_in(folder: Path) -> str:
    """Return the name of the search in a folder, kept in a file there.

    So a folder that was removed and created again is another search.
    """
    file = folder / "search"
    if not file.exists():
        write_once(file, uuid.uuid4().hex)
    return file.read_text()


def _key(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], signed=True)
