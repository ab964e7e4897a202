"""A membership that is defined in the tests works through the public estimators as it stands."""

from __future__ import annotations

import click
import numpy as np
import pytest

import powerkmeans
from helpers import blobs, make_present, quick, quick_views
from powerkmeans import critical_exponent
from powerkmeans.cli.options import MEMBERSHIPS as LISTED
from powerkmeans.cli.options import Registered
from powerkmeans.metrics import clustering_accuracy
from powerkmeans.objective.membership import MEMBERSHIPS
from toy_membership import Welsch

pytestmark = pytest.mark.filterwarnings("ignore::powerkmeans.exceptions.DataGuidanceWarning")


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(MEMBERSHIPS, Welsch.name, Welsch)


def with_outliers():
    X, y = blobs(4, 6, 50, 0.6, seed=2)
    X[::40] += 200.0
    y[::40] = -1
    return X, y


@pytest.mark.parametrize("feature_map", ["nystroem", "rff", "identity", "exact"])
def test_one_view(feature_map, tmp_path):
    X, y = with_outliers()
    # the mean squared distance of plain columns is that of the outliers
    settings = {
        "feature_map": feature_map,
        "reference_distance": "median" if feature_map == "identity" else "global",
    }
    model = quick(4, membership="welsch", random_state=0, **settings).fit(X)
    typical = y >= 0
    assert clustering_accuracy(y[typical], model.labels_[typical]) > 0.95
    assert np.array_equal(model.predict(X), model.labels_)
    shares = model.predict_proba(X)
    assert np.sum(shares, axis=1) == pytest.approx(np.ones(len(X)))
    assert model.reference_distance_ > 0
    scores = model.outlier_score(X)
    assert np.min(scores[~typical]) > np.max(scores[typical])
    assert model.typicality(X) == pytest.approx(1 - scores)
    threshold = float(np.max(scores[typical]))
    assert np.array_equal(model.predict(X, noise_threshold=threshold) == -1, ~typical)
    model.save(tmp_path / "model.npz")
    loaded = powerkmeans.load(tmp_path / "model.npz")
    assert np.array_equal(loaded.predict_proba(X), shares)
    assert np.array_equal(loaded.outlier_score(X), scores)


def test_a_membership_that_is_not_registered_is_refused_on_load(tmp_path, monkeypatch):
    quick(4, membership="welsch", random_state=0).fit(with_outliers()[0]).save(tmp_path / "model.npz")
    monkeypatch.delitem(MEMBERSHIPS, Welsch.name)
    with pytest.raises(ValueError, match="welsch"):
        powerkmeans.load(tmp_path / "model.npz")
    with pytest.raises(ValueError, match="'membership' parameter must be one of 'auto', 'fuzzy', 'possibilistic'"):
        quick(4, membership="welsch").fit(with_outliers()[0])


def several_views():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 60)
    views = {f"v{d}": 2.0 * rng.normal(0, 2, (4, d))[y] + rng.normal(size=(240, d)) for d in (8, 3)}
    return views, make_present(240, 2, rng, 0.2), y


def test_several_views_with_missing_ones(tmp_path):
    views, present, y = several_views()
    model = quick_views(4, membership="welsch", random_state=0).fit(views, present=present)
    assert clustering_accuracy(y, model.labels_) > 0.9
    assert np.all(model.reference_distance_ > 0)
    assert np.array_equal(model.predict(views, present=present), model.labels_)
    assert np.all(model.outlier_score(views, present=present) < 1)
    model.save(tmp_path / "model.npz")
    shares = powerkmeans.load(tmp_path / "model.npz").predict_proba(views, present=present)
    assert np.array_equal(shares, model.predict_proba(views, present=present))


@pytest.mark.parametrize("feature_map", ["nystroem", "rff"])
def test_engines_agree(feature_map):
    """The compiled pass does not know it and leaves it to the plain one; the compiled map may still be used."""
    X, _ = with_outliers()
    fits = [
        quick(4, membership="welsch", feature_map=feature_map, engine=engine, random_state=0).fit(X)
        for engine in ("numpy", "auto")
    ]
    assert np.array_equal(fits[0].labels_, fits[1].labels_)
    assert fits[0].objective_ == pytest.approx(fits[1].objective_, rel=1e-9)
    assert fits[0].n_iter_ == fits[1].n_iter_


def test_a_stream_and_the_critical_exponent():
    X, _ = with_outliers()
    model = quick(4, membership="welsch", random_state=0)
    for start in range(0, len(X), 50):
        model.partial_fit(X[start : start + 50])
    assert len(np.unique(model.fit(X).labels_)) == 4
    assert critical_exponent(X, membership="welsch") <= 0


@pytest.mark.parametrize("choice", ["median", "within", 3.0])
def test_every_reference_distance(choice):
    X, _ = with_outliers()
    model = quick(4, membership="welsch", feature_map="identity", reference_distance=choice)
    assert model.fit(X).reference_distance_ > 0


def test_the_command_knows_what_is_registered():
    option = Registered(("fuzzy",), "powerkmeans.objective.membership", "MEMBERSHIPS")
    assert [option.convert(name, None, None) for name in ("fuzzy", "welsch")] == ["fuzzy", "welsch"]
    with pytest.raises(click.BadParameter, match="'huber' is not one of 'fuzzy', 'possibilistic', 'welsch'"):
        option.convert("huber", None, None)


def test_the_command_lists_the_memberships_of_the_package(monkeypatch):
    monkeypatch.delitem(MEMBERSHIPS, Welsch.name)
    assert set(LISTED) == {"auto", *MEMBERSHIPS}
