"""What may be passed as a model: estimators, and pipelines that end in one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from report_helpers import blobs, report
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

import powerkmeans
from helpers import quick, quick_views
from powerkmeans.report import write_report


@pytest.fixture(scope="module")
def frame():
    X = 50 + 10 * blobs(n=90, far=0)
    return pd.DataFrame(X, columns=["a", "b", "c", "d"], index=[f"row {i}" for i in range(90)])


def centroids(k=3):
    return quick(k, feature_map="identity", random_state=0)


def means(page, column):
    profiles = page.data["profiles"]
    return profiles["overall"][profiles["name"].index(column)]


def test_columns_that_steps_keep_are_in_their_own_units(tmp_path, frame):
    gaps = frame.mask(np.random.default_rng(0).uniform(size=frame.shape) < 0.05)
    pipeline = make_pipeline(SimpleImputer(), "passthrough", StandardScaler(), centroids()).fit(gaps)
    page = report(tmp_path, pipeline, gaps)
    assert sorted(page.data["profiles"]["name"]) == list("abcd")
    assert means(page, "b") == pytest.approx(gaps["b"].mean(), rel=1e-4)
    assert page.data["map"]["id"][:2] == ["row 0", "row 1"]
    assert page.data["sizes"] == np.bincount(pipeline.predict(gaps)).tolist()
    assert "The fit itself saw scaled columns (SimpleImputer, StandardScaler)" in page.said
    plain = report(tmp_path, pipeline[-1], pipeline[:-1].transform(gaps), original=gaps, ids=gaps.index)
    assert page.data == plain.data
    assert "(by hand)" in report(tmp_path, pipeline, gaps, scaling="by hand").said
    in_array = make_pipeline(StandardScaler(), centroids()).fit(frame.to_numpy())
    page = report(tmp_path, in_array, frame.to_numpy().tolist(), feature_names=list("pqrs"))
    assert means(page, "q") == pytest.approx(frame["b"].mean(), rel=1e-3)


def test_columns_that_steps_make_are_shown_as_they_are(tmp_path, frame):
    pipeline = make_pipeline(StandardScaler(), PCA(2, random_state=0), centroids()).fit(frame)
    page = report(tmp_path, pipeline, frame)
    assert sorted(page.data["profiles"]["name"]) == ["pca0", "pca1"]
    assert means(page, "pca0") == pytest.approx(0, abs=1e-6)
    assert "what the steps before the model made of those passed: StandardScaler, PCA." in page.said
    assert "saw scaled columns" not in page.said
    own = report(tmp_path, pipeline, frame, original=frame[["a", "b"]])
    assert sorted(own.data["profiles"]["name"]) == ["a", "b"]
    assert "the steps before the model" not in own.said
    nameless = make_pipeline(FunctionTransformer(np.abs), centroids()).fit(frame.to_numpy())
    assert sorted(report(tmp_path, nameless, frame.to_numpy()).data["profiles"]["name"]) == [
        f"x{i}" for i in range(4)
    ]


def test_columns_of_words(tmp_path, frame):
    words = frame[["a", "b"]].assign(colour=np.where(np.arange(90) % 3 == 0, "red", "blue"))
    both = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["colour"]), (StandardScaler(), ["a", "b"])
    )
    page = report(tmp_path, make_pipeline(both, centroids()).fit(words), words)
    assert "onehotencoder__colour_red" in page.data["profiles"]["name"]
    numbered = make_pipeline(OrdinalEncoder(), centroids()).fit(words)
    page = report(tmp_path, numbered, words)
    assert means(page, "colour") == pytest.approx(1 / 3, abs=0.01)  # of the codes: words have no mean


def test_texts_have_the_columns_that_a_vectorizer_makes(tmp_path):
    texts = pd.Series(["salt oven", "seed soil", "tram shop"] * 20, index=[f"text {i}" for i in range(60)])
    pipeline = make_pipeline(TfidfVectorizer(), centroids()).fit(texts)
    page = report(tmp_path, pipeline, texts)
    assert sorted(page.data["profiles"]["name"]) == ["oven", "salt", "seed", "shop", "soil", "tram"]
    assert page.data["map"]["id"][:2] == ["text 0", "text 1"]
    assert report(tmp_path, pipeline, texts.tolist()).data["profiles"] == page.data["profiles"]


def test_a_model_of_several_views_at_the_end(tmp_path, frame):
    model = quick_views(3, views={"left": [0, 1], "right": [2, 3]}, feature_map="identity", random_state=0)
    pipeline = make_pipeline(StandardScaler(), model).fit(frame)
    page = report(tmp_path, pipeline, frame)
    assert page.data["views"] == ["left", "right"]
    assert means(page, "d") == pytest.approx(frame["d"].mean(), rel=1e-4)


def test_a_pipeline_of_the_model_alone(tmp_path, frame):
    alone = make_pipeline(centroids()).fit(frame)
    assert report(tmp_path, alone, frame).data == report(tmp_path, alone[-1], frame).data


def test_other_pipelines_are_told_apart(tmp_path, frame):
    with pytest.raises(
        TypeError, match="Pipeline that ends in an estimator of powerkmeans; this one ends in 'kmeans'"
    ):
        write_report(tmp_path / "page.html", make_pipeline(StandardScaler(), KMeans(2)), frame)
    with pytest.raises(TypeError, match="A Pipeline that ends in one is taken too"):
        write_report(tmp_path / "page.html", KMeans(2), frame)
    with pytest.raises(NotFittedError):
        write_report(tmp_path / "page.html", make_pipeline(StandardScaler(), centroids()), frame)
    assert list(tmp_path.iterdir()) == []


def test_models_that_were_loaded_with_their_preparation(tmp_path, frame):
    pipeline = make_pipeline(StandardScaler(), centroids()).fit(frame)
    powerkmeans.save(pipeline, tmp_path / "model.npz")
    model = powerkmeans.load(tmp_path / "model.npz")
    page = report(tmp_path, model, frame)
    assert means(page, "b") == pytest.approx(frame["b"].mean(), rel=1e-3)
    assert page.data["map"]["id"][:2] == ["row 0", "row 1"]
    gaps = frame.mask(np.broadcast_to(np.arange(90)[:, None] == 3, frame.shape))
    page = report(tmp_path, model, gaps)
    assert sum(page.data["sizes"]) == 89
    assert page.data["map"]["id"][2:4] == ["row 2", "row 4"]  # without the row that nothing fills
