"""Pictures of the report that examples/views.py writes, for the documentation.

python examples/screenshots.py [--page demo_output/views.html] [--output docs/images]

Needs chromium, chromedriver, selenium and Pillow; writes report_desktop.png, report_phone.png and report_dark.png.
"""

from __future__ import annotations

import argparse
import base64
import io
import shutil
import time
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

# width, height, pixels per point, scheme, and what is done on the page first
SHOTS = {
    "desktop": (1280, 1480, 1.25, "light", ""),
    "phone": (360, 1900, 1.5, "light", ""),
    "dark": (
        1280,
        1480,
        1.25,
        "dark",
        "for (const c of [1, 5]) document.querySelectorAll('button.cluster')[c].click()",
    ),
}


def shot(browser: webdriver.Chrome, page: Path, name: str) -> Image.Image:
    width, height, scale, scheme, script = SHOTS[name]
    size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    browser.get(page.resolve().as_uri())
    browser.execute_script(script)
    time.sleep(0.5)
    data = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"]
    return Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, default=Path("demo_output/views.html"))
    parser.add_argument("--output", type=Path, default=Path("docs/images"))
    arguments = parser.parse_args()
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        for name in SHOTS:
            picture = shot(browser, arguments.page, name).quantize(256, kmeans=4, dither=Image.Dither.NONE)
            picture.save(arguments.output / f"report_{name}.png", optimize=True)
    finally:
        browser.quit()


if __name__ == "__main__":
    main()
