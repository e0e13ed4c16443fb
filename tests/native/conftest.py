"""One slim environment for all tests of snapshots."""

import os
import platform
import sys
from pathlib import Path

import pytest
from saved_starts import Slim


@pytest.fixture(scope="session")
def slim(tmp_path_factory: pytest.TempPathFactory) -> Slim:
    if platform.machine() != "x86_64":
        pytest.skip("snapshots are of x86-64")
    return Slim(tmp_path_factory.mktemp("snapshots"), os.fsdecode(Path(sys.executable).resolve()))
