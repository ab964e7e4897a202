"""What readers ask of a page: are the clusters real, which name is this, where are the files, what now?"""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from report_helpers import blobs, report
from sklearn.datasets import make_moons

from helpers import quick
from powerkmeans.choose.separation import Compared, Separation
from powerkmeans.report import facts as facts_module
from powerkmeans.report import write_report
from powerkmeans.report.names import LONGEST_LABEL, labels_of

# fixtures have views of noise, on purpose
pytestmark = pytest.mark.filterwarnings("ignore::powerkmeans.exceptions.DataGuidanceWarning")


@pytest.fixture(scope="module")
def moons():
    X = make_moons(200, noise=0.05, random_state=0)[0]
    return quick(2, feature_map="graph", random_state=0).fit(X), X


# are they real


@pytest.mark.parametrize("separated", [True, False])
def test_the_evidence_stands_near_the_top(tmp_path, scored, monkeypatch, separated):
    compared = Compared(0.02, 0.2, separated)
    found = Separation(compared, None if separated else compared, 0.97, graph=False)
    monkeypatch.setattr(facts_module, "separation_of", lambda *_: found)
    page = report(tmp_path, *scored)
    assert f"Are they real? {found.sentence.replace(chr(160), ' ')}" in page.said.replace("\u00a0", " ")
    assert page.text.index('id="evidence"') < page.text.index('class="cards"')
    assert ("doubtful" in page.all("p", id="evidence")[0]["class"]) != separated
    assert ("Before you use these clusters" in page.said) != separated
    assert ("none may be recommended although the clusters of this page are apart" in page.said) == separated


def test_the_evidence_is_that_of_the_model(tmp_path, moons):
    page = report(tmp_path, *moons)
    assert "more separated than those of noise of the same spread" in page.said
    K = np.exp(-np.sum((moons[1][:60, None] - moons[1][:60]) ** 2, axis=2))
    given = quick(2, feature_map="exact", kernel="precomputed", random_state=0).fit(K)
    assert "Are they real?" not in report(tmp_path, given, K).said


# names


@pytest.mark.parametrize(
    "names",
    [
        [f"ENSG{i:020d}" for i in range(6)],
        [f"{i}_of_a_name_that_is_long_in_the_same_way" for i in range(30)],
        [f"a_name_that_is_long_{i}_on_both_sides_of_what_differs" for i in range(30)],
        ["x" * 50 + str(i) + "y" * 50 for i in range(3)] + ["x" * 40, "short"],
        ["a" * 30, "a" * 31, "a" * 32],
    ],
)
def test_different_names_look_different(names):
    labels = labels_of(names)
    shown = [labels.get(name, name) for name in names]
    assert len(set(shown)) == len(names)
    assert all(name in labels for name in names if len(name) > LONGEST_LABEL)


def test_long_names_are_cut_where_they_are_alike_and_whole_for_readers(tmp_path, scored):
    model, X = scored
    names = [f"ENSG{'0' * 40}{i}" for i in range(4)]
    ids = [f"patient_of_the_hospital_in_the_city_number_{i:05d}" for i in range(240)]
    page = report(tmp_path, model, X, feature_names=names, ids=ids)
    labels = page.data["profiles"]["label"]
    assert sorted(labels) == names
    assert len(set(labels.values())) == 4
    cells = re.findall(
        r'<span class="id" title="([^"]*)"><span aria-hidden="true">([^<]*)</span><span class="unseen">([^<]*)<',
        page.text,
    )
    assert len(cells) == 50
    assert all(title == whole and label[-5:] == whole[-5:] for title, label, whole in cells)
    assert len({label for _, label, _ in cells}) == 50
    assert page.data["profiles"]["name"][0] in names


# maps


def middles(places, labels):
    points = np.array([places["x"], places["y"]]).T
    return [np.median(points[labels == c], axis=0) for c in range(labels.max() + 1)], points


def test_the_second_map_takes_shapes_apart(tmp_path, moons):
    model, X = moons
    page = report(tmp_path, model, X)
    labels = np.array(page.data["map"]["cluster"])
    x = np.array(page.data["apart"]["x"])
    sides = sorted((x[labels == c].min(), x[labels == c].max()) for c in range(2))
    assert all(left[1] < right[0] for left, right in pairwise(sides))  # a line between them
    wide = np.array(page.data["map"]["x"])
    assert wide[labels == 0].max() > wide[labels == 1].min()
    assert wide[labels == 1].max() > wide[labels == 0].min()
    assert np.std(x[labels == 0]) > 0.02  # no cluster is one point
    assert "Where clusters are apart" in page.said
    assert "coordinates in the graph" in page.said


def test_no_cluster_covers_another_on_the_second_map(tmp_path):
    X = blobs(n=300, k=10, p=8, far=0)
    for feature_map in ("graph", "identity"):
        model = quick(10, feature_map=feature_map, random_state=0).fit(X)
        page = report(tmp_path, model, X)
        places, points = middles(page.data["apart"], model.labels_)
        nearest = np.argmin(np.linalg.norm(points[:, None] - np.array(places), axis=2), axis=1)
        assert np.mean(nearest == model.labels_) > 0.97, feature_map
    assert "discriminants" in page.said


def test_one_cluster_has_one_map(tmp_path):
    X = blobs(n=40, k=1, far=0)
    page = report(tmp_path, quick(1, feature_map="identity", random_state=0).fit(X), X)
    assert page.data["apart"] is None
    assert "hidden" in page.all("figure", id="apart-figure")[0]


# what is folded, files, next steps


def test_the_solver_is_folded_away(tmp_path, scored):
    text = report(tmp_path, *scored).text
    folded = re.findall(r"<details>\n<summary>([^<]*)</summary>(.*?)</details>", text, re.DOTALL)
    assert [summary for summary, _ in folded] == [
        "How the solver came to its end: curves and runs",
        "All parameters of the model",
    ]
    assert 'class="chart"' in folded[0][1]
    assert "<code>n_clusters</code>" in folded[1][1]
    rest = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
    assert 'class="chart"' not in rest


def test_files_are_linked_from_the_folder_of_the_page(tmp_path, scored):
    nasty = "javascript:alert(1) <b>.csv"
    files = ["labels.csv", tmp_path / "sub" / "model 1.npz", nasty, "report.html", "labels.csv"]
    page = report(tmp_path, *scored, files=files)
    links = [a["href"] for a in page.all("a") if not a["href"].startswith("#")]
    assert links == ["labels.csv", "sub/model%201.npz", "javascript%3Aalert%281%29%20%3Cb%3E.csv"]
    assert "labels.csv : the cluster of each sample" in page.said
    assert nasty in page.said
    assert page.all("b") == []
    assert "powerkmeans predict 'sub/model 1.npz' new.csv" in page.said
    assert "Files beside this page" in page.said
    for wrong in ("labels.csv", 3, [3]):
        with pytest.raises((TypeError, ValueError), match="files"):
            write_report(tmp_path / "other.html", *scored, files=wrong)


def test_next_steps_go_by_the_model(tmp_path, scored, moons):
    model, X = scored
    page = report(tmp_path, model, X, scaling="standard")
    assert f"Look at the {sum(page.data['outliers'])} outliers" in page.said
    assert 'model.save("model.npz")' in page.said
    assert "In Python, columns are prepared as before the fit." in page.said
    fuzzy = report(tmp_path, quick(3, feature_map="identity", random_state=0).fit(X), X).said
    assert "Look at the borderline samples" in fuzzy
    assert "columns are prepared" not in fuzzy
    assert "powerkmeans choose-k data.csv" in fuzzy
