"""A page like those of audits, and a browser to look at it with."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hideseek.records.result import Result
from hideseek.report.page.page import write_page
from report.results import sample

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="session")
def audit(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """A result, and the folder that its page and pictures are in."""
    folder = tmp_path_factory.mktemp("audit")
    result = sample(folder)
    write_page(result, folder)
    return result, folder


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """Chromium, without a window."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip("no browser: run `make browser`")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: "Browser", audit: tuple[Result, Path]) -> Iterator["Page"]:
    """The page, open; whatever it complains of or asks for fails the test."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light")
    opened = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("request", lambda request: asked.append(request.url))
    address = (audit[1] / "report.html").as_uri()
    opened.goto(address)
    yield opened
    context.close()
    assert said == []
    assert {url for url in asked if not url.startswith("data:")} == {address}
