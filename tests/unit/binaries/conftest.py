from collections.abc import Callable
from pathlib import Path

import pytest
from example_libraries import C_SOURCE, CXX_SOURCE, LAYOUTS, compile_library

Compiled = Callable[[str], Path]


@pytest.fixture(scope="session")
def c_library(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """Returns the path of the C library linked in the given layout."""
    folder, made = tmp_path_factory.mktemp("libraries"), {}

    def library(layout: str = "default") -> Path:
        if layout not in made:
            path = folder / f"lib{layout}.so"
            made[layout] = compile_library(path, C_SOURCE, *LAYOUTS[layout])
        return made[layout]

    return library


@pytest.fixture(scope="session")
def cxx_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_library(tmp_path_factory.mktemp("libraries") / "libcxx_part.so", CXX_SOURCE)
