"""The page in a real browser: what it does when it is clicked and typed at."""

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page


def _column(page: "Page", number: int) -> list[str]:
    cells = page.locator(f"#scheme-table tbody tr > :nth-child({number})")
    return [cell.get_attribute("data-sort") or "" for cell in cells.all()]


@pytest.mark.parametrize("way", ["click", "Enter", "Space"])
def test_the_table_sorts_numbers_as_numbers_both_ways(page: "Page", way: str) -> None:
    cost = page.locator("#scheme-table thead button", has_text="Its cost")
    last = page.locator("#scheme-table thead th").count()

    def press() -> None:
        if way == "click":
            cost.click()
        else:
            cost.focus()
            page.keyboard.press(way)

    assert _column(page, last) == ["42.5", "75.0", "42.5", "640.0"]
    press()
    assert _column(page, last) == ["42.5", "42.5", "75.0", "640.0"]
    assert page.locator("#scheme-table th[aria-sort]").get_attribute("aria-sort") == "ascending"
    press()
    assert _column(page, last) == ["640.0", "75.0", "42.5", "42.5"]
    assert page.locator("#scheme-table th[aria-sort]").get_attribute("aria-sort") == "descending"


def test_what_has_no_value_is_last_both_ways_and_words_sort_as_words(page: "Page") -> None:
    accuracy = page.locator("#scheme-table thead button", has_text="Accuracy")
    accuracy.click()
    assert _column(page, 2) == ["0.437", "0.608", "0.612", ""]
    accuracy.click()
    assert _column(page, 2) == ["0.612", "0.608", "0.437", ""]
    page.locator("#scheme-table thead button", has_text="Scheme").click()
    assert [name[:5] for name in _column(page, 1)] == ['<b>&"', "insta", "mixup", "singu"]
    assert page.locator("#scheme-table th[aria-sort]").count() == 1


@pytest.mark.parametrize("width", [360, 1440])
def test_every_link_leads_to_something_in_view(page: "Page", width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    links = page.locator("a[href^='#']")
    targets = list(dict.fromkeys(link.get_attribute("href") or "" for link in links.all()))
    assert len(targets) >= 20
    bar = page.locator(".bar").bounding_box()["height"]  # type: ignore[index]
    for target in targets:
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        link = page.locator(f"a[href='{target}']").last
        link.focus()
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/report.html{target}")
        top = page.evaluate("id => document.getElementById(id).getBoundingClientRect().top", target[1:])
        assert bar <= top < 800, target  # not behind the bar


def test_a_link_into_something_folded_opens_it(page: "Page") -> None:
    folded = page.locator("li[id='mixup/demask']")
    assert not folded.is_visible()
    page.evaluate("location.hash = '#mixup/demask'")
    folded.wait_for(state="visible")


def _zoomed(page: "Page") -> Any:
    return page.evaluate("document.getElementById('zoom').open && document.querySelector('#zoom img').src")


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_pictures_are_enlarged_by_keyboard(page: "Page", key: str) -> None:
    buttons = page.locator("button.zoom")
    sources = [image.get_attribute("src") for image in page.locator("button.zoom img").all()]
    buttons.first.focus()
    page.keyboard.press(key)
    assert _zoomed(page) == sources[0]
    page.keyboard.press("ArrowRight")
    assert _zoomed(page) == sources[1]
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert _zoomed(page) == sources[-1]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    assert _zoomed(page) is False
    assert page.evaluate("document.activeElement.classList.contains('zoom')")


def test_pictures_are_enlarged_by_mouse(page: "Page") -> None:
    page.locator("button.zoom").nth(1).click()
    assert page.locator("#zoom img").bounding_box()["width"] > 300  # type: ignore[index]
    assert "what was shared" in (page.locator("#zoom img").get_attribute("alt") or "")
    page.locator("#zoom button", has_text="Next").click()
    assert "what was recovered" in (page.locator("#zoom img").get_attribute("alt") or "")
    page.locator("#zoom button", has_text="Close").click()
    assert _zoomed(page) is False
    page.locator("button.zoom").first.click()
    page.mouse.click(5, 5)  # beside it
    assert _zoomed(page) is False
