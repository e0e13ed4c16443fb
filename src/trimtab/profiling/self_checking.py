"""Find libraries that must not change, as they check their own code or file.

A checksum of a library finds traps in a traced run and holes in a slim one, and the program fails.
It does not fail if that library is left alone.
"""

from collections.abc import Callable, Sequence

from trimtab.progress import tell

# Programs have at most one or two libraries that check themselves.
_MOST_FOUND = 3


def find_self_checking(
    candidates: Sequence[str], ends_well: Callable[[Sequence[str]], bool]
) -> list[str]:
    """Return the few `candidates` that must be left alone, or none if that does not help.

    `ends_well` runs the program with some left alone. It is called with none and with all, as a
    failure may be random or have another reason. Then it is called about log2 of the candidates
    times for each library found.
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
        # It fails with the first `low` candidates left alone, and not with the first `high`.
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
