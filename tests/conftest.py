import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from closing import closing_line, lacks_browser, skip_reasons  # noqa: E402

settings.register_profile("suite", max_examples=60, deadline=None, derandomize=True)
settings.load_profile("suite")

BROWSER_REQUIRED = bool(os.environ.get("POWERKMEANS_REQUIRE_BROWSER"))
collect_ignore = ["conftest.py"]


def _reasons(config):
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return [] if reporter is None else skip_reasons(reporter.stats.get("skipped", []))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    lacking = BROWSER_REQUIRED and lacks_browser(_reasons(session.config))
    if lacking and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    """The last words of a run, after all that pytest has to say."""
    reasons = _reasons(config)
    if reasons and not hasattr(config, "workerinput"):
        config.pluginmanager.get_plugin("terminalreporter").write_line(closing_line(reasons, BROWSER_REQUIRED))


@pytest.fixture(scope="session", autouse=True)
def few_clouds():
    """Clusters are compared with noise in every report; where that is not the topic, two small clouds will do."""
    from powerkmeans.choose import separation

    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"ROWS": 60, "ROWS_PER_CLUSTER": 1, "CLOUDS": 2, "FIRST_CLOUDS": 2}.items():
            patch.setattr(separation, name, value)
        yield
