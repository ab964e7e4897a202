import sys
from pathlib import Path

from hypothesis import settings

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

settings.register_profile("suite", max_examples=60, deadline=None, derandomize=True)
settings.load_profile("suite")

collect_ignore = ["conftest.py"]
