"""Tell which functions ran by the counters that CPython 3.8 to 3.11 has in code objects.

CPython counts the first calls of each code object: `co_opcache_flag` of 3.8 to 3.10, up to 1024,
and `co_warmup` of 3.11, from -8 to 0 (Include/cpython/code.h). Nothing has to be hooked. Python
does not show the counters, so they are read where they are. Their place is measured with fresh
functions, as it depends on how Python was built.
"""

import sys

MYPY = False  # true for type checkers only
if MYPY:
    from types import CodeType
    from typing import Any

_READER = "_ctypes"  # the module in C; `ctypes` would import others
# The lower half of an int in 3.8 to 3.10; in 3.11 that of a short, as Python keeps small numbers.
_COUNTER_BYTES, _FORMAT = (1, "B") if sys.version_info >= (3, 11) else (2, "H")
_ADDRESSES = 1 << 47  # of a process on x86-64
_MOST_OBJECT_BYTES = 256  # of a code object, in which the counter is
_FRESH, _CALLS = 3, 3
_ENOUGH_CALLS = 1100  # more than any counter counts
_IS_FUNCTION = 1  # CO_OPTIMIZED, which bodies of modules and classes lack

_NEVER_RUN = (lambda: None).__code__  # for a second value, lest a getter return no tuple
_CODE = type(_NEVER_RUN)


class CallCounters:
    """Reads the counters of a module's functions when its body ends, and once more at the end.

    Raises ImportError if this Python has no ctypes, and ValueError if no counter is found.
    """

    method = "counters"

    def __init__(self) -> None:
        offset, self._full = _calibrated()
        self._memory = _memory(offset)
        self._getter = unseen_module("_operator").itemgetter
        self._bodies: list[tuple[str, tuple[CodeType, ...], Any, tuple[int, ...]]] = []

    def begin(self, body: "CodeType") -> None:
        """Take note that a module's body begins."""

    def end(self, body: "CodeType") -> None:
        """Take note that a module's body ended: calls until now were part of its import."""
        codes, bodies = [_NEVER_RUN], [body]
        for each in bodies:  # then those of its classes; no functions inside of functions
            for value in each.co_consts:
                if type(value) is _CODE:
                    codes.append(value)  # with classes, whose bodies run during the import alone
                    if not value.co_flags & _IS_FUNCTION:
                        bodies.append(value)
        if len(codes) > 1:
            # One call in C reads all counters, now and at the end.
            counts = self._getter(*[id(code) // _COUNTER_BYTES for code in codes])
            before = counts(self._memory)
            self._bodies.append((body.co_filename, tuple(codes), counts, before))

    def ran(self) -> "dict[str, tuple[int, set[str]]]":
        """Return by file how many functions ran after the import, and the names they read.

        A function that was called too often during the import to be counted later counts, too.
        """
        found: dict[str, tuple[int, set[str]]] = {}
        for file, codes, counts, before in list(self._bodies):
            after = counts(self._memory)
            if before == after and self._full not in before:
                continue
            number, names = found.get(file, (0, set()))
            for code, old, new in zip(codes, before, after):  # noqa: B905, of 3.10
                if old != new or old == self._full:
                    number += 1
                    _add_names(code, names)
            found[file] = number, names
        return found


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
    """Return this process's memory from an address on, as numbers of a counter's size."""
    simple: Any = unseen_module(_READER)._SimpleCData
    number: Any = type("number", (simple,), {"_type_": _FORMAT})
    numbers = (number * (_ADDRESSES // _COUNTER_BYTES)).from_address(offset)
    view: Any = memoryview(numbers).cast("B")
    return view.cast(_FORMAT)  # faster than an array of ctypes


def unseen_module(name: str) -> "Any":
    """Return a module in C, of which the program sees nothing new."""
    was_there = name in sys.modules
    module: Any = __import__(name)
    if not was_there:
        del sys.modules[name]
    return module


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
