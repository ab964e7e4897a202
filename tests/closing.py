"""The last line of a test run: what was not run, and how to get it."""

from __future__ import annotations

import re
from collections import Counter

NO_BROWSER = "no browser: apt-get install chromium chromium-driver"
NO_SELENIUM = "no browser: pip install selenium"


def skip_reasons(reports):
    """Why tests were skipped, one reason per test, in words that name what is missing."""
    said = [report.longrepr for report in reports]  # a path, a line and a reason
    texts = [words[2] if isinstance(words, tuple) else str(words) for words in said]
    return [text.removeprefix("Skipped: ") for text in texts]


def lacks_browser(reasons):
    return any(reason.startswith("no browser") for reason in reasons)


def way_out(reason):
    """The command that brings what a skipped test needs; empty if there is nothing to bring."""
    command = re.search(r"(apt-get|pip) install [\w .\[\],'-]*\w", reason)
    module = re.search(r"could not import '([\w]+)", reason)
    return command[0] if command else f"pip install {module[1]}" if module else ""


def closing_line(reasons, browser_required=False):
    """One line for all reasons; those that no command removes are counted together."""
    found = Counter(map(way_out, reasons))
    inherent = found.pop("", 0)
    parts = [f"{n} test{'s' * (n > 1)} (to run: {command})" for command, n in found.most_common()]
    parts += [f"{inherent} that do not apply here (-rs lists them)"] * bool(inherent)
    line = "Not run: " + "; ".join(parts) + "."
    if browser_required and lacks_browser(reasons):
        line += " POWERKMEANS_REQUIRE_BROWSER is set and there is no browser, so this run has failed."
    return line
