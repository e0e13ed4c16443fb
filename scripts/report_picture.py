"""`make picture`: the top of a report as it stands in a browser, for the README."""

import argparse
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("report", type=Path, help="report.html")
parser.add_argument("picture", type=Path, help="PNG")
arguments = parser.parse_args()

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(
        executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
    )
    page = browser.new_page(viewport={"width": 1200, "height": 900}, color_scheme="light")
    page.goto(arguments.report.resolve().as_uri())
    page.wait_for_selector("body[data-tables=ready]")
    page.screenshot(path=arguments.picture)
    browser.close()
