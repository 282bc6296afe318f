"""The page in a real browser: what it looks like narrow, wide and on paper."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Elements that stick out of the window, but for those that scroll in a box of their own, or wait off it to be focused.
STICKING_OUT = """() => [...document.querySelectorAll("body *")].filter((element) => {
  const box = element.getBoundingClientRect();
  const kept = element.closest(".scroll, .skip, svg") && !element.matches(".scroll, svg");
  return box.width && !kept && (box.right > innerWidth + 0.5 || box.left < -0.5);
}).map((element) => element.outerHTML.slice(0, 120))"""
# Words of drawings that leave their drawing.
CUT_WORDS = """() => [...document.querySelectorAll("svg.chart")].flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text")].filter((text) => {
    const box = text.getBoundingClientRect();
    const across = box.left < frame.left - 1 || box.right > frame.right + 1;
    return box.width && (across || box.top < frame.top - 1 || box.bottom > frame.bottom + 1);
  }).map((text) => text.textContent);
})"""
# Words of the large drawing that lie on each other.
MEETING_WORDS = """() => [...document.querySelectorAll(".trade-off svg")].flatMap((svg) => {
  const boxes = [...svg.querySelectorAll("text")].map((text) => [text.textContent, text.getBBox()]);
  const across = (a, b) => a.width && b.width && a.x < b.x + b.width - 1 && b.x < a.x + a.width - 1;
  const down = (a, b) => a.y < b.y + b.height - 3 && b.y < a.y + a.height - 3;
  return boxes.flatMap(([one, a], i) => boxes.slice(i + 1).filter(([, b]) => across(a, b) && down(a, b))
    .map(([other]) => `${one} / ${other}`));
})"""


@pytest.mark.parametrize("width", [360, 768, 899, 900, 1099, 1100, 1440])
def test_nothing_sticks_out(page: "Page", width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.evaluate("document.querySelectorAll('main details').forEach((each) => { each.open = true; })")
    wide, shown = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= shown
    assert page.evaluate(STICKING_OUT) == []
    assert page.evaluate(CUT_WORDS) == []
    assert page.evaluate(MEETING_WORDS) == []


def test_the_contents_are_a_menu_on_a_telephone(page: "Page") -> None:
    assert page.locator("nav a").first.is_visible()
    page.set_viewport_size({"width": 360, "height": 700})
    link = page.locator("nav a", has_text="Provenance")
    link.wait_for(state="hidden")
    page.locator("nav summary").click()
    link.click()
    link.wait_for(state="hidden")
    assert page.locator("#provenance-name").is_visible()


def test_paper_is_light_and_has_everything_on_it(page: "Page") -> None:
    page.emulate_media(color_scheme="dark")
    assert page.locator("details.fold:not([open])").count() > 3
    page.emulate_media(media="print", color_scheme="dark")
    page.locator("details:not([open])").first.wait_for(state="detached")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(26, 31, 38)"
    assert not page.locator("nav").is_visible()
    assert page.locator("li[id='mixup/demask']").is_visible()
    page.emulate_media(media="screen")
    page.locator("li[id='mixup/demask']").wait_for(state="hidden")
    assert page.locator("nav").is_visible()
