"""Whatever is called in whatever order: an estimator answers as one that heard only of what came to its end.

The model of an estimator is its twin. It takes part in fits, chunks and parameters that are taken, and hears
nothing of failed fits, interrupts, files, copies and questions. After every step both give the same bits.

``POWERKMEANS_FUZZ=1`` makes it a hundred times as long, with other orders each time (``make test-states``).
"""

from __future__ import annotations

import copy
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import toy_engine
from helpers import blobs
from powerkmeans import KernelPowerKMeans, MultiViewPowerKMeans, load, open_source
from powerkmeans.compute.options import ENGINES
from powerkmeans.engines import NumpyOptions
from powerkmeans.estimators.listeners import Printer, listening
from powerkmeans.models import online

LONG = bool(os.environ.get("POWERKMEANS_FUZZ"))
EXAMPLES, STEPS = (300, 30) if LONG else (7, 12)
COLUMNS = {"a": [0, 1], "b": [2, 3]}
# rows that are told apart, rows that repeat, rows of other places: all are small
TABLES = [blobs(3, 4, 12, spread, seed)[0] for seed, spread in enumerate((0.3, 1.5))]
TABLES += [np.round(TABLES[1]), TABLES[0].astype(np.float32), TABLES[0][::2] + 3.0]
PROBE = np.random.default_rng(5).normal(0, 4, (11, 4))
ENGINE = [
    "auto",
    "numpy",
    NumpyOptions(n_threads=1),
    NumpyOptions(n_threads=2, memory_budget=0),
    NumpyOptions(n_threads=2, kernel="numpy"),
    toy_engine.StrictOptions(),
    toy_engine.ElsewhereOptions(),
]
TAKEN = [
    {"n_clusters": 2}, {"n_clusters": 3}, {"tol": 1e-2}, {"max_iter": 40}, {"membership": "possibilistic"},
    {"membership": "fuzzy"}, {"random_state": 1}, {"feature_map": "rff"}, {"feature_map": "identity"},
    {"feature_map": "nystroem"}, {"s_init": -3.0}, {"s_init": "auto"}, {"kernel": "laplacian"}, {"kernel": "rbf"},
]  # fmt: skip
REFUSED = [{"tol": -1.0}, {"n_clusters": 0}, {"feature_map": "maps"}, {"max_iter": 2.5}, {"engine": "abacus"}]
BEGUN = {"random_state": 0, "anneal_factor": 3.0, "n_components": 16, "n_init": 1, "advice": False}


def infinite(X):
    X = X.copy()
    X[3, 1] = np.inf
    return X


# what is given in place of rows, and what it says
BAD = {
    "infinite": (infinite, "infinity"),
    "infinite, and wider": (lambda X: infinite(np.hstack([X, X])), "infinity|features"),
    "no rows": (lambda X: X[:0], "sample"),
    "one row": (lambda X: X[:1], "n_samples=1|n_clusters|sample"),
    "words": (lambda X: np.full(X.shape, "word"), "string|number"),
    "no table": (lambda X: "rows.npy", "open_source"),
    "flat": (lambda X: X[0], "2D|1D|dimension"),
}


class Interrupting(Printer):
    """Ctrl-C at one of the iterations."""

    def __init__(self, when):
        super().__init__(0)
        self._left = when

    def iteration(self, line):
        self._left -= 1
        if self._left <= 0:
            raise KeyboardInterrupt
        return super().iteration(line)


def answers(model, X=PROBE):
    """All that a model says of rows, as bytes."""
    asked = ["predict", "transform", "predict_proba", "score"]
    asked += ["outlier_score"] if model._fit.model.scores_outliers else []
    return {name: np.asarray(getattr(model, name)(X)).tobytes() for name in asked}


class Estimator(RuleBasedStateMachine):
    """One estimator and its twin."""

    def __init__(self):
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._patch = pytest.MonkeyPatch()
        self._patch.setitem(ENGINES, toy_engine.StrictOptions, toy_engine.Strict)
        self._patch.setitem(ENGINES, toy_engine.ElsewhereOptions, toy_engine.Elsewhere)
        self._patch.setattr(online, "STEP_ROWS", 64)
        self._patch.setattr(online, "STEP_ROWS_PER_CLUSTER", 8)
        self._saved = {}
        self._files = 0

    def teardown(self):
        self._patch.undo()
        self._folder.cleanup()

    @initialize(several=st.booleans(), engine=st.sampled_from(ENGINE), chosen=st.sampled_from(TAKEN))
    def begin(self, several, engine, chosen):
        made = MultiViewPowerKMeans(3, views=COLUMNS, **BEGUN) if several else KernelPowerKMeans(3, **BEGUN)
        self.model = made.set_params(feature_map="identity", engine=engine).set_params(**chosen)
        self.twin = copy.deepcopy(self.model)

    @property
    def fitted(self):
        return hasattr(self.twin, "_fit")

    @invariant()
    def answers_are_those_of_the_twin(self):
        if not hasattr(self, "twin"):
            return
        if not self.fitted:
            with pytest.raises(NotFittedError):
                self.model.predict(PROBE)
            return
        assert answers(self.model) == answers(self.twin)
        for name in ("labels_", "view_weights_", "n_samples_seen_", "objective_", "n_iter_", "n_features_in_"):
            assert np.array_equal(getattr(self.model, name), getattr(self.twin, name)), name

    def table(self, index, on_disk):
        """Rows in memory, or in a file that is mapped into it."""
        if not on_disk:
            return TABLES[index]
        path = Path(self._folder.name, f"rows{index}.npy")
        if not path.exists():
            np.save(path, TABLES[index])
        return open_source(path)

    def both(self, method, X, **given):
        """A call that both take, or neither does, in the same words; then it changes nothing."""
        before = answers(self.model) if self.fitted else None
        refused = [self.refusal(model, method, X, given) for model in (self.twin, self.model)]
        assert refused[0] == refused[1]
        if refused[0] is not None:
            assert self.fitted == (before is not None)
            assert before is None or answers(self.model) == before

    @staticmethod
    def refusal(model, method, X, given):
        try:
            getattr(model, method)(X, **given)
        except (ValueError, TypeError, AttributeError) as error:
            return type(error), str(error)
        return None

    @rule(index=st.integers(0, len(TABLES) - 1), on_disk=st.booleans(), weighted=st.booleans())
    def fit(self, index, on_disk, weighted):
        weight = np.arange(len(TABLES[index])) % 3 + 0.5 if weighted else None
        self.both("fit", self.table(index, on_disk), sample_weight=weight)

    @rule(index=st.integers(0, len(TABLES) - 1), on_disk=st.booleans())
    def partial_fit(self, index, on_disk):
        self.both("partial_fit", self.table(index, on_disk))

    @rule(chosen=st.sampled_from(TAKEN))
    def set_params(self, chosen):
        before = answers(self.model) if self.fitted else None
        for model in (self.model, self.twin):
            model.set_params(**chosen)
        assert before is None or answers(self.model) == before

    @rule(engine=st.sampled_from(ENGINE))
    def other_engine(self, engine):
        before = (self.model.predict(PROBE), self.model.transform(PROBE)) if self.fitted else None
        for model in (self.model, self.twin):
            model.set_params(engine=engine)
        if before is not None:
            assert np.array_equal(self.model.predict(PROBE), before[0])
            np.testing.assert_allclose(self.model.transform(PROBE), before[1], rtol=1e-5)

    @rule(bad=st.sampled_from(sorted(BAD)), method=st.sampled_from(["fit", "partial_fit"]))
    def fail(self, bad, method):
        make, said = BAD[bad]
        if method == "partial_fit" and bad == "one row":
            return  # which a stream may begin with
        with pytest.raises((ValueError, TypeError), match=said):
            getattr(self.model, method)(make(TABLES[0]))

    @rule(wrong=st.sampled_from(REFUSED), index=st.integers(0, len(TABLES) - 1))
    def fail_by_a_parameter(self, wrong, index):
        (name,) = wrong
        before = self.model.get_params()[name]
        with pytest.raises((ValueError, TypeError), match=name):
            self.model.set_params(**wrong).fit(TABLES[index])
        self.model.set_params(**{name: before})

    @rule(when=st.integers(1, 4), index=st.integers(0, len(TABLES) - 1), on_disk=st.booleans())
    def interrupt(self, when, index, on_disk):
        table = self.table(index, on_disk)
        with listening(Interrupting(when)):
            try:
                self.model.fit(table)
            except KeyboardInterrupt:
                return
            except ValueError as error:  # a table of fewer different rows than clusters
                refused = str(error)
            else:
                refused = None
        # it came to its end before that iteration, so it counts
        if refused is None:
            self.twin.fit(table)

    @rule(index=st.integers(0, len(TABLES) - 1))
    def interrupt_at_once(self, index):
        wider = np.hstack([TABLES[index], TABLES[index]])  # of which nothing may stay
        with listening(Interrupting(1)), pytest.raises((KeyboardInterrupt, ValueError)):
            self.model.fit(wider)

    @rule(block=st.integers(0, 2), index=st.integers(0, len(TABLES) - 1))
    def interrupt_a_source(self, block, index):
        source = self.table(index, on_disk=True)
        reads, left = type(source).blocks, [block]

        def interrupted(self, *args, **kwargs):
            for rows in reads(self, *args, **kwargs):
                if left[0] == 0:
                    raise KeyboardInterrupt
                left[0] -= 1
                yield rows

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(source), "blocks", interrupted)
            with pytest.raises((KeyboardInterrupt, ValueError)):
                self.model.fit(source)

    @rule()
    def save(self):
        path = Path(self._folder.name, f"model{self._files}.npz")
        self._files += 1
        if not self.fitted:
            with pytest.raises(NotFittedError):
                self.model.save(path)
            assert not path.exists()
            return
        self.model.save(path)
        self._saved[path] = copy.deepcopy(self.twin)

    @precondition(lambda self: self._saved)
    @rule(data=st.data())
    def load(self, data):
        path = data.draw(st.sampled_from(sorted(self._saved)))
        self.twin = copy.deepcopy(self._saved[path])
        self.model = load(path).set_params(engine=self.twin.engine)
        assert self.model.get_params() == self.twin.get_params()

    @rule(stays=st.booleans())
    def clone(self, stays):
        copied = clone(self.model)
        assert copied.get_params() == self.model.get_params()
        assert vars(copied).keys() == vars(type(copied)()).keys()
        with pytest.raises(NotFittedError):
            copied.predict(PROBE)
        if stays:
            self.model, self.twin = copied, clone(self.twin)


TestStates = Estimator.TestCase
TestStates.settings = settings(
    max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None, derandomize=not LONG, print_blob=True
)
TestStates = pytest.mark.filterwarnings("ignore::UserWarning")(TestStates)
