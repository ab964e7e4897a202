import json
import sys
from math import log, sqrt

import numpy as np
import pytest
from benchmarks import report
from benchmarks.harness.pool import Pool
from benchmarks.harness.progress import Progress
from benchmarks.harness.store import KEYS, Store, key_of, read_rows
from benchmarks.methods import METHODS, Method, find
from benchmarks.methods.interface import square
from benchmarks.methods.literal import algorithm_2
from benchmarks.paper import figures, fits, pictures, printed, protocol, tables
from benchmarks.paper.cells import Cell, mean_ranks
from benchmarks.paper.sets import RAW, SETS, STANDARDISED, DataSet, prepared
from sklearn.metrics import normalized_mutual_info_score

# Methods that a user might add; workers import them by name.
OWN = """
import os, time
import numpy as np
from benchmarks.methods import Answer, Method

def halves(views, k, seed, **setting):
    with open(os.environ["FIT_LOG"], "a") as log:
        log.write(f"{len(views[0])} {seed} {setting}\\n")
    labels = np.arange(len(views[0])) * k // len(views[0])
    labels[: int(setting.get("wrong", 1)) + seed % 2] = k - 1
    return Answer(labels, note="halves")

def fails(views, k, seed):
    raise ValueError("no such thing\\nand a second line")

def dies(views, k, seed):
    os.kill(os.getpid(), 9)

def sleeps(views, k, seed):
    time.sleep(60)

HALVES = Method(halves, several=True, install="", grid={"wrong": (4.0, 0.0, 2.0)})
FAILS, DIES, SLEEPS = (Method(run, install="") for run in (fails, dies, sleeps))
LARGE = Method(halves, install="", bytes_needed=lambda rows, views: 1e12)
MISSING = Method(halves, module="no_such_module", install="no-such-thing")
NEEDLESS = {"not": "a method"}
"""


def write_set(folder, file, n_views=2, rows=60, classes=3):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(classes), rows // classes)
    views = {f"view_{i}": (10 + 10 * y[:, None] + rng.normal(size=(rows, 3 + i))) for i in range(n_views)}
    np.savez_compressed(
        folder / f"{file}.npz", **views, y=y, view_names=np.array([f"v{i}" for i in range(n_views)])
    )


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Two small sets, results and pages in a folder of their own, and methods of one's own."""
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("FIT_LOG", str(tmp_path / "fits.log"))
    monkeypatch.delitem(sys.modules, "own_methods", raising=False)
    (tmp_path / "own_methods.py").write_text(OWN)
    write_set(tmp_path, "HW2")
    write_set(tmp_path, "LGG_2of4views", rows=30)
    prepared.cache_clear()
    yield tmp_path
    sys.modules.pop("own_methods", None)


def run(place, *more, methods=("own_methods:HALVES",), sets=("HW2",), jobs=0, table="multi"):
    pages = ["--pages", str(place / "pages")]
    what = ["--table", table, "--sets", *sets, "--methods", *methods, "--jobs", str(jobs), "--seeds", "2"]
    tables.main([*what, "--data", str(place), *pages, *more])


def stored(place, name="paper_multi"):
    return read_rows(place / "results" / f"{name}.jsonl")


def without_times(text):
    return text.split("## Time")[0]


def test_run_in_processes_survives_whatever_a_method_does(place, capsys):
    names = ["HALVES", "FAILS", "DIES", "SLEEPS", "LARGE", "MISSING", "NEEDLESS"]
    run(place, "--limit", "3", methods=[f"own_methods:{name}" for name in names], jobs=2)
    told = capsys.readouterr()
    lines = [line for line in told.err.splitlines() if line.startswith("HW2: own_methods:")]
    assert len(lines) == len(names) - 1
    for name, words in [
        ("FAILS", "ValueError: no such thing"),
        ("DIES", "exit code -9"),
        ("SLEEPS", "over time: more than 3 s"),
        ("LARGE", "out of memory at 60 rows"),
        ("MISSING", "pip install no-such-thing"),
        ("NEEDLESS", "is no benchmarks.methods.Method"),
    ]:
        assert any(f":{name}: " in line and words in line for line in lines)
    rows = stored(place)
    good = [row for row in rows if row["method"] == "own_methods:HALVES"]
    assert {row["column"] for row in good} == {"defaults", "scan", "tuned"}
    assert not any("error" in row for row in good)
    assert {row["seed"] for row in rows if row["method"] == "KMeans(10)"} == {0, 1}
    page = (place / "pages" / "multi_view.md").read_text()
    assert page in told.out
    assert "- own_methods:FAILS, HW2: ValueError: no such thing\n" in page


def test_settings_are_chosen_by_accuracy_and_run_again_with_fresh_seeds(place):
    run(place)
    mine = [row for row in stored(place) if row["method"] == "own_methods:HALVES"]
    scan, tuned = ([row for row in mine if row["column"] == column] for column in ("scan", "tuned"))
    assert len(scan) == 6
    assert {row["setting"]["wrong"] for row in tuned} == {0.0}
    assert {row["seed"] for row in tuned} == {100, 101}
    assert {row["ACC"] for row in tuned if row["seed"] != 101} == {1.0}
    assert (
        "| tuned on labels | standardised | wrong=0 (best of 3 with 2 seeds each) "
        in (place / "pages" / "multi_view.md").read_text()
    )


@pytest.mark.parametrize("cut", ["after a row", "within a row"])
def test_resumed_run_equals_an_uninterrupted_one_and_computes_nothing_twice(place, cut):
    run(place)
    whole, page = stored(place), (place / "pages" / "multi_view.md").read_text()
    file, log = place / "results" / "paper_multi.jsonl", place / "fits.log"
    n_fits = len(log.read_text().splitlines())
    assert n_fits == len([row for row in whole if "HALVES" in row["method"]])
    run(place)
    assert stored(place) == whole
    assert len(log.read_text().splitlines()) == n_fits  # a second run has nothing to do
    lines = file.read_text().splitlines(keepends=True)
    kept = lines[: len(lines) // 2]
    file.write_text("".join(kept) + (lines[len(kept)][:40] if cut == "within a row" else ""))
    run(place)
    again = stored(place)
    assert len(again) == len({key_of(row) for row in again}) == len(whole)
    timeless = [
        [{k: v for k, v in row.items() if k not in ("seconds", "peak_bytes")} for row in rows]
        for rows in (whole, again)
    ]
    assert sorted(map(str, timeless[0])) == sorted(map(str, timeless[1]))
    assert without_times((place / "pages" / "multi_view.md").read_text()) == without_times(page)
    assert all(json.loads(line) for line in file.read_text().splitlines())  # the half line is gone


def test_order_of_rows_does_not_matter_to_the_page(place):
    run(place)
    page = (place / "pages" / "multi_view.md").read_text()
    file = place / "results" / "paper_multi.jsonl"
    file.write_text("\n".join(reversed(file.read_text().splitlines())) + "\n")
    run(place)
    assert (place / "pages" / "multi_view.md").read_text() == page


def test_pages_of_the_rows_there_are(place):
    run(place)
    page, file = (place / "pages" / "multi_view.md").read_text(), place / "results" / "paper_multi.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:-1]))
    run(place, "--tables")
    assert file.read_text() == "".join(lines[:-1])
    assert (place / "pages" / "multi_view.md").read_text() != page


def test_fresh_and_retry_run_again_what_they_name(place):
    run(place, methods=["own_methods:HALVES", "own_methods:FAILS"])
    log = place / "fits.log"
    n_fits = len(log.read_text().splitlines())
    # of another length: what Python has compiled of it may be of the same second
    mended = OWN.replace('raise ValueError("no such thing', "return halves(views, k, seed)  # not ")
    (place / "own_methods.py").write_text(mended)
    sys.modules.pop("own_methods")
    run(place, "--retry", methods=["own_methods:HALVES", "own_methods:FAILS"])
    assert len(log.read_text().splitlines()) == n_fits + 2
    assert not any("error" in row for row in stored(place))
    run(place, "--fresh", methods=["own_methods:HALVES"])
    assert len(log.read_text().splitlines()) == 2 * n_fits + 2
    assert {row["method"] for row in stored(place)} >= {"own_methods:FAILS"}


def test_missing_and_broken_data_give_a_line_each_and_the_run_goes_on(place, capsys):
    whole = (place / "HW2.npz").read_bytes()
    (place / "handwritten.npz").write_bytes(whole[: len(whole) // 2])
    flipped = bytearray(whole)
    flipped[len(whole) // 3] ^= 255
    (place / "Caltech101-7_reextracted.npz").write_bytes(bytes(flipped))
    np.savez(place / "Caltech101-20_reextracted.npz", columns=np.ones(3))
    run(place, sets=["CESC", "handwritten", "Caltech101-7", "Caltech101-20", "HW2"])
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["CESC", "Caltech101-7", "handwritten", "Caltech101-20"]
    assert "CESC_LGG_standin.npz is missing" in lines[0]
    assert all("is broken" in line for line in lines[1:3])
    assert "has no view_0 or no y" in lines[3]
    assert {row["data"] for row in stored(place)} == {"HW2"}


def test_pages_mark_kinds_and_print_the_papers_numbers_beside_exact_data_only(place):
    run(place, sets=["HW2", "LGG"])
    page = (place / "pages" / "multi_view.md").read_text()
    assert "| LGG (exact, 2 of 4 views) | HW2 (exact) | HW2, printed |" in page
    assert "LGG, printed" not in page
    assert "| MVASM (printed) " in page
    assert "73.23" in page  # MVASM on HW2
    assert "NUS-WIDE-OBJECT | no data" in page
    for table in tables.SETS.values():
        assert all(str(data) == f"{data.name} ({data.kind})" and data.kind for data in table)


def test_ablation_shows_rows_of_the_table_of_views(place, monkeypatch):
    monkeypatch.setattr(protocol, "SCAN_SEEDS", 1)
    run(place, methods=["IP-RFF-MKPKM"], table="ablation", sets=["LGG"])
    rows = stored(place)
    assert {row["method"] for row in rows} == {"KMeans(1)", "KMeans(10)", "IP-RFF-MKPKM"}
    assert len([row for row in rows if row["column"] == "scan"]) == 25
    page = (place / "pages" / "ablation.md").read_text()
    assert page.count("\n| IP-RFF-MKPKM ") == 3
    assert {row["scaling"] for row in rows if row["method"] == "IP-RFF-MKPKM"} == {RAW, STANDARDISED}


def test_scores_of_a_case_by_hand():
    y, labels = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 1, 1])
    got = fits.scores(y, labels)
    information = 2 / 6 * log((2 / 6) / (3 / 6 * 2 / 6)) + 1 / 6 * log((1 / 6) / (3 / 6 * 4 / 6))
    information += 2 / 6 * log((2 / 6) / (2 / 6 * 4 / 6)) + 1 / 6 * log((1 / 6) / (1 / 6 * 4 / 6))
    true = -(3 / 6 * log(3 / 6) + 2 / 6 * log(2 / 6) + 1 / 6 * log(1 / 6))
    found = -(2 / 6 * log(2 / 6) + 4 / 6 * log(4 / 6))
    assert got["ACC"] == pytest.approx(4 / 6)
    assert got["Purity"] == pytest.approx(4 / 6)
    assert got["NMI"] == pytest.approx(information / sqrt(true * found))
    assert got["NMI_arithmetic"] == pytest.approx(normalized_mutual_info_score(y, labels))
    assert got["NMI_max"] == pytest.approx(information / max(true, found))
    assert got["clusters"] == 2


def test_ranks_share_the_last_places_among_failures():
    failed, absent, missing = Cell([], error="ValueError"), Cell([]), Cell([], error="pip", tried=False)
    good = {"a": [Cell([{"ACC": 0.5}])], "b": [Cell([{"ACC": 0.9}])]}
    ranks = mean_ranks(good | {"c": [failed], "d": [failed], "e": [absent], "f": [missing]})
    assert ranks["a"] == (2.0, 1)
    assert ranks["b"] == (1.0, 1)
    assert ranks["c"] == ranks["d"] == (3.5, 1)
    assert ranks["e"][1] == ranks["f"][1] == 0


def test_the_first_of_equal_settings_wins_and_failed_ones_cannot():
    settings = [{"s_init": s} for s in (-5.0, -10.0, -15.0)]
    rows = [{"setting": setting, "ACC": acc} for setting, acc in zip(settings, (0.4, 0.6, 0.6), strict=True)]
    assert protocol.winner(rows, settings) == settings[1]
    assert protocol.winner([{"setting": settings[2], "error": "x"}, rows[0]], settings) == settings[0]
    assert protocol.winner([], settings) is None


def test_counts_are_taken_in_logarithms_and_views_are_chosen(place):
    rows = {"view_0": np.ones((4, 2)), "view_1": np.array([[0.0], [9.0], [99.0], [999.0]])}
    np.savez(place / "counts.npz", **rows, y=np.arange(4))
    (view,), y = prepared(DataSet("counts", "exact", ("counts",), (1,), counts=(1,)), place, RAW)
    np.testing.assert_allclose(view[:, 0], [0, 1, 2, 3], atol=1e-6)
    assert view.dtype == np.float32
    views, _ = prepared(DataSet("counts", "exact", ("counts",), rows=3), place, STANDARDISED)
    assert [v.shape for v in views] == [(3, 2), (3, 1)]
    assert views[1].mean() == pytest.approx(0, abs=1e-6)
    assert y.tolist() == [0, 1, 2, 3]


def test_kernel_matrices_that_do_not_fit_are_not_attempted():
    method = Method(lambda *_: None, bytes_needed=square())
    assert method.why_too_large(60_000, 4, 24e9) == "out of memory at 60,000 rows (115 GB of 24)"
    assert method.why_too_large(2_000, 4, 24e9) == ""
    assert "at most 300 rows" in METHODS["multi"]["Algorithm 2, literal"].why_too_large(301, 2, 24e9)
    assert "at most 2 views" in METHODS["multi"]["mvlearn k-means"].why_too_large(100, 3, 24e9)
    with pytest.raises(KeyError, match="is no method of the single table"):
        find("single", "MKPKM")


def test_every_row_of_the_paper_is_in_the_file_of_printed_numbers():
    assert printed.value("multi", "HW2", "ACC", "IP-RFF-MKPKM") == 90.15
    assert printed.value("single", "Yale", "NMI", "KPKM") == 58.33
    assert printed.value("ablation", "LGG", "ACC", "RFF-MKPKM") == 62.55
    assert printed.value("multi", "CIFAR10", "ACC", "MKPKM") is None
    assert printed.value("multi", "handwritten", "ACC", "MKPKM") is None
    for table, sets in SETS.items():
        for name in {data.paper for data in sets if data.paper}:
            assert any(printed.value(table, name, "ACC", method) for method in printed.columns(table))


def test_algorithm_2_as_written_finds_far_clusters(place):
    write_set(place, "tiny", rows=24)
    views, y = prepared(DataSet("tiny", "exact", ("tiny",)), place, STANDARDISED)
    answer = algorithm_2(views, 3, 0)
    assert fits.scores(y, answer.labels)["ACC"] == 1.0
    assert answer.iterations >= 5


def test_progress_is_a_bar_on_a_terminal_and_quiet_elsewhere(capsys):
    class Terminal:
        text = ""

        def isatty(self):
            return True

        def write(self, text):
            self.text += text

        def flush(self):
            pass

    terminal = Terminal()
    for progress in (Progress(4, terminal), Progress(4)):
        progress.skip()
        progress.step("HW2, KMeans(1)")
        progress.line("a line")
        progress.close()
    assert "2/4 fits" in terminal.text
    assert "left, HW2, KMeans(1)" in terminal.text
    assert capsys.readouterr().err == "a line\n"


def test_pool_without_workers_gives_errors_as_rows():
    def halve(job):
        return {"half": 4 / job}

    assert list(Pool(halve, lambda: None, 0).run([2, 0])) == [
        (2, {"half": 2.0}),
        (0, {"error": "ZeroDivisionError: division by zero"}),
    ]


def made_row(**more):
    base = {"data": "HW2", "kind": "exact", "scaling": STANDARDISED, "method": "KMeans(10)", "column": "defaults"}
    return base | {"setting": {}, "seed": 0, "ACC": 0.5, "seconds": 1.0, "peak_bytes": 10**6} | more


def test_pictures_of_made_rows(place):
    plt = figures.pyplot() if pytest.importorskip("matplotlib") else None
    course = {"objective": [3.0, 2.0, 1.5], "s": [-1.0, -2.0, None], "iterations": 3}
    grid = [{"s_init": s, "entropy": e} for s in (-5.0, -10.0) for e in (0.1, 1.0)]
    sizes = [(f"CIFAR10, {n} rows", method) for n in (500, 1000) for method in ("KPKM", "RFF-KPKM")]
    store = Store("paper_multi")
    store.add(made_row())
    store.add(made_row(method="MKPKM", error="out of memory at 2,000 rows"))
    drawn = [
        pictures.draw_convergence(plt, [made_row(**course), made_row(**course, setting=grid[0])]),
        pictures.draw_sensitivity(plt, [made_row(setting=setting) for setting in grid]),
        pictures.draw_dimension(plt, [made_row(column="dimension", setting={"n_components": D}) for D in (5, 10)]),
        pictures.draw_times(plt, list(store.rows.values()), store),
        pictures.draw_exact(plt, [made_row(data=data, method=method) for data, method in sizes]),
    ]
    for number, figure in enumerate(drawn):
        figure.savefig(place / f"{number}.png")
        plt.close(figure)
        assert (place / f"{number}.png").stat().st_size > 0


def test_figures_without_matplotlib_say_how_to_get_it(place, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    figures.main(["--figure", "convergence", "--quick", "--data", str(place), "--jobs", "0"])
    assert "pip install matplotlib" in capsys.readouterr().out
    rows = read_rows(place / "results" / "paper_figure_convergence_quick.jsonl")
    assert {row["data"] for row in rows} == {"LGG"}
    assert all(set(KEYS) <= set(row) and len(row["objective"]) == row["iterations"] for row in rows)
