"""The report in a real browser: Debian's chromium, driven without a window."""

from __future__ import annotations

import base64
import json
import os
import shutil
import time

import numpy as np
import pytest

from closing import NO_BROWSER, NO_SELENIUM
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.report import write_report

webdriver = pytest.importorskip("selenium.webdriver", reason=NO_SELENIUM)
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.select import Select  # noqa: E402

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (BROWSER and DRIVER), reason=NO_BROWSER)

QUICK = {"random_state": 0, "anneal_factor": 1.5}
LONG = "a_column_name_without_any_place_to_break_it_" * 3


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    profile = tmp_path_factory.mktemp("profile")
    for flag in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        f"--user-data-dir={profile}",
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    os.environ["SE_OFFLINE"] = "true"
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_page_load_timeout(60)
    yield driver
    driver.quit()


def rows(n, k, p, seed=0, far=6):
    rng = np.random.default_rng(seed)
    X = 5 * rng.normal(size=(k, p))[np.arange(n) % k] + rng.normal(size=(n, p))
    X[:far] += 20
    return X


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A report of several views, and one each of the extremes."""
    folder, X = tmp_path_factory.mktemp("pages"), rows(240, 4, 12)
    views = {"shape": X[:, :7], "colour": X[:, 7:], "noise": np.random.default_rng(1).normal(size=(240, 9))}
    views["colour"] = np.where(np.arange(240)[:, None] % 9 == 0, np.nan, views["colour"])
    names = {"shape": [f"shape {i}" for i in range(7)], "noise": [f"noise {i}" for i in range(8)] + [LONG]}
    model = MultiViewPowerKMeans(4, **QUICK).fit(views)
    ids = [f"<img src=x onerror='window.hurt=1'> {i}" if i < 9 else f"sample {i}" for i in range(240)]
    made = {"views": write_report(folder / "views.html", model, views, ids=ids, feature_names=names)}
    shapes = {"ten": (10, 2, 3), "one": (40, 1, 3), "many": (600, 120, 3), "wide": (60, 3, 3000)}
    for name, (n, k, p) in shapes.items():
        Z = rows(n, k, p, far=0)
        made[name] = write_report(folder / f"{name}.html", KernelPowerKMeans(k, **QUICK).fit(Z), Z)
    many = {f"view {i} of twenty": rows(60, 2, 2, seed=i) for i in range(20)}
    model = MultiViewPowerKMeans(2, **QUICK).fit(many)
    made["twenty"] = write_report(
        folder / "twenty.html", model, many, title=LONG, ids=[LONG + str(i) for i in range(60)]
    )
    return made


@pytest.fixture
def opened(browser, pages):
    """Open a page at a width, with the scheme that the system prefers; console messages are those of this page."""

    def opener(name="views", width=1280, scheme="light"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [feature]})
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        for kind in ("browser", "performance"):
            browser.get_log(kind)
        browser.get(pages[name].as_uri())
        return browser

    return opener


def find(browser, selector):
    return browser.find_element(By.CSS_SELECTOR, selector)


def find_all(browser, selector):
    return browser.find_elements(By.CSS_SELECTOR, selector)


def shown_rows(browser):
    """Clusters of the rows that the table of outliers shows."""
    return browser.execute_script(
        "return [...document.querySelectorAll('#outliers tbody tr')]"
        ".filter(r => r.offsetParent).map(r => r.dataset.cluster)"
    )


def keys_of(browser, column):
    return browser.execute_script(
        "return [...document.querySelectorAll('#outliers tbody tr')].map(r => r.cells[arguments[0]].dataset.key)",
        column,
    )


ALL = ["views", "ten", "one", "many", "wide", "twenty"]


@pytest.mark.parametrize("name", ALL)
def test_it_opens_without_errors_and_asks_for_nothing(opened, name):
    browser = opened(name)
    time.sleep(0.1)
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    assert urls
    assert all(
        url.startswith(("file:", "data:")) and (url.endswith(f"{name}.html") or url == "data:,") for url in urls
    )
    assert browser.execute_script("return window.hurt") is None
    assert len(find_all(browser, "script")) == 2


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("width", [360, 768])
def test_no_width_scrolls_the_page_sideways(opened, name, width):
    browser = opened(name, width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script("return Math.round(parseFloat(getComputedStyle(document.body).fontSize))") >= 16
    wide = browser.execute_script(
        "return [...document.querySelectorAll('p, h1, h2, dd, figure, button, select')]"
        ".filter(e => e.offsetParent && !e.closest('.scroll') && e.getBoundingClientRect().right > innerWidth + 1)"
        ".map(e => e.outerHTML.slice(0, 80))"
    )
    assert wide == []


@pytest.mark.parametrize("name", ALL)
def test_paper_is_wide_enough(opened, name):
    """A page that is wider than A4 between its margins is shrunk or cut."""
    browser = opened(name, 688)
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 688


@pytest.mark.parametrize(("width", "cut"), [(390, True), (1280, False)])
def test_tables_that_are_cut_say_so(opened, width, cut):
    """On a phone: a hint above, a shade at the side, and the first column stays where it is."""
    browser = opened("views", width)
    script = """
        const region = document.querySelector('#outliers').closest('.scroll');
        const first = region.querySelector('tbody th');
        const before = first.getBoundingClientRect().left;
        const cut = [!region.previousElementSibling.hidden, getComputedStyle(region).boxShadow !== 'none'];
        region.scrollLeft = 120;
        return [...cut, first.getBoundingClientRect().left - before];
    """
    time.sleep(0.1)
    assert browser.execute_script(script) == [cut, cut, 0]


def test_both_maps_tell_of_the_same_samples(opened):
    browser = opened()
    find(browser, "#apart").send_keys(Keys.ARROW_RIGHT)
    assert find(browser, "#apart-tip").is_displayed()
    assert not find(browser, "#tip").is_displayed()
    before = find(browser, "#apart").screenshot_as_png
    find(browser, "button.cluster").click()
    assert find(browser, "#apart").screenshot_as_png != before
    boxes = [find(browser, selector).rect for selector in ("#map", "#apart")]
    assert boxes[0]["y"] == boxes[1]["y"]
    boxes = [find(opened(width=390), selector).rect for selector in ("#map", "#apart")]
    assert boxes[0]["x"] == boxes[1]["x"]


def test_heads_of_the_matrix_say_their_names_once(opened):
    browser = opened()
    said = browser.execute_script(
        "return [...document.querySelectorAll('.matrix thead th')].map(e => e.innerText.trim())"
    )
    assert said == ["Column", "Explained", "All", *(f"Cluster {c}" for c in range(4))]


def test_columns_of_one_name_are_told_apart_by_their_views(opened):
    lines = [e.text for e in find_all(opened("twenty"), ".portrait tbody th")]
    assert lines
    assert all("of twenty" in line for line in lines)
    assert not any("\n" in e.text for e in find_all(opened("views"), ".portrait tbody th"))


def test_choosing_a_cluster_filters_everything(opened):
    browser = opened()
    everyone = shown_rows(browser)
    assert len(set(everyone)) > 1
    cluster = max(set(everyone), key=everyone.count)
    before = find(browser, "#map").screenshot_as_png
    button = find(browser, f"button.cluster[data-cluster='{cluster}']")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert set(shown_rows(browser)) == {cluster}
    assert shown_rows(browser) == [c for c in everyone if c == cluster]
    assert [p.get_attribute("data-cluster") for p in find_all(browser, ".portrait")] == [cluster]
    assert [h.get_attribute("data-cluster") for h in find_all(browser, ".matrix th[data-cluster]")] == [cluster]
    assert Select(find(browser, "#filter")).first_selected_option.get_attribute("value") == cluster
    assert "of the" in find(browser, "#outlier-count").text
    assert find(browser, "#map").screenshot_as_png != before
    other = next(c for c in set(everyone) if c != cluster)
    find(browser, f"button.cluster[data-cluster='{other}']").click()
    assert set(shown_rows(browser)) == {cluster, other}
    assert Select(find(browser, "#filter")).first_selected_option.text == "2 clusters"
    find(browser, "#all").click()
    assert shown_rows(browser) == everyone
    assert not find(browser, "#all").is_displayed()
    Select(find(browser, "#filter")).select_by_value(other)
    assert set(shown_rows(browser)) == {other}
    assert find(browser, f"button.cluster[data-cluster='{other}']").get_attribute("aria-pressed") == "true"


def test_a_cluster_without_rows_in_the_table_says_so(opened):
    browser = opened("many")
    listed = set(shown_rows(browser))
    empty = next((str(c) for c in range(120) if str(c) not in listed), None)
    if empty is None:
        pytest.skip("every cluster is in the table")
    Select(find(browser, "#filter")).select_by_value(empty)
    assert find(browser, "#outlier-none").is_displayed()
    assert not find(browser, "#outliers").is_displayed()


def test_the_table_sorts_by_every_column_with_mouse_and_keyboard(opened):
    browser = opened()
    heads = find_all(browser, "#outliers thead th")
    assert [h.get_attribute("aria-sort") for h in heads].count("descending") == 1
    for index, head in enumerate(heads):
        kind = head.get_attribute("data-kind")
        find_all(browser, "#outliers thead button")[index].send_keys(Keys.ENTER if index % 2 else Keys.SPACE)
        first = head.get_attribute("aria-sort")
        for expected in (first, {"ascending": "descending", "descending": "ascending"}[first]):
            assert head.get_attribute("aria-sort") == expected
            keys = keys_of(browser, index)
            if kind != "text":
                numbers = np.array(keys, dtype=float)
                steps = np.diff(numbers if expected == "ascending" else -numbers)
                assert np.all(steps >= 0), head.text
            else:
                script = (
                    "const c = new Intl.Collator('en', {numeric: true});"
                    "return arguments[0].every((k, i, all) => !i || c.compare(all[i - 1], k) <= 0)"
                )
                assert browser.execute_script(script, keys if expected == "ascending" else keys[::-1])
            others = [h.get_attribute("aria-sort") for h in heads if h != head]
            assert set(others) == {"none"}
            head.find_element(By.TAG_NAME, "button").click()


def test_the_map_tells_about_samples(opened):
    browser = opened()
    canvas, tip = find(browser, "#map"), find(browser, "#tip")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    assert not tip.is_displayed()
    box = canvas.rect
    reached = False
    for x in np.linspace(-0.4, 0.4, 15):
        for y in (0.35, 0.2, 0.0, -0.2, -0.35):
            ActionChains(browser, duration=0).move_to_element_with_offset(
                canvas, int(x * box["width"]), int(y * box["height"])
            ).perform()
            if tip.is_displayed():
                reached = True
                break
        if reached:
            break
    assert reached
    assert all(word in tip.text for word in ("Cluster", "Typicality", "Probability"))
    canvas.send_keys(Keys.ESCAPE)
    assert not tip.is_displayed()
    canvas.send_keys(Keys.ARROW_RIGHT)
    first = tip.text
    canvas.send_keys(Keys.ARROW_RIGHT)
    assert tip.is_displayed()
    assert tip.text != first


def test_columns_are_found_sorted_and_shown_in_parts(opened):
    browser = opened("wide")
    names = [e.text for e in find_all(browser, ".matrix tbody .name")]
    assert len(names) == 25
    find(browser, "#more-columns").click()
    assert len(find_all(browser, ".matrix tbody tr")) == 125
    find(browser, "#find").send_keys("x2999")
    assert [e.text for e in find_all(browser, ".matrix tbody .name")] == ["x2999"]
    assert "1 found" in find(browser, "#matrix-count").text
    find(browser, "#find").clear()
    find(browser, "#find").send_keys(Keys.SPACE, Keys.BACKSPACE)
    find_all(browser, ".matrix thead button")[0].click()
    assert [e.text for e in find_all(browser, ".matrix tbody .name")][:3] == ["x0", "x1", "x2"]
    find_all(browser, ".matrix thead button")[2].click()
    titles = [e.get_attribute("title") for e in find_all(browser, ".matrix tbody td:nth-child(4)")]
    away = [float(t.replace("\u2212", "-").removesuffix(" sd")) for t in titles]
    assert away == sorted(away, reverse=True)


def test_of_many_clusters_the_largest_are_in_the_table(opened):
    browser = opened("many")
    assert len(find_all(browser, ".matrix th[data-cluster]")) == 100
    assert "the 100 largest of 120 clusters" in find(browser, "#matrix-count").text
    assert len(find_all(browser, ".portrait")) == 12
    find(browser, "#more-portraits").click()
    assert len(find_all(browser, ".portrait")) == 120


def test_names_from_users_are_text(opened):
    browser = opened()
    assert find_all(browser, "img") == []
    assert any(e.text.startswith("<img src=x") for e in find_all(browser, "#outliers tbody th"))


def background(browser):
    text = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in text[4:-1].split(",")[:3]) / 3


def test_light_and_dark(opened):
    browser = opened()
    assert background(browser) > 200
    swatch = "return getComputedStyle(document.querySelector('button.cluster .swatch')).backgroundColor"
    light = browser.execute_script(swatch)
    find(browser, "#theme").click()
    assert background(browser) < 60
    assert browser.execute_script(swatch) != light
    assert find(browser, "#theme").text == "Light"
    find(browser, "#theme").click()
    assert background(browser) > 200
    dark = opened(scheme="dark")
    assert background(dark) < 60
    find(dark, "#theme").click()
    assert background(dark) > 200


def test_paper(opened):
    browser = opened("many", scheme="dark")
    chosen = find_all(browser, ".matrix")
    assert len(chosen) == 1
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")
    assert len(find_all(browser, ".matrix")) == 1  # as it was before
    assert background(browser) < 60
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert background(browser) > 250
    assert not find(browser, ".toolbar").is_displayed()
    assert len(find_all(browser, ".matrix")) > 5
    assert len(find_all(browser, ".portrait")) == 120
    cut = browser.execute_script(
        "return [...document.querySelectorAll('.scroll')]"
        ".map(e => getComputedStyle(e))"
        ".filter(s => s.overflowY !== 'visible' || s.maxHeight !== 'none').length"
    )
    assert cut == 0
    browser.execute_script("dispatchEvent(new Event('afterprint'))")


def test_landmarks_names_and_focus(opened):
    browser = opened()
    assert browser.execute_script("return document.documentElement.lang") == "en"
    nameless = browser.execute_script(
        "return [...document.querySelectorAll('button, select, input, [role=region], canvas, table [scope=row]')]"
        ".filter(e => !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length))"
        ".map(e => e.outerHTML.slice(0, 90))"
    )
    assert nameless == []
    find(browser, "body").send_keys(Keys.TAB)
    assert browser.switch_to.active_element.get_attribute("class") == "skip"
    find(browser, "button.cluster").send_keys(Keys.SPACE)
    outline = browser.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
