"""Two Linux system calls without a function in the C library."""

import ctypes
import os
import platform

# <asm/unistd.h>: the numbers depend on the architecture.
_NUMBERS = {
    "x86_64": {"perf_event_open": 298, "kcmp": 312},
    "aarch64": {"perf_event_open": 241, "kcmp": 272},
}
_KCMP_VM = 1
_PERF_FLAG_FD_CLOEXEC = 8


def perf_event_open(attributes: bytes) -> int:
    """Open a performance counter of this thread, perf_event_open(2); return its descriptor.

    `attributes` is a `struct perf_event_attr`. Raises OSError as the kernel does, and ENOSYS on an
    architecture without a number here.
    """
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    return _call("perf_event_open", buffer, 0, -1, -1, _PERF_FLAG_FD_CLOEXEC)


def shares_memory(pid: int, other: int) -> bool:
    """Return whether two processes share an address space, as after vfork: kcmp(2).

    False if the kernel does not tell.
    """
    try:
        return _call("kcmp", pid, other, _KCMP_VM, 0, 0) == 0
    except OSError:
        return False


def _call(name: str, *arguments: object) -> int:
    number = _NUMBERS.get(platform.machine(), {}).get(name)
    if number is None:
        raise OSError(38, f"{name}: no system call number for {platform.machine()}")
    libc = ctypes.CDLL(None, use_errno=True)
    # Passed as 64-bit: the variadic syscall() takes longs, and -1 must stay -1.
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result = int(libc.syscall(ctypes.c_long(number), *words))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result
