"""Import modules without running them, until something of them is asked for.

A lazy module is in `sys.modules` as ever. Its body runs at the first access of what only that can
give. A deferred name of another module is bound once the module that has it has run.
"""

import _frozen_importlib as _bootstrap
import sys

ModuleType = type(sys)
MYPY = False  # true for type checkers only
if MYPY:
    from typing import Any

_PLAIN_SET, _PLAIN_DELETE = ModuleType.__setattr__, ModuleType.__delattr__
_space = ModuleType.__dict__["__dict__"].__get__


class _State:
    """What a lazy module has until it ran."""

    __slots__ = ("children", "code", "firsts", "runs", "waiting")

    def __init__(self, code: "Any", firsts: "tuple[str, ...]") -> None:
        self.code, self.firsts, self.runs = code, firsts, False
        self.children: dict[str, Any] = {}  # submodules that were imported meanwhile
        self.waiting: list[tuple[Any, str, Any, str]] = []  # modules that wait for its names


_lazy: "dict[int, _State]" = {}  # by a module's id
_pending: "dict[int, dict[str, Any]]" = {}  # of a module's deferred names: the lazy module
ran: "list[str]" = []


def pass_over(module: "Any", code: "Any", firsts: "tuple[str, ...]" = ()) -> None:
    """Make `module` lazy; `code()` returns its byte code, and `firsts` are run before it."""
    _space(module).pop("__doc__", None)
    _lazy[id(module)] = _State(code, firsts)
    module.__class__ = _LazyModule


def run(module: "Any") -> None:
    """Run the body of a lazy module, unless this thread does, or another one did."""
    state = _lazy.get(id(module))
    if state is None or state.runs:
        return
    space = _space(module)
    for name in state.firsts:
        before = sys.modules.get(name)
        if type(before) is _LazyModule:
            run(before)
    with _bootstrap._ModuleLockManager(space["__name__"]):  # type: ignore[attr-defined]
        if state.runs or id(module) not in _lazy:
            return
        state.runs = True
        kept = dict(space)
        space["__doc__"] = None
        space.update(state.children)
        try:
            _bootstrap._call_with_frames_removed(exec, state.code(), space)  # type: ignore[attr-defined]
        except BaseException:
            space.clear()
            space.update(kept)
            state.runs = False
            raise
        ran.append(space["__name__"])
        del _lazy[id(module)]
        if type(module) is _LazyModule:
            module.__class__ = _DeferringModule if id(module) in _pending else ModuleType
        for importer, alias, source, name in state.waiting:
            _bind(importer, alias, source, name)


def _bind(importer: "Any", alias: str, source: "Any", name: str) -> None:
    names = _pending.get(id(importer), {})
    if alias not in names:
        return
    del names[alias]
    _space(importer)[alias] = _attribute(source, name)
    if not names:
        del _pending[id(importer)]
        if type(importer) is _DeferringModule:
            importer.__class__ = ModuleType


def _attribute(source: "Any", name: str) -> "Any":
    try:
        return getattr(source, name)
    except AttributeError:
        return getattr(__import__(source.__name__, {}, None, (name,)), name)


def defer(module: str, names: "tuple[tuple[str, str], ...]", level: int = 0) -> None:
    """Do `from module import name as alias` for the caller's module, later where possible."""
    space = sys._getframe(1).f_globals
    importer = sys.modules[space["__name__"]]
    for name, alias in names:
        source = __import__(module, space, None, (), level)
        full = module
        if level:
            full = _bootstrap._resolve_name(module, space["__package__"], level)  # type: ignore
        source = sys.modules[full]
        lazy = source if type(source) is _LazyModule else _pending.get(id(source), {}).get(name)
        state = _lazy.get(id(lazy))
        if state is None or state.runs or type(importer) not in (ModuleType, _DeferringModule, _LazyModule):
            whole = __import__(module, space, None, (name,), level)
            space[alias] = _attribute(whole, name)
            continue
        state.waiting.append((importer, alias, source, name))
        _pending.setdefault(id(importer), {})[alias] = lazy
        if type(importer) is ModuleType:
            importer.__class__ = _DeferringModule


def bind() -> None:
    """Bind what the caller's function, which misses a name, may need."""
    frame = sys._getframe(1)
    importer = sys.modules.get(frame.f_globals["__name__"])
    names = _pending.get(id(importer), {})
    for name in [each for each in frame.f_code.co_names if each in names]:
        _resolve(importer, name)


def _resolve(module: "Any", name: str) -> None:
    lazy = _pending.get(id(module), {}).get(name)
    if lazy is not None:
        run(lazy)


def _resolve_all(module: "Any") -> None:
    for name in list(_pending.get(id(module), ())):
        _resolve(module, name)


class _LazyModule(ModuleType):  # type: ignore[misc, valid-type]
    def __getattr__(self, name: str) -> "Any":
        run(self)
        if name in _pending.get(id(self), ()):
            _resolve(self, name)
        return ModuleType.__getattribute__(self, name)

    def __setattr__(self, name: str, value: "Any") -> None:
        state = _lazy.get(id(self))
        own = _space(self)["__name__"]
        if state is not None and not state.runs:
            if sys.modules.get(f"{own}.{name}") is value:  # the import system binds a submodule
                state.children[name] = value
                return
            run(self)
        _pending.get(id(self), {}).pop(name, None)
        _PLAIN_SET(self, name, value)

    def __delattr__(self, name: str) -> None:
        run(self)
        _resolve(self, name)
        _PLAIN_DELETE(self, name)

    def __dir__(self) -> "list[str]":
        run(self)
        _resolve_all(self)
        return list(ModuleType.__dir__(self))

    @property
    def __dict__(self) -> "Any":  # type: ignore[override]
        run(self)
        _resolve_all(self)
        return _space(self)

    @property
    def __doc__(self) -> "Any":  # type: ignore[override]
        run(self)
        return _space(self).get("__doc__")

    @property
    def __annotations__(self) -> "Any":  # type: ignore[override]
        run(self)
        return ModuleType.__dict__["__annotations__"].__get__(self)


class _DeferringModule(ModuleType):  # type: ignore[misc, valid-type]
    def __getattr__(self, name: str) -> "Any":
        if name not in _pending.get(id(self), ()):
            return ModuleType.__getattribute__(self, name)
        _resolve(self, name)
        return ModuleType.__getattribute__(self, name)

    def __setattr__(self, name: str, value: "Any") -> None:
        _pending.get(id(self), {}).pop(name, None)
        _PLAIN_SET(self, name, value)

    def __delattr__(self, name: str) -> None:
        _resolve(self, name)
        _PLAIN_DELETE(self, name)

    def __dir__(self) -> "list[str]":
        _resolve_all(self)
        return list(ModuleType.__dir__(self))

    @property
    def __dict__(self) -> "Any":  # type: ignore[override]
        caller = sys._getframe(1).f_code
        if caller.co_name != "_process_class" or not caller.co_filename.endswith("dataclasses.py"):
            _resolve_all(self)
        return _space(self)


for _kind in (_LazyModule, _DeferringModule):
    _kind.__name__ = _kind.__qualname__ = "module"
    _kind.__module__ = "builtins"
