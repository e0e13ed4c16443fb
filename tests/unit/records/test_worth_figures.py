"""Figures of what stages are worth, as people read them."""

import pytest

from trimtab.records.batch.worth import format_figure


@pytest.mark.parametrize(
    ("figure", "value", "shown"),
    [
        ("eur", 0.006946, "0.00695"),  # two queues of cents must not look alike
        ("eur", 0.006603, "0.0066"),
        ("eur", 0.00001, "0.00"),
        ("eur", 12.345, "12.3"),
        ("energy_j", 131_500.0, "0.0365 kWh"),
        ("energy_j", 3.6e9, "1,000 kWh"),
        ("eur", 0.0, "0.00"),
    ],
)
def test_small_figures_keep_three_digits(figure: str, value: float, shown: str) -> None:
    assert format_figure(figure, value) == shown
