"""One Spark session for all tests that need one: starting one takes seconds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from trimtab.errors import UserError
from trimtab.spark.home import use_spark
from trimtab.spark.session import Session, spark_session


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep them on one worker, which starts it once."""
    for item in items:
        if "spark" in item.path.parent.parts:
            item.add_marker(pytest.mark.xdist_group("spark"))


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
