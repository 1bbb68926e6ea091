"""The report in a real browser; skipped where there is none."""

import re
import shutil

import numpy as np
import pytest

from caot.report import write_report
from tests.report.samples import HOSTILE, make_data, make_history, make_texts

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
]

ARGUMENTS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WITH_WEBGL = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
WITHOUT_WEBGL = ["--disable-gpu", "--disable-3d-apis"]
# A shared machine may be slow; nothing here waits this long when it works.
PATIENCE = 60_000


@pytest.fixture(scope="module")
def browsers():
    with playwright.sync_playwright() as tool:
        started = {}

        def launch(arguments):
            key = tuple(arguments)
            if key not in started:
                started[key] = tool.chromium.launch(
                    executable_path=CHROMIUM, args=[*ARGUMENTS, *arguments], timeout=PATIENCE
                )
            return started[key]

        yield launch
        for browser in started.values():
            browser.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    data = make_data(
        history=make_history(),
        second_labels=np.arange(210) % 6,
        second_confidence=np.full(210, 0.125),
    )
    return write_report(tmp_path_factory.mktemp("report") / "report.html", data), data


@pytest.fixture
def open_page(browsers, report):
    """Return a function that opens a report; afterwards nothing was complained about or loaded."""
    noise, requests, contexts = [], [], []

    def start(path=None, *, arguments=WITH_WEBGL, **options):
        context = browsers(arguments).new_context(
            viewport={"width": 1200, "height": 900}, **options
        )
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("console", lambda message: noise.append(message.text))
        page.on("pageerror", lambda error: noise.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto((path or report[0]).as_uri())
        page.wait_for_selector("html.live")
        return page

    yield start
    for context in contexts:
        context.close()
    assert noise == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []


def settle(page):
    """Wait until what was asked for has been drawn."""
    page.evaluate("() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")


def place_of(page, data, row):
    """Return where a text lies on the screen."""
    exact = data.coordinates.astype(np.float64)
    low, high = exact.min(axis=0), exact.max(axis=0)
    units = (exact - (low + high) / 2) / ((high - low).max() / 2)
    page.locator("#map-box").scroll_into_view_if_needed()
    box = page.locator("#map-box").bounding_box()
    reach = np.abs(units).max(axis=0)
    scale = 0.93 * min((box["width"] - 2) / 2 / reach[0], (box["height"] - 2) / 2 / reach[1])
    x, y = units[row] * [scale, -scale]
    return box["x"] + box["width"] / 2 + x, box["y"] + box["height"] / 2 + y


def lonely_row(data):
    """Return the text that lies farthest from any other."""
    exact = data.coordinates.astype(np.float64)
    gaps = np.linalg.norm(exact[:, None] - exact[None], axis=2)
    np.fill_diagonal(gaps, np.inf)
    return int(gaps.min(axis=1).argmax())


@pytest.mark.parametrize(("arguments", "kind"), [(WITH_WEBGL, "webgl"), (WITHOUT_WEBGL, "canvas")])
def test_hover_and_click_on_the_map(open_page, report, arguments, kind):
    data = report[1]
    page = open_page(arguments=arguments)
    assert page.locator("#map-box").get_attribute("data-renderer") == kind
    row = lonely_row(data)
    at = place_of(page, data, row)
    page.mouse.move(*at)
    page.locator("#map-tip").wait_for(state="visible")
    assert data.texts[row] in page.locator("#map-tip").inner_text()
    page.mouse.click(*at)
    assert page.locator("#selection").inner_text() == f"Isolated: topic {data.labels[row]}"
    size = int((data.labels == data.labels[row]).sum())
    assert page.locator("#row-count").inner_text() == f"{size} of 210 texts"
    page.locator("#show-all").click()
    assert page.locator("#row-count").inner_text() == "210 of 210 texts"


@pytest.mark.parametrize("arguments", [WITH_WEBGL, WITHOUT_WEBGL])
def test_points_are_drawn_in_the_colour_of_their_cluster(open_page, report, arguments):
    data = report[1]
    page = open_page(arguments=arguments, color_scheme="light")
    row = lonely_row(data)
    x, y = place_of(page, data, row)
    settle(page)
    colour = page.evaluate(
        """([x, y]) => {
          const points = document.getElementById("map-points");
          const copy = document.createElement("canvas");
          [copy.width, copy.height] = [points.width, points.height];
          const frame = points.getBoundingClientRect();
          const context = copy.getContext("2d");
          context.drawImage(points, 0, 0);
          return [...context.getImageData(x - frame.left, y - frame.top, 1, 1).data];
        }""",
        [x, y],
    )
    swatch = page.evaluate(
        "k => getComputedStyle(document.querySelector(`.legend .dot.k${k}`)).backgroundColor",
        int(data.labels[row]),
    )
    expected = [int(part) for part in re.findall(r"\d+", swatch)]
    assert colour[3] > 150
    assert colour[:3] == pytest.approx(expected, abs=12)


def test_search_filter_sort_and_pages_of_the_table(open_page, report):
    data = report[1]
    page = open_page()
    rows = page.locator("#rows tr")
    assert rows.count() == 50
    page.locator("#page-last").click()
    assert page.locator("#page-name").inner_text() == "Page 5 of 5"
    assert rows.count() == 10
    page.locator("#search").fill("PÁRCEL twice")
    page.locator("#rows mark").first.wait_for()
    wanted = [text for text in data.texts if "parcel" in text and "twice" in text]
    assert page.locator("#rows .cell-text").all_inner_texts() == wanted
    assert set(page.locator("#rows mark").all_inner_texts()) == {"parcel", "twice"}
    page.locator("#filter-reset").click()
    page.locator("#filter-confidence").select_option("0-500")
    below = int((data.confidence < 0.5).sum())
    assert page.locator("#row-count").inner_text() == f"{below} of 210 texts"
    page.locator("[data-sort=confidence]").click()
    shown = [float(t.strip("%")) for t in page.locator("#rows .number").all_inner_texts()]
    assert shown == sorted(shown)
    page.locator("#filter-cluster").select_option(label="topic 2")
    both = int(((data.confidence < 0.5) & (data.labels == 2)).sum())
    assert rows.count() == both
    page.locator("#search").fill("nothing like this")
    page.locator("#no-rows").wait_for(state="visible")


def test_isolate_from_legend_cards_and_pairs(open_page):
    page = open_page()
    page.locator(".legend button").first.click()
    assert page.locator(".legend [aria-pressed=true]").count() == 1
    assert page.locator("#selection").inner_text() == "Isolated: topic 0"
    page.locator(".legend button").nth(1).click(modifiers=["Shift"])
    assert page.locator(".card.chosen").count() == 2
    assert page.locator("#filter-cluster").input_value() == "several"
    page.locator("#cluster-3 button").click()
    assert page.locator("#selection").inner_text() == "Isolated: topic 3"
    page.locator(".pairs button").first.click()
    assert page.locator("#selection").inner_text() == "Isolated: topic 0 and topic 1"
    page.locator("#find-cluster").fill("topic 4")
    assert page.locator(".card:visible").count() >= 1
    assert page.locator("#cluster-4").is_visible()
    page.locator("#find-cluster").fill("no such words")
    assert page.locator(".card:visible").count() == 0


def test_the_map_by_keyboard(open_page, report):
    data = report[1]
    page = open_page()
    page.locator("#map-box").focus()
    page.keyboard.press("n")
    page.locator("#map-tip").wait_for(state="visible")
    assert data.texts[0] in page.locator("#map-tip").inner_text()
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")
    assert page.locator("#selection").inner_text() == "Isolated: topic 1"
    for key in ("+", "ArrowLeft", "ArrowUp", "-", "0"):
        page.keyboard.press(key)
    page.keyboard.press("Escape")
    assert page.locator("#selection").inner_text() == "All 6 clusters"


def test_everything_is_reached_by_tab_with_a_visible_focus(open_page):
    page = open_page()
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                """() => {
                  const e = document.activeElement;
                  return [e.id || e.dataset.isolate || e.textContent,
                          getComputedStyle(e).outlineStyle !== "none"];
                }"""
            )
        )
    names = [name for name, _ in reached]
    assert names[0] == "Skip to the content"
    assert {"theme", "map-box", "zoom-in", "find-cluster", "sort-cards"} < set(names)
    assert all(has_outline for _, has_outline in reached)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_theme_follows_the_system_until_switched(open_page, scheme):
    page = open_page(color_scheme=scheme)

    def brightness():
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in re.findall(r"\d+", colour)[:3])

    before = brightness()
    assert (before > 600) == (scheme == "light")
    page.locator("#theme").click()
    assert (brightness() > 600) != (scheme == "light")
    page.reload()
    assert (brightness() > 600) != (scheme == "light")  # remembered


@pytest.mark.parametrize("width", [400, 760, 1200])
def test_nothing_is_wider_than_the_screen(open_page, width):
    page = open_page()
    page.set_viewport_size({"width": width, "height": 800})
    settle(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_harmful_texts_do_no_harm(open_page, tmp_path):
    data = make_data(
        texts=[*HOSTILE, *make_texts(20)], names=HOSTILE, terms=HOSTILE[:7], title=HOSTILE[1]
    )
    page = open_page(write_report(tmp_path / "harm.html", data))
    page.locator("#map-box").focus()
    for _ in range(len(HOSTILE)):
        page.keyboard.press("n")
    page.locator("#search").fill("<script>")
    page.locator("#rows mark").first.wait_for()
    page.locator("#rows .chip").first.click()
    assert page.evaluate("window.harm") is None
    assert page.title() == HOSTILE[1]


def test_printing_shows_all_cards_and_leaves_out_the_controls(open_page):
    page = open_page(color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator(".card:visible").count() == 6
    assert page.locator(".bar-top, #texts, .zoom, .controls").locator("visible=true").count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(page.pdf(format="A4")) > 20_000
