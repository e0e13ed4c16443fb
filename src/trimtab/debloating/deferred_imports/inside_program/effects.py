"""Find which modules' bodies change or read anything outside themselves, while a program runs.

At the begin and the end of each body, all older objects that Python's garbage collector knows are
compared: does each still refer to the same objects? A change belongs to the module whose own code
ran since the last comparison. What the collector does not know is compared by `probes.py`.
"""

import gc
import operator
import sys
import types
import weakref

from trimtab.debloating.deferred_imports.inside_program.probes import probe

MYPY = False  # true for type checkers only
if MYPY:
    from typing import Any

_CONSTANT = {
    *(tuple, frozenset, property, staticmethod, classmethod, types.FrameType, types.GeneratorType),
    *(types.CoroutineType, types.AsyncGeneratorType, types.TracebackType, types.CodeType),
    *(types.BuiltinFunctionType, types.GetSetDescriptorType, types.MemberDescriptorType),
    *(types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType),
    *(types.ClassMethodDescriptorType, types.MethodType, types.MappingProxyType),
}
# Caches and the import system's own: no program sees what they hold.
_CACHES = {
    *("ModuleSpec", "SourceFileLoader", "ExtensionFileLoader", "SourcelessFileLoader"),
    *("FileFinder", "_NamespacePath", "NamespaceLoader", "_NamespaceLoader", "_ModuleLock"),
    *("GenericAlias", "_GenericAlias", "_LiteralGenericAlias", "_UnionGenericAlias"),
    *("_lru_cache_wrapper", "_lru_list_elem", "_abc_data", "weakref", "ReferenceType"),
}
_CACHE_NAMES = {
    "sys": ("modules", "path_importer_cache"),
    "_frozen_importlib": ("_module_locks", "_blocking_on"),
    "linecache": ("cache",),
    "re": ("_cache", "_cache2"),
    "ctypes": ("_pointer_type_cache", "_c_functype_cache"),
    "_ctypes": ("_pointer_type_cache",),
    "typing": ("_cleanups", "_caches", "_overload_registry"),
    "threading": ("_active",),
}


class OwnList(list):  # type: ignore[type-arg]
    """A list of this package, which is none of the program's objects."""


class OwnDict(dict):  # type: ignore[type-arg]
    """A dictionary of this package."""


class OwnSet(set):  # type: ignore[type-arg]
    """A set of this package."""


class _Chunk:
    """Objects that one module made, and what each refers to."""

    __slots__ = ("counts", "objects", "owner", "referents")

    def __init__(self, owner: str, objects: "list[Any]") -> None:
        self.owner, self.objects = owner, objects
        self.update()

    def update(self) -> None:
        self.counts = [len(gc.get_referents(each)) for each in self.objects]
        self.referents = gc.get_referents(*self.objects)

    def is_same(self) -> bool:
        now = gc.get_referents(*self.objects)
        return len(now) == len(self.referents) and all(map(operator.is_, now, self.referents))


_IMPORT_SYSTEM = ("__name__", "__package__", "__loader__", "__spec__", "__file__", "__cached__")
_SKIPPED = {*_CONSTANT, OwnList, OwnDict, OwnSet, _Chunk}


def skip(kind: type) -> None:
    """Take objects of this kind for none of the program's."""
    _SKIPPED.add(kind)


class Effects:
    """The effects of each module's own code: `of[name]` is a set of words."""

    def __init__(self) -> None:
        self.of: dict[str, set[str]] = OwnDict()
        self.bases: dict[str, set[str]] = OwnDict()  # packages of the classes that a module's are made of
        self._chunks: list[_Chunk] = OwnList()
        self._owners: dict[int, str] = OwnDict()  # of objects that the import system made for a module
        self._caches: set[int] = OwnSet()
        self._module_names: dict[int, str] = OwnDict()  # by a module's dictionary
        self._probed: Any = None
        _SKIPPED.add(Effects)
        gc.disable()
        self.settle("")

    def own(self, name: str, space: "Any") -> None:
        """A module begins with the dictionary `space`: it may change that."""
        self._owners[id(space)] = self._owners[id(sys.modules.get(name))] = name
        self._module_names[id(space)] = name

    def note(self, name: str, effect: str) -> None:
        """Add an effect to a module; "" is the program."""
        if name:
            self.of.setdefault(name, OwnSet()).add(effect)

    def settle(self, name: str) -> None:
        """Compare all older objects; what changed and is new is of the module `name`."""
        found = [each for each in gc.get_objects() if type(each) not in _SKIPPED]
        self._find_caches()
        for chunk in self._chunks:
            if not chunk.is_same():
                self._compare(chunk, name)
                chunk.update()
        probed = probe()
        if self._probed is not None and probed != self._probed:
            self.note(name, "state of the process")
        self._probed = probed
        found += [
            each for each in gc.get_referents(*found)
            if type(each) is dict and not gc.is_tracked(each)
        ]  # fmt: skip
        for each in found:
            kind = type(each)
            if kind.__name__ in _CACHES:
                self._caches.add(id(each))
                self._caches.update(id(one) for one in gc.get_referents(each)
                                    if type(one) in (dict, list, set))  # fmt: skip
            if name and issubclass(kind, type):
                tops = {str(getattr(base, "__module__", "")).partition(".")[0]
                        for base in type.__dict__["__bases__"].__get__(each)}  # fmt: skip
                self.bases.setdefault(name, OwnSet()).update(tops)
        chunk = _Chunk(name, found)
        # A chunk's own lists, and all that is new, are out of sight from here on.
        self._chunks.append(chunk)
        gc.freeze()

    def _find_caches(self) -> None:
        for module, names in _CACHE_NAMES.items():
            space = getattr(sys.modules.get(module), "__dict__", {})
            self._caches.update(id(space[name]) for name in names if name in space)

    def _compare(self, chunk: "_Chunk", name: str) -> None:
        counts = chunk.counts
        place = 0
        for each, count in zip(chunk.objects, counts):
            then = chunk.referents[place : place + count]
            place += count
            now = gc.get_referents(each)
            if len(now) == count and all(map(operator.is_, now, then)):
                continue
            owner = self._owners.get(id(each), chunk.owner)
            if owner != name and id(each) not in self._caches and self._is_effect(each, then):
                self.note(name, f"changes a {type(each).__name__} of {owner or 'the program'}")

    def _is_effect(self, changed: "Any", then: "list[Any]") -> bool:
        """Return whether more changed than what the import system writes, or a class's subclasses.

        The latter are known by `bases`.
        """
        if type(changed) is not dict:
            return True
        items = list(changed.items())
        if items and all(type(key) is int and type(value) is weakref.ref for key, value in items):
            return False
        module = changed.get("__name__")
        if type(module) is not str or "__spec__" not in changed:
            return True
        known = set(map(id, then))
        found = set(map(id, changed.values())) | set(map(id, changed))
        written = {id(changed.get(key)) for key in _IMPORT_SYSTEM}
        if known - found - written - {id(None)}:
            return True  # something was replaced
        return any(
            id(value) not in known
            and key not in _IMPORT_SYSTEM
            and sys.modules.get(f"{module}.{key}") is not value
            for key, value in items
        )
