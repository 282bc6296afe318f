"""The page for everyone: light and dark, contrast, names for what is no text, and what axe finds."""

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

PATIENCE = 60_000  # milliseconds, on a busy machine
# The contrast of every visible text with what lies behind it (WCAG 2.2, 1.4.3), and the texts that have too little.
FAINT = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((value) => value / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    const [x, y] = [element.getBoundingClientRect()].map((box) => [box.x + box.width / 2, box.y + box.height / 2])[0];
    const band = [...(element.closest("svg")?.querySelectorAll(".band") ?? [])].find((each) => {
      const box = each.getBoundingClientRect();
      return box.left < x && x < box.right && box.top < y && y < box.bottom;
    });
    for (let node = element; node; node = node.parentElement) {
      const colour = rgba(getComputedStyle(node).backgroundColor);
      if (colour[3] !== 255) continue;
      const share = Number(band?.getAttribute("fill-opacity") ?? 0);
      const over = band ? rgba(getComputedStyle(band).fill) : colour;
      return colour.map((value, i) => value * (1 - share) + over[i] * share);
    }
    return [255, 255, 255];
  };
  const texts = [...document.querySelectorAll("body *")].filter((element) => element.getClientRects().length
    && !element.closest("script, style, .skip, dialog:not([open])")
    && [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
  const ratios = texts.map((element) => {
    const style = getComputedStyle(element);
    const [a, b] = [light(rgba(element.closest("svg") ? style.fill : style.color)), light(behind(element))];
    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), element.outerHTML.slice(0, 100)];
  });
  return { count: ratios.length, faint: ratios.filter(([ratio]) => ratio < 4.5) };
}"""
BACKGROUND = "getComputedStyle(document.body).backgroundColor"


@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(page: "Page", scheme: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    found = page.evaluate(FAINT)
    assert found["count"] > 300
    assert found["faint"] == []


def test_faint_text_would_be_noticed(page: "Page") -> None:
    page.evaluate("document.querySelector('h1').style.color = '#aab'")
    assert len(page.evaluate(FAINT)["faint"]) == 1


def test_dark_by_the_system_and_by_the_button(page: "Page") -> None:
    from playwright.sync_api import expect

    light = page.evaluate(BACKGROUND)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(BACKGROUND)
    assert dark != light
    button = page.locator("#theme")
    expect(button).to_have_text("Light", timeout=PATIENCE)  # the page is told of the change a moment later
    button.click()
    assert page.evaluate(BACKGROUND) == light
    expect(button).to_have_text("Dark", timeout=PATIENCE)
    button.click()
    assert page.evaluate(BACKGROUND) == dark
    page.reload()  # nothing is remembered
    page.emulate_media(color_scheme="light")
    assert page.evaluate(BACKGROUND) == light


def test_what_is_no_text_has_a_name(page: "Page") -> None:
    nameless = """() => [...document.querySelectorAll("main img, button, svg, [role=region]")].filter((element) => {
      const said = element.getAttribute("alt") ?? element.getAttribute("aria-label");
      const name = said ?? (element.matches("[role=region]") ? "" : element.textContent);
      return !name.trim();
    }).map((element) => element.outerHTML.slice(0, 100))"""
    assert page.evaluate(nameless) == []
    levels = page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3, h4, h5')].map((each) => Number(each.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_the_first_key_skips_to_the_verdict_and_focus_is_seen(page: "Page") -> None:
    page.keyboard.press("Tab")
    skip = page.locator("a.skip")
    assert skip.evaluate("element => element === document.activeElement")
    assert skip.bounding_box()["x"] >= 0  # type: ignore[index]
    page.keyboard.press("Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
    assert float(outline.removesuffix("px")) >= 2


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1440, "dark")])
def test_axe_finds_nothing_serious(page: "Page", width: int, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    found = Axe().run(page).response["violations"]
    grave = [each for each in found if each["impact"] in ("serious", "critical")]
    assert [(each["id"], [node["html"][:120] for node in each["nodes"]]) for each in grave] == []
