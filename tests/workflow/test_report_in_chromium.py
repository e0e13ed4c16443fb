"""The report in a real browser: complete, quiet, and without a single request."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import experiment_files as files
import pytest
import schedule_files
from playwright.sync_api import Browser, Page, sync_playwright

from trimtab.cli.doctor import missing
from trimtab.evaluation.evaluate import evaluate

FIGURES = {
    *("sizes", "run_times", "reduction_of_code_size", "reduction_of_count"),
    "savings_by_library",
}
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if reason := missing("Chromium"):
        pytest.skip(reason)
    executable = shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("experiment")
    return evaluate(files.write_experiment(folder), folder / "out")


@pytest.fixture
def page(browser: Browser, report: Path) -> Iterator[Page]:
    """The opened report, with its charts drawn; ends by checking what the page did."""
    requests: list[str] = []
    complaints: list[str] = []
    page = browser.new_page()
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(report.as_uri())
    page.wait_for_selector("body[data-charts]")
    yield page
    page.close()
    assert requests == [report.as_uri()]
    assert complaints == []


def test_every_chart_is_drawn_with_its_marks(page: Page) -> None:
    assert page.get_attribute("body", "data-charts") == "ready"
    for name in FIGURES:
        chart = page.locator(f"#figure-{name}.vega-embed svg.marks")
        assert chart.count() == 1
        # Axes, grids and legends are "role-" groups of their own; `role-mark` are the data.
        assert chart.locator(".role-mark > *").count() > 0
        box = chart.bounding_box()
        assert box is not None and box["width"] > 150 and box["height"] > 100


def test_the_dots_are_the_libraries_and_the_bars_the_pareto_ranks(page: Page) -> None:
    assert page.locator("#figure-reduction_of_code_size .mark-symbol.role-mark path").count() == 3
    assert page.locator("#figure-savings_by_library .mark-rect.role-mark path").count() == 4


def test_a_heading_sorts_ours_by_exact_values(page: Page) -> None:
    table = page.locator("[data-table=libraries]")
    names = table.locator("tbody tr td[data-key=library]")
    assert names.first.inner_text() == "lib/libbig.so"
    heading = table.get_by_role("button", name="Saved, MB")
    heading.click()
    assert names.first.inner_text() == "lib/libsmall.so"
    heading.click()
    assert names.first.inner_text() == "lib/libbig.so"
    second = page.locator("[data-table=libraries_total]")
    second.get_by_role("button", name="Functions").click()
    rows = second.locator("td[data-key=source]").all_inner_texts()
    assert rows == ["measured"] + ["published"] * 10


def test_the_page_cannot_reach_out_even_if_it_tried(browser: Browser, report: Path) -> None:
    page = browser.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(report.as_uri())
    outcome = page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', e => e.name)")
    assert outcome == "TypeError"
    assert requests == [report.as_uri()]
    page.close()


def test_without_scripts_the_figures_are_still_there(browser: Browser, report: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator(".chart > svg").count() == len(FIGURES)
    context.close()


def test_a_phone_scrolls_tables_and_not_the_page(browser: Browser, report: Path) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(report.as_uri())
    page.wait_for_selector("body[data-charts]")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()


def test_a_report_of_schedules_draws_every_chart_in_silence(
    browser: Browser, tmp_path: Path
) -> None:
    report = evaluate(schedule_files.write_everything(tmp_path), tmp_path / "out")
    drawn = list((tmp_path / "out/figures").iterdir())
    complaints: list[str] = []
    page = browser.new_page()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(report.as_uri())
    page.wait_for_selector("body[data-charts=ready]")
    assert page.locator(".vega-embed svg").count() >= len(drawn)
    page.close()
    assert complaints == []
