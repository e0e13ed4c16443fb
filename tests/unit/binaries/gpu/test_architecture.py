import pytest

from trimtab.binaries.gpu.architecture import (
    Architecture,
    can_load,
    parse_architecture,
    preference,
    ptx_fits,
)
from trimtab.errors import UserError

GPUS = [50, 52, 60, 61, 70, 75, 80, 86, 89, 90, 100, 103, 110, 120, 121]


@pytest.mark.parametrize(
    ("text", "number", "variant"),
    [
        ("sm_90", 90, ""),
        ("sm_90a", 90, "a"),
        ("compute_100f", 100, "f"),
        ("9.0", 90, ""),
        ("12.1a", 121, "a"),
        (" 86 ", 86, ""),
        ("103f", 103, "f"),
    ],
)
def test_every_spelling_is_read(text: str, number: int, variant: str) -> None:
    assert parse_architecture(text) == Architecture(number, variant)


@pytest.mark.parametrize(
    "text", ["", "9", "sm_", "sm_90b", "90 0", "9.0.0", "sm90", "1200", "9.", "\u0669\u0660"]
)
def test_other_text_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UserError, match=r"no GPU architecture.*sm_90a"):
        parse_architecture(text)


def test_the_text_of_an_architecture_is_read_back() -> None:
    for text in ("sm_75", "sm_90a", "sm_120f"):
        assert str(parse_architecture(text)) == text


# Programming guide, "Binary Compatibility"; Ampere, Ada and Hopper compatibility guides;
# "Family-Specific Features": 10.0f on 10.0 and 10.3, 11.0f on 11.0, 12.0f on 12.0 and 12.1.
CUBINS = {
    "sm_75": [75],
    "sm_80": [80, 86, 89],
    "sm_86": [86, 89],
    "sm_89": [89],
    "sm_90": [90],
    "sm_90a": [90],
    "sm_100": [100, 103],
    "sm_100a": [100],
    "sm_100f": [100, 103],
    "sm_103": [103],
    "sm_103f": [103],
    "sm_101": [110],
    "sm_101a": [110],
    "sm_110f": [110],
    "sm_120": [120, 121],
    "sm_120a": [120],
    "sm_120f": [120, 121],
    "sm_121a": [121],
}


@pytest.mark.parametrize(("code", "gpus"), CUBINS.items())
def test_a_cubin_fits_the_documented_gpus_and_no_other(code: str, gpus: list[int]) -> None:
    assert [gpu for gpu in GPUS if can_load(parse_architecture(code), gpu)] == gpus


@pytest.mark.parametrize(
    ("code", "gpus"),
    [
        ("compute_52", GPUS[1:]),
        ("compute_90", [90, 100, 103, 110, 120, 121]),
        ("compute_90a", [90]),
        ("compute_100f", [100, 103]),
        ("compute_101", [110, 120, 121]),
        ("compute_120f", [120, 121]),
        ("compute_121", [121]),
    ],
)
def test_ptx_fits_every_later_gpu_but_for_variants(code: str, gpus: list[int]) -> None:
    assert [gpu for gpu in GPUS if ptx_fits(parse_architecture(code), gpu)] == gpus


def test_thor_is_the_same_gpu_under_either_number() -> None:
    for code in ("sm_101a", "sm_110a", "sm_101f", "sm_110"):
        assert can_load(parse_architecture(code), 101)
        assert can_load(parse_architecture(code), 110)
    assert not can_load(parse_architecture("sm_101"), 103)


def test_what_a_gpu_can_load_natively_it_could_also_compile() -> None:
    for code in map(parse_architecture, CUBINS):
        for gpu in GPUS:
            assert not can_load(code, gpu) or ptx_fits(code, gpu)


def test_the_closest_cubin_is_preferred_and_variants_of_it_rank_alike() -> None:
    by_rank = sorted(map(parse_architecture, ["sm_90a", "sm_80", "sm_89", "sm_86"]), key=preference)
    assert [str(code) for code in by_rank] == ["sm_80", "sm_86", "sm_89", "sm_90a"]
    assert len({preference(Architecture(100, variant)) for variant in ("", "a", "f")}) == 1
