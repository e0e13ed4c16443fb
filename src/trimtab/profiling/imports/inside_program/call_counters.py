"""Tell which functions ran by the counters that CPython 3.8 to 3.11 has in code objects.

CPython counts the first calls of each code object: `co_opcache_flag` of 3.8 to 3.10, up to 1024,
and `co_warmup` of 3.11, from -8 to 0 (Include/cpython/code.h). Nothing has to be hooked. Python
does not show the counters, so they are read where they are. Their place is measured with fresh
functions, as it depends on how Python was built.
"""

import sys

MYPY = False  # true for type checkers only
if MYPY:
    from collections.abc import Iterable
    from types import CodeType
    from typing import Any

_READER = "_ctypes"  # the module in C; `ctypes` would import others
_COUNTER_BYTES = 2  # the lower half of an int in 3.8 to 3.10; all of the short in 3.11
_ADDRESSES = 1 << 47  # of a process on x86-64
_MOST_OBJECT_BYTES = 256  # of a code object, in which the counter is
_FRESH, _CALLS = 3, 3
_ENOUGH_CALLS = 1100  # more than any counter counts
_IS_FUNCTION = 1  # CO_OPTIMIZED, which bodies of modules and classes lack

_CODE = type((lambda: None).__code__)


class CallCounters:
    """Reads the counters of a module's functions when its body ends, and once more at the end.

    Raises ImportError if this Python has no ctypes, and ValueError if no counter is found.
    """

    method = "counters"

    def __init__(self) -> None:
        offset, self._full = _calibrated()
        self._memory = _memory(offset)
        self._bodies: list[tuple[str, tuple[CodeType, ...], tuple[int, ...]]] = []

    def begin(self, body: "CodeType") -> None:
        """Take note that a module's body begins."""

    def end(self, body: "CodeType") -> None:
        """Take note that a module's body ended: calls until now were part of its import."""
        codes: list[CodeType] = []
        bodies = [body]
        for each in bodies:  # then those of its classes; no functions inside of functions
            inside = [value for value in each.co_consts if type(value) is _CODE]
            codes += inside  # with classes, whose bodies run during the import alone
            bodies += [code for code in inside if not code.co_flags & _IS_FUNCTION]
        if codes:
            self._bodies.append((body.co_filename, tuple(codes), self._counts(codes)))

    def ran(self) -> "dict[str, tuple[int, set[str]]]":
        """Return by file how many functions ran after the import, and the names they read.

        A function that was called too often during the import to be counted later counts, too.
        """
        found: dict[str, tuple[int, set[str]]] = {}
        for file, codes, before in list(self._bodies):
            after = self._counts(codes)
            if before == after and self._full not in before:
                continue
            number, names = found.get(file, (0, set()))
            for code, old, new in zip(codes, before, after):  # noqa: B905, of 3.10
                if old != new or old == self._full:
                    number += 1
                    _add_names(code, names)
            found[file] = number, names
        return found

    def _counts(self, codes: "Iterable[CodeType]") -> "tuple[int, ...]":
        memory = self._memory
        return tuple([memory[id(code) >> 1] for code in codes])


def _calibrated() -> "tuple[int, int]":
    """Return the counter's offset in a code object, and its highest value."""
    memory = _memory(0)
    found = None
    for _ in range(_FRESH):
        function, code = _fresh()
        seen = [_numbers(memory, code)]
        for _ in range(_CALLS):
            function()
            seen.append(_numbers(memory, code))
        counting = {
            (place, before[0])
            for place, before in enumerate(zip(*seen))  # noqa: B905, of 3.10
            if all(number == before[0] + calls for calls, number in enumerate(before))
        }
        found = counting if found is None else found & counting
    if not found or len(found) > 1:
        raise ValueError("no counter of calls found")
    ((place, _),) = found
    function, code = _fresh()
    for _ in range(_ENOUGH_CALLS):
        function()
    full = _numbers(memory, code)[place]
    function()
    if _numbers(memory, code)[place] != full:
        raise ValueError("the counter of calls has no end")
    return place * _COUNTER_BYTES, full


def _numbers(memory: "Any", code: "CodeType") -> "list[int]":
    first = id(code) // _COUNTER_BYTES
    count = min(sys.getsizeof(code), _MOST_OBJECT_BYTES) // _COUNTER_BYTES
    return [memory[place] for place in range(first, first + count)]


def _memory(offset: int) -> "Any":
    """Return this process's memory from an address on, as short integers.

    The program sees no new module.
    """
    was_there = _READER in sys.modules
    reader: Any = __import__(_READER)
    if not was_there:
        del sys.modules[_READER]
    short: Any = type("short", (reader._SimpleCData,), {"_type_": "h"})
    numbers = (short * (_ADDRESSES // _COUNTER_BYTES)).from_address(offset)
    return memoryview(numbers).cast("B").cast("h")  # faster than an array of ctypes


def _fresh() -> "tuple[Any, CodeType]":
    """Return a new function, and its code object."""
    space: dict[str, Any] = {}
    exec(compile("def function():\n return 1\n", "<trimtab>", "exec"), space)
    return space["function"], space["function"].__code__


def _add_names(code: "CodeType", names: "set[str]") -> None:
    names.update(code.co_names)
    for value in code.co_consts:
        if type(value) is _CODE:
            _add_names(value, names)
