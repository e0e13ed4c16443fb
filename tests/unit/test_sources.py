import ast
from pathlib import Path

import pytest

from trimtab.sources import imports_of, sources_of


@pytest.fixture
def source(tmp_path: Path) -> Path:
    files = {
        "trimtab/__init__.py": "",
        "trimtab/a.py": "import trimtab.b\nimport os, json.tool\n",
        "trimtab/b.py": "def f():\n  from trimtab.c import inner\n  from trimtab import d, nope\n",
        "trimtab/c/__init__.py": "",
        "trimtab/c/inner.py": "from trimtab.a import x\n",  # a circle
        "trimtab/d.py": "from trimtab.config.root import RootConfig\n",
        "trimtab/unused.py": "import trimtab.a\n",
        "trimtab/config/__init__.py": "",
        "trimtab/config/root.py": "import trimtab.unused\n",
        "entry.py": "from trimtab.a import x\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_follows_imports_also_inside_functions_but_not_the_configuration(source: Path) -> None:
    found = sources_of([source / "entry.py"], source)
    names = [str(path.relative_to(source)) for path in found]
    assert names == [
        "entry.py",
        "trimtab/__init__.py",
        "trimtab/a.py",
        "trimtab/b.py",
        "trimtab/c/__init__.py",
        "trimtab/c/inner.py",
        "trimtab/d.py",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "import pkgutil\nfrom trimtab import c\nlist(pkgutil.iter_modules(c.__path__))\n",
        "import pkgutil\nimport trimtab.c\nlist(pkgutil.walk_packages(trimtab.c.__path__))\n",
    ],
)
def test_modules_of_a_package_that_is_searched(source: Path, text: str) -> None:
    (source / "trimtab/c/deeper").mkdir()
    (source / "trimtab/c/deeper/joins.py").write_text("import trimtab.unused\n")
    (source / "entry.py").write_text(text)
    names = {str(path.relative_to(source)) for path in sources_of([source / "entry.py"], source)}
    assert {"trimtab/c/inner.py", "trimtab/c/deeper/joins.py", "trimtab/unused.py"} <= names


def test_files_that_are_no_python_depend_on_themselves(source: Path) -> None:
    binary, script = source / "x.bin", source / "x.sh"
    binary.write_bytes(b"\x7fELF\0\xff")
    script.write_text("import what this is not ( python\n")
    assert sources_of([binary, script], source) == [binary, script]


@pytest.mark.parametrize(
    "text",
    [
        "import a.b, c as d  # one line\n",
        "from a import (\n    b,  # here\n    c,\n)\n",
        "def f():\n\tfrom a import b\n",
        "try: import a\nfinally: import b\n",
        "import a; import b\n",
        "import a; x = 1\n",
        "from a import b; import c\n",
        "import a, \\\n    b\n",
        "import a \\\n, b\n",
        "from a \\\n    import b\n",
        "from a import \\\n    b\n",
        'ONE = \'"""\'\nimport a\nTWO = \'"""\'\n',
        'TEXT = """\nfrom there to import what\n"""\nimport a # import\n',
        "match x:\n  case 1:\n    import a\n  case _:\n    from a import *\n",
        "from . import beside\nfrom .beside import b\n",
        "import not python (\n",
    ],
)
def test_imports_are_those_of_the_parsed_file(text: str) -> None:
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except SyntaxError:
        nodes = []
    names = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    assert imports_of(text.encode()) == names


def test_a_file_that_has_changed_is_read_again(source: Path) -> None:
    entry = source / "entry.py"
    assert source / "trimtab/unused.py" not in sources_of([entry], source)
    entry.write_text("import trimtab.unused\n")
    assert source / "trimtab/unused.py" in sources_of([entry], source)


EVERYWHERE = """
import m0
class A:
    import m1
    async def f(self):
        import m2
        async for x in y: import m3
        async with x: import m4
try: import m5
except OSError: import m6
except ValueError: pass
else: import m7
finally: import m8
if x: import m9
elif y: import m10
else:
    while z: import m11
    else: import m12
for x in (lambda: 0, y if z else x): import m13
else: import m14
with x: import m15
match x:
    case 1: pass
    case _: import m16
try: pass
except* OSError: import m17
x = 1; import m18
"""


def test_imports_are_found_in_every_kind_of_statement() -> None:
    assert imports_of(EVERYWHERE.encode()) == {f"m{number}" for number in range(19)}
