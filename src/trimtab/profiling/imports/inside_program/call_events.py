"""Tell which functions ran by events: from Python 3.12 on each function causes one.

Older Pythons, and builds without counters, have events of each call only (sys.setprofile).
"""

import sys

MYPY = False  # true for type checkers only
if MYPY:
    from types import CodeType, FrameType
    from typing import Any

_TOOLS = (4, 3)  # numbers that no kind of tool is recommended to take
_FROZEN = "<frozen"


class CallEvents:
    """Collects the code objects that run while their own module is not being imported."""

    method = "events"

    def __init__(self) -> None:
        self._running: dict[str, int] = {}  # by file: bodies that are running
        self._ran: dict[CodeType, str] = {}  # and the module of generated code

    def begin(self, body: "CodeType") -> None:
        """Take note that a module's body begins."""
        self._running[body.co_filename] = self._running.get(body.co_filename, 0) + 1

    def end(self, body: "CodeType") -> None:
        """Take note that a module's body ended."""
        left = self._running.pop(body.co_filename, 1) - 1
        if left:
            self._running[body.co_filename] = left

    def ran(self) -> "dict[str, tuple[int, set[str]]]":
        """Return by file how many functions ran after the import, and the names they read.

        Code that a program generates has no file; it counts for the module that made it.
        """
        found: dict[str, tuple[int, set[str]]] = {}
        for code, module in list(self._ran.items()):
            if code.co_name != "<module>":
                place = "module " + module if module else code.co_filename
                number, names = found.get(place, (0, set()))
                names.update(code.co_names)
                found[place] = number + 1, names
        return found


class MonitoredCalls(CallEvents):
    """Is told of the first call of each code object, by sys.monitoring (Python 3.12 and newer).

    Raises ValueError if no number is left for a tool, and AttributeError before Python 3.12.
    """

    method = "monitoring"

    def __init__(self) -> None:
        super().__init__()
        monitoring: Any = getattr(sys, "monitoring")  # noqa: B009, of a newer Python
        free = [tool for tool in _TOOLS if monitoring.get_tool(tool) is None]
        if not free:
            raise ValueError("no number is left for a tool")
        monitoring.use_tool_id(free[0], "trimtab imports")
        running, ran, never_again = self._running, self._ran, monitoring.DISABLE

        def starts(code: "CodeType", offset: int) -> "Any":
            file = code.co_filename
            if file in running:
                return None
            module = ""
            if file[:1] == "<" and not file.startswith(_FROZEN):
                module = _module_of(sys._getframe(1))
            ran[code] = module
            return never_again

        monitoring.register_callback(free[0], monitoring.events.PY_START, starts)
        monitoring.set_events(free[0], monitoring.events.PY_START)


class ProfiledCalls(CallEvents):
    """Is told of every call, by sys.setprofile: any Python, but slow."""

    method = "profile"

    def __init__(self) -> None:
        super().__init__()
        self.follow_thread()

    def follow_thread(self) -> None:
        """Watch this thread, and those that it starts."""
        sys.setprofile(self._event)
        if "threading" in sys.modules:
            sys.modules["threading"].setprofile(self._event)

    def _event(self, frame: "FrameType", event: str, argument: "Any") -> None:
        if event == "call":
            code = frame.f_code
            file = code.co_filename
            if code not in self._ran and file not in self._running:
                generated = file[:1] == "<" and not file.startswith(_FROZEN)
                self._ran[code] = _module_of(frame) if generated else ""


def _module_of(frame: "FrameType") -> str:
    name = frame.f_globals.get("__name__")
    return name if type(name) is str else ""
