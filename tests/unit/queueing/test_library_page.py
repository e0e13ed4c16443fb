"""The example of the page on the library."""

from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "library.md"


def test_the_documented_queue_of_bursts(capsys: pytest.CaptureFixture[str]) -> None:
    exec(PAGE.read_text().split("```python")[1].split("```")[0], {})
    high_s, low_s, low_p95_s = map(float, capsys.readouterr().out.split())
    # Poisson arrivals, by Cobham: the residual work is 0.6 * 1.5 / 2; bursts are worse.
    assert 1 + 0.45 / 0.8 < high_s < 2 * (1 + 0.45 / 0.8)
    assert low_s > 1.5 * (1 + 0.45 / 0.8 / 0.4)
    assert low_p95_s > 2 * low_s
