"""Which libraries a program cannot have changed, as they check their own code or file.

Whoever adds up the bytes of a library finds traps in a traced run, and holes in a slim one, and the
program fails. With that library left alone it does not.
"""

from collections.abc import Callable, Sequence

from trimtab.progress import tell

# Of libraries that check themselves there is one in a program, or two.
_MOST_FOUND = 3


def find_self_checking(
    candidates: Sequence[str], ends_well: Callable[[Sequence[str]], bool]
) -> list[str]:
    """Return the few of `candidates` that have to be left alone, or none where that does not help.

    `ends_well` runs the program with some left alone. It is called with none and with all, as a
    failure may be by chance or of another kind, and then about log2 of the candidates times for
    each that is found.
    """
    if not candidates:
        return []
    most = 2 + _MOST_FOUND * (1 + (len(candidates) - 1).bit_length())
    tell(
        f"the program fails: at most {most} more runs look for a library among {len(candidates)}"
        " that checks itself"
    )
    if ends_well([]) or not ends_well(candidates):
        return []
    found: list[str] = []
    while len(found) < _MOST_FOUND:
        # With the first `low` candidates left alone it fails, with the first `high` it does not.
        low, high = 0, len(candidates)
        while high - low > 1:
            middle = (low + high) // 2
            if ends_well([*candidates[:middle], *found]):
                high = middle
            else:
                low = middle
        found.append(candidates[high - 1])
        if ends_well(found):
            return found
    return []
