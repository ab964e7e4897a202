"""A process that is killed in the middle of a fit without a cluster."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np

from powerkmeans import KernelPowerKMeans

PROGRAM = """
import sys, numpy as np
from powerkmeans import KernelPowerKMeans
from powerkmeans.fitting import checkpoints
checkpoints.SECONDS = 0.0
X = np.random.default_rng(0).normal(size=(30_000, 8))
KernelPowerKMeans(6, feature_map="rff", s_init=-1.0, random_state=0).fit(X, checkpoint=sys.argv[1])
"""


def test_a_killed_process_can_be_gone_on_with(tmp_path):
    path = tmp_path / "fit.checkpoint"
    child = subprocess.Popen([sys.executable, "-c", PROGRAM, str(path)])
    until = time.monotonic() + 60
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.wait(30)
    X = np.random.default_rng(0).normal(size=(30_000, 8))
    model = KernelPowerKMeans(6, feature_map="rff", s_init=-1.0, random_state=0)
    found = model.fit(X, resume_from=path)
    whole = KernelPowerKMeans(6, feature_map="rff", s_init=-1.0, random_state=0).fit(X)
    assert np.array_equal(whole.cluster_centers_, found.cluster_centers_)
    assert np.array_equal(whole.labels_, found.labels_)
