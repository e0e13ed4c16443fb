"""Allow one experiment at a time in a checkout, and end its jobs with it.

A killed Snakemake leaves locks in `.snakemake/locks`, which would have to be removed by hand. A
lock that ends with its holder (trimtab.locks) shows reliably that no other Snakemake is alive.
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
_LARGE = {"env", "libraries", "runs", "spans", "verification"}  # emptied by their writers


def run_alone(workflow: Any) -> None:
    """Let the Snakefile's `workflow` run its jobs alone in the working directory.

    Snakemake ends with one line if another one, or `trimtab advanced learn`, is running. The locks
    and incomplete files of a killed one are removed. If SIGTERM or SIGINT ends Snakemake, its jobs
    on this machine end too. A job's own Snakemake, on a cluster, and dry runs, such as `snakemake
    -n`, are not affected.
    """
    from snakemake.logging import logger

    if workflow.is_main_process and not workflow.output_settings.dryrun:
        logger.addFilter(_Alone(workflow))


class _Alone(logging.Filter):
    """Locks the directory from the start event of the workflow to the end of the process.

    Snakemake sends the event before it locks its directory and checks files. An error ends it.
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
    """Prevent Snakemake from running during the block, if `folder` is in its results.

    Raises UserError if one is running.
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
    """End the jobs' shells after a signal, if they run here.

    Snakemake itself waits for their end.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def end() -> None:
        while os.read(reader, 1)[0] not in _ENDING:
            continue
        while are_here():  # a job may just be starting
            for shell in children_of(snakemake):
                with suppress(ProcessLookupError):
                    os.kill(shell, signal.SIGTERM)
            time.sleep(_AGAIN_S)

    threading.Thread(target=end, daemon=True).start()
