"""The report in a real browser: complete, quiet, and without a single request."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import experiment_files as files
import pytest
import schedule_files
from playwright.sync_api import Browser, Page, expect, sync_playwright
from typer.testing import CliRunner

from trimtab.cli.doctor import missing
from trimtab.cli.verbs import command_line
from trimtab.evaluation.evaluate import evaluate

app = command_line()

FIGURES = {
    *("sizes", "run_times", "reduction_of_code_size", "reduction_of_count"),
    *("savings_by_library", "treemap", "environment_parts"),
}
PRINTED_AND_SHOWN: Any = (("print", 44), ("screen", 25))  # rows of the long table
PAPER_PX = 1047  # A4 on its side less its margins, at 96 pixels an inch
# Texts of a chart that lie upon one another, by more than a hair.
OVERLAPS = """() => [...document.querySelectorAll('.chart svg')].flatMap((chart) => {
  const texts = [...chart.querySelectorAll('text')].filter((text) =>
    text.textContent.trim() && text.getAttribute('opacity') !== '0' &&
    !text.hasAttribute('stroke'));
  const boxes = texts.map((text) => [text.textContent, text.getBoundingClientRect()]);
  return boxes.flatMap(([a, A], place) => boxes.slice(place + 1).filter(([b, B]) =>
    Math.min(A.right, B.right) - Math.max(A.left, B.left) > 1 &&
    Math.min(A.bottom, B.bottom) - Math.max(A.top, B.top) > 3
  ).map(([b]) => `${chart.closest('.chart').id}: ${a} / ${b}`));
})"""
# What stands out to the right of so many pixels, unless it may be scrolled to.
WIDER = """([width, isPaper]) => [...document.querySelectorAll('body *')].filter((element) =>
  (isPaper || !element.closest('.scroll > *, .chart > *')) &&
  element.getBoundingClientRect().right > width + 1
).map((element) => element.outerHTML.slice(0, 120))"""
# Texts whose contrast with what is behind them is below that of WCAG 2.2, AA (4.5).
FAINT = """() => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255)
      .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = getComputedStyle(each).backgroundColor;
      if (!colour.endsWith(', 0)')) return light(colour);
    }
    return 1;
  };
  return [...document.querySelectorAll('body *')].filter((element) =>
    !element.closest('svg, script, .vega-actions, .vega-embed, :disabled') &&
    [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())
  ).filter((element) => {
    const both = [light(getComputedStyle(element).color), behind(element)];
    const [low, high] = both.sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05) < 4.5;
  }).map((element) => element.outerHTML.slice(0, 120));
}"""
# Words that are in sight above the first fold, besides those of charts.
WORDS = """() => {
  const end = document.querySelector('details').getBoundingClientRect().top;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let words = 0;
  while (walker.nextNode()) {
    const box = walker.currentNode.parentElement.getBoundingClientRect();
    if (walker.currentNode.parentElement.closest('svg, script, style, .vega-embed')) continue;
    if (!box.height || box.right <= 0 || box.top >= end) continue;
    words += walker.currentNode.textContent.trim().split(/\\s+/).filter(Boolean).length;
  }
  return words;
}"""
MOST_WORDS, MOST_PAGES, MOST_SCREENS = 120, 2, 3
# Charts without a mark, or without a size.
EMPTY = """() => [...document.querySelectorAll('.chart')].filter((chart) => {
  const svg = chart.querySelector('svg'), box = svg?.getBoundingClientRect();
  return !box || box.width < 100 || box.height < 40 ||
    !chart.querySelector('.role-mark > *');
}).map((chart) => chart.id)"""
UNFOLDED = "for (const fold of document.querySelectorAll('details')) fold.open = true"
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
    inputs = files.write_experiment(folder)
    rows = [files.library(f"lib/lib{number}.so", (9_000, 8_000)) for number in range(40)]
    files.write_debloat(folder / "debloat", libraries=[*files.LIBRARY_ROWS, *rows])
    files.weigh(folder / "debloat")
    return evaluate(inputs, folder / "out")


@pytest.fixture(scope="module")
def schedules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("schedules")
    return evaluate(schedule_files.write_everything(folder), folder / "out")


# Charts are drawn as they come near; those that are folded away are not.
ALL_DRAWN = """async () => {
  const charts = [...document.querySelectorAll('.chart')].filter((chart) =>
    !chart.closest('details:not([open])'));
  for (const chart of charts) {
    chart.scrollIntoView();
    while (!chart.dataset.chart) await new Promise(requestAnimationFrame);
  }
  return charts.every((chart) => chart.dataset.chart === 'ready');
}"""


def explore(page: Page, report: Path, *, folded: bool = False) -> None:
    """Open a report, unfold it and wait until its charts and tables are to be explored."""
    page.goto(report.as_uri())
    page.wait_for_selector("body[data-tables=ready]")
    if not folded:
        page.evaluate(UNFOLDED)
    assert page.evaluate(ALL_DRAWN)


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("comparison")
    for name, bytes_after in (("a", 11_000_000), ("b", 12_000_000)):
        files.weigh(files.write_debloat(folder / name), after_bytes=bytes_after)
    page = folder / "page.html"
    both = [str(folder / name) for name in "ab"]
    wanted = ["advanced", "compare", *both, "--all", "--html", str(page)]
    assert CliRunner().invoke(app, wanted).exit_code == 0
    return page


@pytest.fixture(scope="module")
def worth(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("worth")
    rows = [f"{at * 3000},{60 + at},4,image{at % 9}" for at in range(80)]
    (folder / "jobs.csv").write_text("\n".join(["submit,run,cores,image", *rows, ""]))
    images = [f"image{at},{at + 1}e9,4,{at + 1}e8,3" for at in range(9)]
    head = "image,bytes,warm_start_s,slim_bytes,slim_warm_start_s"
    (folder / "images.csv").write_text("\n".join([head, *images, ""]))
    given = ["--images", folder / "images.csv", "--nodes", "epyc_7281:3", "--price", "0.3"]
    wanted = ["worth", folder / "jobs.csv", *given, "--policy", "fcfs,easy", "--output", folder]
    done = CliRunner().invoke(app, list(map(str, wanted)))
    assert done.exit_code == 0, done.output
    return folder / "report.html"


def test_what_slim_images_are_worth_is_one_screen_and_two_pages_of_paper(
    browser: Browser, worth: Path
) -> None:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    explore(page, worth, folded=True)
    following = page.locator("p.next").bounding_box()
    assert following is not None and following["y"] + following["height"] < 900
    assert page.locator("#figure-ablation .role-mark > *").count() > 0
    assert 1 <= page.pdf(prefer_css_page_size=True).count(b"/Type /Page\n") <= 2
    page.close()


@pytest.fixture
def page(browser: Browser, report: Path) -> Iterator[Page]:
    """The opened report, with its charts drawn; ends by checking what the page did."""
    requests: list[str] = []
    complaints: list[str] = []
    page = browser.new_page()
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    explore(page, report)
    yield page
    page.close()
    assert requests == [report.as_uri()]
    assert complaints == []


def test_every_chart_is_drawn_with_its_marks(page: Page) -> None:
    for name in FIGURES:
        chart = page.locator(f"#figure-{name}.vega-embed svg.marks")
        assert chart.count() == 1
        # Axes, grids and legends are "role-" groups of their own; `role-mark` are the data.
        assert chart.locator(".role-mark > *").count() > 0
        box = chart.bounding_box()
        assert box is not None and box["width"] > 150 and box["height"] > 100


def test_the_dots_are_the_libraries_and_the_bars_the_pareto_ranks(page: Page) -> None:
    assert page.locator("#figure-reduction_of_code_size .mark-symbol.role-mark path").count() == 43
    assert page.locator("#figure-savings_by_library .mark-rect.role-mark path").count() == 44


def test_a_heading_sorts_ours_by_exact_values(page: Page) -> None:
    table = page.locator("[data-table=libraries]")
    names = table.locator("tbody tr td[data-key=library]")
    assert names.first.inner_text() == "lib/libbig.so"
    heading = table.get_by_role("button", name="Saved, MB")
    heading.click()
    expect(names.first).to_have_text("lib/libsmall.so")
    heading.click()
    expect(names.first).to_have_text("lib/libbig.so")
    second = page.locator("[data-table=libraries_total]")
    second.get_by_role("button", name="Functions").click()
    second.get_by_role("button", name="Published: The Hidden Bloat").click()
    rows = second.locator("td[data-key=source]").all_inner_texts()
    assert rows == ["measured"] + ["published"] * 10
    counts = second.locator("tr.published td[data-key=functions]").evaluate_all(
        "cells => cells.map((cell) => Number(cell.dataset.order))"
    )
    assert counts == sorted(counts)


def test_a_heading_is_sorted_by_with_the_keyboard(page: Page) -> None:
    heading = page.locator("[data-table=libraries] th", has_text="Saved, MB")
    heading.get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(heading).to_have_attribute("aria-sort", "ascending")


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


@pytest.mark.parametrize("width_px", [1440, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["report", "schedules", "comparison", "worth"])
def test_nothing_overlaps_is_cut_or_faint(
    which: str, scheme: Any, width_px: int, browser: Browser, request: pytest.FixtureRequest
) -> None:
    size: Any = {"width": width_px, "height": 800}
    page = browser.new_page(viewport=size, color_scheme=scheme)
    explore(page, request.getfixturevalue(which))
    assert page.evaluate("document.documentElement.scrollWidth") <= width_px
    assert page.evaluate(WIDER, [width_px, False]) == []
    assert page.evaluate(OVERLAPS) == []
    assert page.evaluate(FAINT) == []
    assert page.evaluate(EMPTY) == []
    page.close()


@pytest.mark.parametrize("which", ["report", "schedules", "comparison"])
def test_page_one_is_short_on_a_screen_and_on_paper(
    which: str, browser: Browser, request: pytest.FixtureRequest
) -> None:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    explore(page, request.getfixturevalue(which), folded=True)
    assert 10 < page.evaluate(WORDS) <= MOST_WORDS
    assert page.evaluate("document.documentElement.scrollHeight") <= MOST_SCREENS * 900
    printed = page.pdf(prefer_css_page_size=True)
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= MOST_PAGES
    page.evaluate(UNFOLDED)
    assert page.evaluate(WORDS) <= MOST_WORDS  # it measures what is above the folds
    page.close()


@pytest.mark.parametrize("which", ["report", "schedules"])
def test_page_one_needs_no_scrolling_sideways_on_a_phone(
    which: str, browser: Browser, request: pytest.FixtureRequest
) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    explore(page, request.getfixturevalue(which), folded=True)
    for chart in page.locator(".lead .chart").all():
        assert chart.evaluate("chart => chart.scrollWidth <= chart.clientWidth + 1")
        assert chart.evaluate("chart => chart.getBoundingClientRect().right") <= 390
    page.close()


@pytest.mark.parametrize("which", ["report", "schedules", "comparison", "worth"])
def test_on_paper_everything_fits(
    which: str, browser: Browser, request: pytest.FixtureRequest
) -> None:
    page = browser.new_page(viewport={"width": PAPER_PX, "height": 740}, color_scheme="dark")
    explore(page, request.getfixturevalue(which))
    page.emulate_media(media="print")
    assert page.evaluate(WIDER, [PAPER_PX, True]) == []
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.close()


def test_published_rows_are_folded_away_under_their_paper(page: Page) -> None:
    table = page.locator("[data-table=libraries_total]")
    fold = table.get_by_role("button", name="Published: The Hidden Bloat")
    rows = table.locator("tr.published")
    assert (fold.get_attribute("aria-expanded"), rows.count()) == ("false", 0)
    fold.focus()
    page.keyboard.press("Enter")
    assert (fold.get_attribute("aria-expanded"), rows.first.is_visible()) == ("true", True)
    page.keyboard.press("Enter")
    assert (fold.get_attribute("aria-expanded"), rows.count()) == ("false", 0)


def test_a_long_table_is_searched_and_its_pages_are_turned(page: Page) -> None:
    table, tools = page.locator("[data-table=libraries]"), page.locator(".tools")
    rows, said = table.locator("tr.row:visible"), tools.get_by_role("status")
    assert (tools.count(), rows.count(), said.inner_text()) == (1, 25, "1 to 25 of 44")
    tools.get_by_role("link", name="Next").click()
    assert (rows.count(), said.inner_text()) == (19, "26 to 44 of 44")
    tools.get_by_role("searchbox").fill("LIBBIG")
    assert (rows.count(), said.inner_text()) == (1, "1 to 1 of 1")
    tools.get_by_role("searchbox").fill("no such library")
    assert (rows.count(), said.inner_text()) == (0, "none")


def test_paper_and_a_page_without_scripts_have_every_row(
    page: Page, browser: Browser, report: Path
) -> None:
    rows = page.locator("[data-table=libraries] tr.row:visible")
    for media, count in PRINTED_AND_SHOWN:
        page.emulate_media(media=media)
        expect(rows).to_have_count(count)
    page.evaluate(
        "addEventListener('beforeprint', () => { window.printed = "
        "document.querySelectorAll('[data-table=libraries] tr.row').length; })"
    )
    page.pdf()
    assert page.evaluate("window.printed") == 44
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(report.as_uri())
    plain.locator("details.stage > summary").first.click()
    assert plain.locator("[data-table=libraries] tr.row:visible").count() == 44
    context.close()


def test_the_report_is_light_enough_to_be_sent(report: Path, schedules: Path) -> None:
    for each in (report, schedules):
        assert each.stat().st_size < 1_500_000


def test_a_report_of_schedules_draws_every_chart_in_silence(
    browser: Browser, schedules: Path
) -> None:
    drawn = list((schedules.parent / "figures").iterdir())
    complaints: list[str] = []
    page = browser.new_page()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    explore(page, schedules)
    assert page.locator(".vega-embed svg").count() >= len(drawn)
    page.close()
    assert complaints == []
