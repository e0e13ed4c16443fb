"""What takes long to start or compile is made by one worker: Spark, and both simulators."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from trimtab.errors import UserError
from trimtab.spark.home import use_spark
from trimtab.spark.session import Session, spark_session

# By folder, what all tests of it would start or compile again in each worker.
ONE_WORKER = {
    "spark": "spark",
    "batch": "batch",
    "worth": "batch",
    "simulation": "simulator",
    "scheduling": "simulator",
}


@pytest.hookimpl(tryfirst=True)  # before that of tests/conftest.py, which groups by file
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep such tests on one worker."""
    for item in items:
        folders = item.path.parent.parts
        shared = [ONE_WORKER[name] for name in folders if name in ONE_WORKER]
        own = item.get_closest_marker("xdist_group")
        if shared and own is None and "readers" not in folders:
            item.add_marker(pytest.mark.xdist_group(shared[-1]))


@pytest.fixture(scope="session")
def spark_folder() -> Iterator[Path]:
    """Skips where there is no Spark. For runs of seconds Java compiles in a hurry: half the CPU."""
    try:
        folder = use_spark()
    except UserError as error:
        pytest.skip(str(error))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        yield folder


@pytest.fixture(scope="session")
def spark(spark_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with spark_session(tmp_path_factory.mktemp("spark"), slots=2) as session:
        yield session
