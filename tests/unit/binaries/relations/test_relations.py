"""Tables of virtual functions, addresses taken and types of Python, where all is known."""

import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from example_libraries import marks, real_libraries
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.relations.addresses import address_taken
from trimtab.binaries.relations.calls import called, with_called
from trimtab.binaries.relations.code import Code
from trimtab.binaries.relations.likely import SMALL_BYTES, with_likely, with_small_relatives
from trimtab.binaries.relations.type_slots import life_cycle_slots
from trimtab.binaries.relations.vtables import vtable_siblings, vtables

Rule = Callable[[Code, NDArray[np.bool_]], NDArray[np.bool_]]
CLASSES = r"""
#define APART __attribute__((noinline, noclone))
volatile int sink;
struct Shape { virtual ~Shape(); virtual int area(); virtual int edges() = 0; };
APART Shape::~Shape() { sink += 1; }
APART int Shape::area() { return sink; }
struct Square : Shape { ~Square() override; int edges() override; virtual int side(); };
APART Square::~Square() { sink += 2; }
APART int Square::edges() { return sink + 4; }
APART int Square::side() { return sink + 5; }
struct Other { virtual int one(); virtual int two(); };
APART int Other::one() { return sink + 6; }
APART int Other::two() { return sink + 7; }
extern "C" APART int alone() { return sink + 8; }
extern "C" int (*dispatch[])() = {alone, alone};
"""
CALLBACKS = r"""
#define APART __attribute__((noinline, noclone))
volatile int sink;
void *volatile kept;
APART __attribute__((visibility("hidden"))) void hidden(void) { sink += 1; }
APART void visible(void) { sink += 2; }
APART void untouched(void) { sink += 3; }
APART void take_hidden(void) { kept = hidden; }
APART void take_visible(void) { kept = visible; }
"""
TYPES = r"""
#include <Python.h>
#define APART __attribute__((noinline, noclone)) static
volatile int sink;
APART void type_dealloc(PyObject *self) { sink += 1; }
APART int type_traverse(PyObject *self, visitproc visit, void *arg) { return sink + 2; }
APART int type_clear(PyObject *self) { return sink + 3; }
APART PyObject *type_repr(PyObject *self) { sink += 4; return 0; }
APART void spec_dealloc(PyObject *self) { sink += 5; }
APART int spec_traverse(PyObject *self, visitproc visit, void *arg) { return sink + 6; }
APART void spec_finalize(PyObject *self) { sink += 7; }
APART PyObject *spec_repr(PyObject *self) { sink += 8; return 0; }
APART PyObject *method(PyObject *self, PyObject *args) { sink += 9; return 0; }
static PyMethodDef methods[] = {{"method", method, METH_VARARGS, "text"}, {0}};
PyTypeObject type = {
  PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "module.type", .tp_basicsize = sizeof(PyObject),
  .tp_dealloc = type_dealloc, .tp_traverse = type_traverse, .tp_clear = type_clear,
  .tp_repr = type_repr, .tp_methods = methods, .tp_flags = Py_TPFLAGS_HAVE_GC,
};
static PyType_Slot slots[] = {
  {Py_tp_dealloc, spec_dealloc}, {Py_tp_repr, spec_repr}, {Py_tp_traverse, spec_traverse},
  {Py_tp_finalize, spec_finalize}, {0, 0},
};
PyType_Spec spec = {"module.spec", sizeof(PyObject), 0, Py_TPFLAGS_HAVE_GC, slots};
struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "module", 0, -1, methods};
PyMODINIT_FUNC PyInit_module(void) { PyType_Ready(&type); return PyModule_Create(&definition); }
"""
LIFE_CYCLE = {
    "type_dealloc", "type_traverse", "type_clear", "spec_dealloc", "spec_traverse", "spec_finalize"
}  # fmt: skip


def compiled(folder: Path, source: str, *options: str) -> Path:
    output = folder / "library.so"
    include = f"-I{sysconfig.get_path('include')}"
    command = ["g++", "-O2", "-shared", "-fPIC", include, *options, "-o", str(output), "-"]
    subprocess.run(command, input=source, text=True, check=True)
    return output


def related(library: Path, rule: Rule, *used: str) -> set[str]:
    elf = read_elf(library)
    functions, names = read_functions(elf), function_names(elf)
    result = rule(Code.of(elf, functions), marks(elf, functions, *used))
    return {names.of(int(start)) or "" for start in functions.start[result]}


@pytest.mark.parametrize("options", [[], ["-Wl,-z,pack-relative-relocs"], ["-fvisibility=hidden"]])
def test_one_entry_of_a_table_brings_the_others(tmp_path: Path, options: list[str]) -> None:
    library = compiled(tmp_path, CLASSES, "-x", "c++", *options)
    square = related(library, vtable_siblings, "_ZN6Square4sideEv")
    assert {"_ZN6Square5edgesEv", "_ZN6Square4sideEv", "_ZN5Shape4areaEv"} <= square
    assert len(square) == 5  # and its two destructors
    assert related(library, vtable_siblings, "_ZN5Other3oneEv") == {
        "_ZN5Other3oneEv", "_ZN5Other3twoEv"
    }  # fmt: skip


def test_other_tables_of_functions_are_none_of_a_class(tmp_path: Path) -> None:
    library = compiled(tmp_path, CLASSES, "-x", "c++")
    assert related(library, vtable_siblings, "alone") == set()


def test_tables_are_those_that_symbols_name() -> None:
    """In a real library, for each `_ZTV...` symbol: its entries are those of one table."""
    path = next(path for path in real_libraries() if path.name == "libc10.so")
    elf = read_elf(path)
    code = Code.of(elf, read_functions(elf))
    listing = subprocess.run(["nm", "-S", path], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in listing.splitlines()]
    tables = [row for row in rows if len(row) == 4 and row[3].startswith("_ZTV")]
    named = [(int(row[0], 16), int(row[1], 16)) for row in tables]
    entry, table = vtables(code)
    of_table = [set(entry[table == number].tolist()) for number in np.unique(table)]
    checked = 0
    for start, size in named:
        inside = (code.pointers.slot >= start) & (code.pointers.slot < start + size)
        functions = code.index_at(code.pointers.target[inside])
        expected = set(functions[functions >= 0].tolist())
        if size == 8 * (2 + len(expected)):  # no second table within, for another base
            assert expected in of_table
            checked += 1
    assert checked > 20


@pytest.mark.parametrize("options", [[], ["-Wl,-z,pack-relative-relocs"], ["-fno-plt"]])
def test_a_function_whose_address_is_taken(tmp_path: Path, options: list[str]) -> None:
    library = compiled(tmp_path, CALLBACKS, "-x", "c", *options)
    assert related(library, address_taken, "take_hidden") == {"hidden"}
    assert related(library, address_taken, "take_visible") == {"visible"}
    assert related(library, address_taken, "untouched") == set()


@pytest.mark.parametrize("options", [[], ["-Wl,-z,pack-relative-relocs"]])
def test_what_python_calls_by_itself(tmp_path: Path, options: list[str]) -> None:
    library = compiled(tmp_path, TYPES, "-x", "c", *options)
    assert related(library, life_cycle_slots, "PyInit_module") == LIFE_CYCLE
    assert related(library, life_cycle_slots) == set()


def test_types_are_looked_for_in_extensions_alone(tmp_path: Path) -> None:
    source = TYPES[: TYPES.index("struct PyModuleDef")] + "int used(void) { return sink; }"
    library = compiled(tmp_path, source, "-x", "c")
    assert related(library, life_cycle_slots, "used") == set()


def test_only_small_relatives_are_kept(tmp_path: Path) -> None:
    library = compiled(tmp_path, CLASSES, "-x", "c++")
    area = "_ZN5Shape4areaEv"

    def rule(largest_bytes: int) -> Rule:
        return lambda code, used: with_small_relatives(code, used, largest_bytes)

    assert related(library, rule(0), area) == {area}
    assert {area, "_ZN6Square4sideEv"} <= related(library, rule(512), area)


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_rules_only_add_and_more_used_keeps_more(data: st.DataObject) -> None:
    elf = read_elf(data.draw(st.sampled_from(real_libraries())))
    functions = read_functions(elf)
    code = Code.of(elf, functions)
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    more = random.random(len(functions)) < data.draw(st.sampled_from([0.01, 0.1, 0.5]))
    less = more & (random.random(len(functions)) < 0.5)
    for rule in (called, address_taken, vtable_siblings, life_cycle_slots):
        assert not np.any(rule(code, less) & ~rule(code, more))
    kept_of_less, kept_of_more = (with_likely(elf, functions, used) for used in (less, more))
    assert not np.any(more & ~kept_of_more)
    assert not np.any(kept_of_less & ~kept_of_more)
    assert not np.any(with_called(code, more) & ~kept_of_more)
    again = with_small_relatives(code, kept_of_more, SMALL_BYTES)
    assert np.array_equal(again, kept_of_more)
    assert np.array_equal(with_called(code, with_called(code, more)), with_called(code, more))
