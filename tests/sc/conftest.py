from __future__ import annotations

import pytest

collect_ignore = ["conftest.py"]  # two modules of one name cannot both be searched for examples


@pytest.fixture(autouse=True)
def as_mudata_will_be():
    mudata = pytest.importorskip("mudata")
    with mudata.set_options(pull_on_update=False):  # the other way warns that it will go
        yield
