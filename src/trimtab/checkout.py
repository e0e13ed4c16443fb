"""One experiment at a time in a checkout, and none of its jobs without it.

What Snakemake leaves in `.snakemake/locks` when it is killed would have to be removed by hand. A
lock that ends with its holder (trimtab.locks) says for certain that no other Snakemake lives.
"""

import logging
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from trimtab.errors import UserError
from trimtab.files import remove_partial
from trimtab.locks import file_lock
from trimtab.processes.stat import children_of

_SNAKEMAKE, _RESULTS = ".snakemake", "results"
_LOCK = f"{_SNAKEMAKE}/trimtab.lock"
_ENDING = (signal.SIGINT, signal.SIGTERM)
_AGAIN_S = 0.1
_LARGE = {"env", "libraries", "runs", "spans", "verification"}  # emptied by whoever writes there


def run_alone(workflow: Any) -> None:
    """Have the Snakefile's `workflow`, when it runs jobs, run them alone in the working directory.

    Snakemake then ends with one line where another one, or `trimtab advanced learn`, is at work.
    What a killed one left is removed: its locks, and files that are not whole. When Snakemake is
    told to end by SIGTERM or SIGINT its jobs on this machine are ended. A job's own Snakemake, on a
    cluster, and one that only looks, as `snakemake -n`, are left as they are.
    """
    from snakemake.logging import logger

    if workflow.is_main_process and not workflow.output_settings.dryrun:
        logger.addFilter(_Alone(workflow))


class _Alone(logging.Filter):
    """Has the workflow alone in its directory from the event on that it has started, to its end.

    Snakemake tells it before it locks its directory and looks at files. An error ends it.
    """

    def __init__(self, workflow: Any) -> None:
        super().__init__()
        self._workflow, self._alone = workflow, ExitStack()

    def filter(self, record: logging.LogRecord) -> bool:
        from snakemake_interface_logger_plugins.common import LogEvent

        if getattr(record, "event", None) == LogEvent.WORKFLOW_STARTED:
            self._begin()
        return True

    def _begin(self) -> None:
        from snakemake.exceptions import WorkflowError

        try:
            self._alone.enter_context(_alone_in(Path.cwd()))
        except UserError as error:
            raise WorkflowError(str(error)) from None
        shutil.rmtree(Path(_SNAKEMAKE, "locks"), ignore_errors=True)
        _remove_all_partial(Path(_RESULTS))
        _end_jobs_with(os.getpid(), lambda: self._workflow.local_exec)


@contextmanager
def no_experiment_at(folder: Path) -> Iterator[None]:
    """See to it that no Snakemake runs while the block does where `folder` is of its results.

    Raises UserError where one runs.
    """
    place = folder.absolute()
    for checkout in place.parents:
        if (checkout / _SNAKEMAKE).is_dir() and place.is_relative_to(checkout / _RESULTS):
            with _alone_in(checkout):
                yield
                return
    yield


@contextmanager
def _alone_in(checkout: Path) -> Iterator[None]:
    with file_lock(checkout / _LOCK, f"{checkout}: an experiment is at work in it"):
        yield


def _remove_all_partial(results: Path) -> None:
    for folder, inner, _ in os.walk(results):
        inner[:] = [name for name in inner if name not in _LARGE]
        remove_partial(Path(folder))


def _end_jobs_with(snakemake: int, are_here: Callable[[], bool]) -> None:
    """End the jobs' shells, where they `are_here`, once a signal has come.

    Snakemake itself waits for them to the end.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def end() -> None:
        while os.read(reader, 1)[0] not in _ENDING:
            continue
        while are_here():  # a job may be starting just now
            for shell in children_of(snakemake):
                with suppress(ProcessLookupError):
                    os.kill(shell, signal.SIGTERM)
            time.sleep(_AGAIN_S)

    threading.Thread(target=end, daemon=True).start()
