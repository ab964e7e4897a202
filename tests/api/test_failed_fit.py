"""A fit that fails or is interrupted, in whatever way, leaves the estimator as it was."""

from __future__ import annotations

import copy
import enum
import gc
import signal
import threading
import time
import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import powerkmeans.estimators.base
import powerkmeans.fitting.fit
import powerkmeans.fitting.runs
import powerkmeans.models.answers
from helpers import blobs
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans
from powerkmeans.engines import NumpyOptions
from powerkmeans.estimators.listeners import Printer, listening

X, _ = blobs(n_clusters=3, n_features=4, size=30)
TWO = {"a": X[:, :2], "b": X[:, 2:]}
OTHER = np.random.default_rng(1).normal(size=(60, 7))
QUICK = {"random_state": 0, "anneal_factor": 1.5, "feature_map": "nystroem"}  # what fails is no map
ESTIMATORS = {
    "one view": (KernelPowerKMeans(3, **QUICK), X, OTHER),
    "several views": (MultiViewPowerKMeans(3, **QUICK), TWO, {"c": OTHER[:, :3], "d": OTHER[:, 3:]}),
    "one table": (MultiViewPowerKMeans(3, **QUICK), X, OTHER),
}


@pytest.fixture(params=ESTIMATORS)
def case(request):
    model, data, other = ESTIMATORS[request.param]
    return clone(model), data, other


@pytest.fixture(params=ESTIMATORS)
def fitted(request):
    return copy.deepcopy(fit_once(request.param)), *ESTIMATORS[request.param][1:]


@cache
def fit_once(name):
    model, data, _ = ESTIMATORS[name]
    return clone(model).fit(data)


@cache
def stream_once(name, n_chunks):
    model, data, _ = ESTIMATORS[name]
    model = clone(model)
    for _ in range(min(n_chunks, 3)):
        model.partial_fit(data)
    if n_chunks > 3:  # 1024 rows end the collecting
        model.partial_fit(rows(data, np.arange(1024) % 90))
    return model


def same(one, two):
    """Whether two values hold the same, however deep."""
    if isinstance(one, np.ndarray):
        return isinstance(two, np.ndarray) and one.dtype == two.dtype and same(one.tolist(), two.tolist())
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(two) and all(map(same, one, two))
    if hasattr(one, "__dict__") and not isinstance(one, (enum.Enum, type)):
        return type(one) is type(two) and same(vars(one), vars(two))
    return one == two or (one != one and two != two)  # noqa: PLR0124 (NaN is not itself)


def rows(data, chosen):
    return {name: table[chosen] for name, table in data.items()} if isinstance(data, dict) else data[chosen]


def spoiled(data):
    def spoil(table):
        table = table.copy()
        table[5, 0] = np.inf
        return table

    return {name: spoil(table) for name, table in data.items()} if isinstance(data, dict) else spoil(data)


class Interrupting(Printer):
    """Stops a fit as Ctrl-C does, at its third iteration."""

    def __init__(self):
        super().__init__(0)
        self._count = 0

    def iteration(self, line):
        self._count += 1
        if self._count == 3:
            raise KeyboardInterrupt
        return super().iteration(line)


def interrupted(call):
    with listening(Interrupting()):
        call()


def warned(call):
    """A fit whose only fault is a warning, and warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call()


def broken(monkeypatch, where, error):
    def fail(*args, **kwargs):
        raise error

    fitting, answers = powerkmeans.fitting, powerkmeans.models.answers
    for module in (fitting.fit, fitting.runs, answers, powerkmeans.estimators.base):
        if hasattr(module, where):
            monkeypatch.setattr(module, where, fail)


FAILURES = {
    "infinite value": (lambda fit, other, patch: fit(spoiled(other)), ValueError),
    "too few rows": (lambda fit, other, patch: fit(rows(other, slice(2))), ValueError),
    "no rows": (lambda fit, other, patch: fit(rows(other, slice(0))), ValueError),
    "no table": (lambda fit, other, patch: fit("table"), (ValueError, TypeError)),
    "equal rows": (lambda fit, other, patch: fit(rows(other, np.zeros(60, dtype=int))), ValueError),
    "weights": (lambda fit, other, patch: fit(other, sample_weight=np.zeros(60)), ValueError),
    "in the features": (
        lambda fit, other, patch: (broken(patch, "make_tasks", MemoryError()), fit(other)),
        MemoryError,
    ),
    "in the middle": (
        lambda fit, other, patch: (broken(patch, "improve", RuntimeError()), fit(other)),
        RuntimeError,
    ),
    "at the end": (
        lambda fit, other, patch: (broken(patch, "findings", KeyboardInterrupt()), fit(other)),
        KeyboardInterrupt,
    ),
    "interrupted": (lambda fit, other, patch: interrupted(lambda: fit(other)), KeyboardInterrupt),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failed_refit_changes_nothing(fitted, failure, monkeypatch):
    model, data, other = fitted
    before, labels = copy.deepcopy(vars(model)), model.predict(data)
    fail, error = FAILURES[failure]
    with pytest.raises(error):
        fail(model.fit, other, monkeypatch)
    assert same(before, vars(model))
    assert np.array_equal(model.predict(data), labels)


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failed_first_fit_leaves_an_unfitted_estimator(case, failure, monkeypatch):
    model, _, other = case
    before = copy.deepcopy(vars(model))
    fail, error = FAILURES[failure]
    with pytest.raises(error):
        fail(model.fit, other, monkeypatch)
    assert same(before, vars(model))
    with pytest.raises(NotFittedError):
        model.predict(other)


def test_a_warning_that_is_an_error_changes_nothing(fitted):
    model, _, other = fitted
    before = copy.deepcopy(vars(model))
    model.set_params(max_iter=1)
    with pytest.raises(UserWarning, match="max_iter"):
        warned(lambda: model.fit(other))
    assert same(before, vars(model.set_params(max_iter=300)))


@pytest.mark.parametrize("method", ["_keep", "_keep_views"])
def test_an_interrupt_between_two_attributes_changes_nothing(fitted, method, monkeypatch):
    model, _, other = fitted
    before = copy.deepcopy(vars(model))
    whole = getattr(type(model), method)

    def interrupted(self, result):
        whole(self, result)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(model), method, interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(other)
    assert same(before, vars(model))


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("n_chunks", [0, 1, 3, 12], ids=lambda n: f"after {n} chunks")
@pytest.mark.parametrize("failure", ["infinite value", "no rows", "no table", "other columns", "weights", "pass"])
def test_a_failed_chunk_changes_nothing(name, n_chunks, failure, monkeypatch):
    model, (_, data, other) = copy.deepcopy(stream_once(name, n_chunks)), ESTIMATORS[name]
    before = copy.deepcopy(vars(model))
    if failure == "pass":
        broken(monkeypatch, "make_tasks", KeyboardInterrupt())
        broken(monkeypatch, "prepare", KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(data)
    elif failure != "other columns":
        with pytest.raises((ValueError, TypeError)):
            FAILURES[failure][0](model.partial_fit, data, monkeypatch)
    elif n_chunks:
        with pytest.raises(ValueError, match=r"features|views|view"):
            model.partial_fit(other)
    assert same(before, vars(model))


def test_a_wrong_parameter_in_mid_stream_changes_nothing(case):
    model, data, _ = case
    model.partial_fit(data).set_params(tol=-1)
    before = copy.deepcopy(vars(model))
    with pytest.raises(ValueError, match="tol"):
        model.partial_fit(data)
    assert same(before, vars(model))


def test_a_failed_callback_changes_nothing(fitted):
    pytest.importorskip("sklearn.callback")
    model, _, other = fitted

    class Failing:
        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, *args, **kwargs):
            pass

        def on_fit_task_end(self, *args, **kwargs):
            raise KeyboardInterrupt

        def teardown(self, estimator, context):
            pass

    model.set_callbacks(Failing())
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.fit(other)
    assert same(before, vars(model))


def test_a_failed_refit_on_fewer_columns_does_not_open_the_old_model_to_them():
    model = KernelPowerKMeans(3, feature_map="rff", random_state=0).fit(OTHER)
    with pytest.raises(ValueError, match="n_samples=2"):
        model.fit(np.zeros((2, 1)))
    with pytest.raises(ValueError, match="X has 1 features, but KernelPowerKMeans is expecting 7"):
        model.predict(np.zeros((1000, 1)))


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals go to the main thread"
)
def test_an_interrupt_from_the_keyboard_ends_the_fit_and_its_threads():
    rows = np.random.default_rng(0).normal(size=(20_000, 20))
    model = KernelPowerKMeans(
        8, feature_map="rff", n_init=50, tol=0, engine=NumpyOptions(n_threads=2), random_state=0
    )
    before, handler = threading.active_count(), signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(rows)
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, handler)
    gc.collect()  # threads end with the engine that has them, which the error led to
    for _ in range(50):
        if threading.active_count() == before:
            break
        time.sleep(0.1)
    assert threading.active_count() == before
    assert not hasattr(model, "labels_")
