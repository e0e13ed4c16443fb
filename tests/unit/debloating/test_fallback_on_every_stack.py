"""Functions that were removed are called in every kind of context; nothing else is written."""

import re
import subprocess
from pathlib import Path

import pytest
from slim_example import called

SOURCE = Path(__file__).with_name("contexts.c").read_text()
FUNCTIONS = [f"work_{i}" for i in range(60)]
CONTEXTS = re.findall(
    r"^(?:__attribute__\(\(target\(.*\)\)\) )?static void (\w+)\(void\) {",
    SOURCE,
    re.MULTILINE,
)
CONTEXTS = [
    name
    for name in CONTEXTS
    if "_" in name and name not in ("coroutine_body", "at_exit") or name in ("confined",)
]


@pytest.fixture(scope="module")
def program(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("contexts") / "contexts"
    source = SOURCE.replace("DECLARED", ", ".join(f"{name}(int)" for name in FUNCTIONS))
    source = source.replace("{NAMED}", "{" + ", ".join(FUNCTIONS) + "}")
    source = source.replace("{LISTED}", "{" + " ".join(f"CONTEXT({one})" for one in CONTEXTS) + "}")
    command = ["gcc", "-x", "c", "-", "-O2", "-D_FORTIFY_SOURCE=2", "-rdynamic", "-o", path]
    command += [f"-L{prefix}/lib", "-lmine", "-pthread", "-ldl", "-lm"]
    subprocess.run(command, input=source, text=True, check=True)
    return path


def run(program: Path, environment: Path, context: str, record: Path) -> tuple[int, str]:
    variables = {"TRIMTAB_FALLBACK_RECORD": str(record), "LD_LIBRARY_PATH": f"{environment}/lib"}
    done = subprocess.run(
        [program, context], env=variables, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("context", CONTEXTS)
def test_a_miss_in(context: str, program: Path, prefix: Path, slim: Path, record: Path) -> None:
    original = run(program, prefix, context, record)
    assert original[1] == "" or original[1].endswith(" 0\n")
    assert run(program, slim, context, record) == original
    assert original[0] or called(record)
