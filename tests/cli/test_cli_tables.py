"""Tables as people have them: words, gaps, amounts, dates, sheets; and models that know what was done to them."""

from __future__ import annotations

import numpy as np
import pytest
from command_helpers import ANNEAL_FACTOR, K, N, ids, read_csv, rows, write_csv
from scipy.sparse import csr_array
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import powerkmeans
from powerkmeans import KernelPowerKMeans

pandas = pytest.importorskip("pandas")
HEADER, VALUES = rows()
WHICH = np.arange(N) % K
FAST = ("--feature-map", "identity", "--no-report", "-o", "out", "--overwrite")


@pytest.fixture(scope="module")
def frame():
    """Clear clusters, with everything that a table of numbers has not."""
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(VALUES.round(3), columns=HEADER)  # spreadsheets keep fifteen digits
    table["b"] = [f"${value:,.2f}" for value in VALUES[:, 1] + 100]
    table["kind"] = np.array(["red", "green", "blue"])[WHICH]
    table["new"] = np.where(rng.random(N) < 0.5, "yes", "no")
    table["since"] = [f"2024-{1 + i % 12:02d}-01" for i in range(N)]
    table["name"] = [f"somebody {i}" for i in range(N)]
    table.loc[5, "a"] = np.nan
    table.loc[7, "kind"] = "?"
    return table


@pytest.fixture
def people(frame, tmp_path):
    frame.to_csv(tmp_path / "people.csv", index=False)
    return "people.csv"


def test_all_that_is_wrong_is_told_at_once(run, people):
    done = run("fit", people, "-k", K, *FAST)
    assert done.code == 3
    assert done.sentence == "people.csv has 3 columns that cannot be clustered as they are:"
    assert "kind    4 words: ?, blue, green, ...  " in done.error
    assert "--encode kind, --na '?', or --drop kind" in done.error
    assert (
        "name    60 words, each once: somebody 0, somebody 1, somebody 10, ...  --id name, or --drop name"
        in done.error
    )
    assert "a       1 missing cell, the first in line 7 " in done.error
    assert done.error.endswith("--drop-text, or --encode-text for categories; --impute median.")


def test_gaps_of_categories_are_told_with_them(run, frame, tmp_path):
    frame.assign(kind=frame["kind"].mask(WHICH == 0), a=1.0).to_csv(tmp_path / "gaps.csv", index=False)
    done = run("fit", "gaps.csv", "-k", K, "--id", "name", "--na", "?", *FAST)
    assert "2 words: blue, green; 21 missing cells, the first in line 2  " in done.error
    assert "--encode kind --impute median, or --drop kind" in done.error
    assert done.error.endswith("--drop-text, or --encode-text for categories; --impute median.")


def test_what_is_wrong_with_all_files_is_told_at_once(run, tmp_path):
    for name, column in (("left", "kind"), ("right", "colour")):
        pandas.DataFrame({f"{name}_x": VALUES[:, 0], column: ["red", "blue"] * (N // 2)}).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    done = run("fit", "left.csv", "right.csv", "-k", K, *FAST)
    assert "left.csv has a column that cannot be clustered as it is" in done.error
    assert "--encode colour, or --drop colour" in done.error


def test_every_kind_of_column_is_made_use_of(run, people, frame, tmp_path):
    options = ("--id", "name", "--na", "?", "--encode-text", "--impute", "median")
    done = run("fit", people, "-k", K, *options, *FAST)
    assert done.code == 0, done.err
    for note in ("'kind' taken as categories", "'since' taken as days", "'new' taken as 1 and 0"):
        assert note in done.err
    model = powerkmeans.load(tmp_path / "out/model.npz")
    assert model.views[0].columns == ("a", "b", "c", "d", "kind=blue", "kind=green", "kind=red", "new", "since")
    prepared = model.prepare(frame)
    assert np.allclose(prepared.mean(axis=0), 0, atol=0.05)
    assert np.var(prepared[:, 4:7], axis=0).sum() == pytest.approx(1, abs=0.02)
    assert prepared[7, 4:7].argmax() == 0  # the most frequent, the first of equals
    assert np.array_equal(model.predict(frame), model.labels_)
    times = pandas.to_datetime(frame["since"])
    assert np.array_equal(model.predict(frame.assign(since=times)), model.labels_)
    assert [int(label) for label in read_csv(tmp_path / "out/labels.csv")["cluster"]] == model.labels_.tolist()
    assert run("predict", "out/model.npz", people).out == (tmp_path / "out/labels.csv").read_text()


def test_a_model_takes_the_users_own_table(run, people, frame, tmp_path):
    """Scaling and names are in the model: no one may get all rows in one cluster by loading it."""
    run("fit", people, "-k", K, "--columns", "c,d", "--drop-text", *FAST)
    model = powerkmeans.load(tmp_path / "out/model.npz")
    assert len(np.unique(model.predict(frame))) == K
    assert np.array_equal(model.predict(frame[["d", "c"]]), model.labels_)
    assert np.array_equal(model.predict(frame[["c", "d"]].to_numpy()), model.labels_)
    assert np.array_equal(model.predict(csr_array(frame[["c", "d"]].to_numpy())), model.labels_)


@pytest.mark.parametrize("kind", ["parquet", "xlsx"])
def test_other_files_are_read_alike(run, frame, people, tmp_path, kind):
    pytest.importorskip({"parquet": "pyarrow", "xlsx": "openpyxl"}[kind])
    getattr(frame, {"parquet": "to_parquet", "xlsx": "to_excel"}[kind])(tmp_path / f"people.{kind}", index=False)
    options = ("-k", K, "--drop", "name", "--encode", "kind,new", "--impute", "knn", *FAST)
    labels = []
    for name in (people, f"people.{kind}"):
        done = run("fit", name, *options)
        assert done.code == 0, done.err
        labels.append((tmp_path / "out/labels.csv").read_text())
    assert labels[0] == labels[1]


def test_sheets_are_chosen_by_name(run, tmp_path):
    pytest.importorskip("openpyxl")
    with pandas.ExcelWriter(tmp_path / "two.xlsx") as book:
        pandas.DataFrame({"note": ["read me"]}).to_excel(book, sheet_name="about", index=False)
        pandas.DataFrame(VALUES, columns=HEADER).to_excel(book, sheet_name="data", index=False)
    assert run("fit", "two.xlsx", "-k", K, "--array", "data", *FAST).code == 0
    done = run("fit", "two.xlsx", "-k", K, "--array", "dat", *FAST)
    assert done.sentence == "two.xlsx has no sheet 'dat'; did you mean 'data'?"


def test_rows_with_gaps_can_be_left_out_and_stay_in_place(run, tmp_path):
    values = VALUES.copy()
    values[[3, 40], 1] = np.nan
    write_csv(tmp_path / "gaps.csv", ids(), HEADER, values)
    options = ("fit", "gaps.csv", "--id", "id", "-k", K, "--impute", "drop-rows", *FAST[:-2], "out")
    done = run(*options)
    assert "2 rows with missing cells left out; they have no label." in done.err
    found = read_csv(tmp_path / "out/labels.csv")
    assert found["id"] == ids()
    assert [place for place, label in enumerate(found["cluster"]) if label == ""] == [3, 40]
    assert read_csv(tmp_path / "out/memberships.csv")["membership_0"][3] == ""
    # the same where they are predicted, with or without a way to fill them
    assert run("predict", "out/model.npz", "gaps.csv").out == (tmp_path / "out/labels.csv").read_text()
    answer = run("predict", "out/model.npz", "gaps.csv", "--json").json
    assert answer["cluster"][3] is None
    assert "2 samples with missing cells, the first is 's003': no answers there." in answer["notes"]
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run("predict", "out/model.npz", "gaps.csv", "-o", "p.parquet").code == 0
    assert parquet.read_table(tmp_path / "p.parquet").column("cluster")[3].as_py() is None


def test_gaps_in_views_are_filled_and_absent_rows_stay_absent(run, tmp_path):
    values = VALUES.copy()
    values[3, 1] = np.nan
    values[9, 2:] = np.nan
    write_csv(tmp_path / "v.csv", ids(), HEADER, values)
    views = ("--view", "x=a,b", "--view", "y=c,d")
    for fills in ("median", "knn"):
        done = run("fit", "v.csv", "--id", "id", "-k", K, *views, "--impute", fills, *FAST)
        assert done.code == 0, done.err
    model = powerkmeans.load(tmp_path / "out/model.npz")
    frame = pandas.read_csv(tmp_path / "v.csv")
    prepared = model.prepare(frame)
    assert np.isnan(prepared["y"][9]).all()
    assert not np.isnan(np.delete(prepared["y"], 9, axis=0)).any()
    assert not np.isnan(prepared["x"]).any()
    assert np.array_equal(model.predict(frame), model.labels_)
    alone = model.predict({"x": frame[["a", "b"]]})
    assert np.array_equal(model.predict(frame[["a", "b"]]), alone)  # as the command does
    assert np.array_equal(model.predict([frame[["a", "b"]], None]), alone)
    for wrong in ({}, {"x": None}, [None, None]):
        with pytest.raises(ValueError, match="X has no table"):
            model.predict(wrong)
    with pytest.raises(ValueError, match=r"tables of 5 and of 60 rows.*aligned by frame\.reindex"):
        model.predict({"x": frame[["a", "b"]], "y": frame[["c", "d"]][:5]})
    with pytest.raises(ValueError, match="list of 1 tables"):
        model.predict([frame])


def test_counts_by_totals_and_logarithms(run, tmp_path):
    rng = np.random.default_rng(0)
    profiles = rng.dirichlet(np.ones(40), 3)
    counts = rng.poisson(profiles[np.arange(300) % 3] * rng.lognormal(6, 1.3, 300)[:, None])
    counts[4] = 0
    np.savetxt(tmp_path / "counts.csv", counts, "%d", ",")
    done = run("fit", "counts.csv", "-k", K, "--total", 10000, "--log", "--scale", "none", *FAST)
    assert "scaling   rows add up to 10000, logarithms; metric" in done.out
    assert "scaling    rows add up to 10000, logarithms\n" in run("explain", "out/model.npz").out
    assert "rows add up to 10000; logarithms; columns as they are" in done.err
    model = powerkmeans.load(tmp_path / "out/model.npz")
    sums = np.expm1(model.prepare(counts)).sum(axis=1)
    assert np.allclose(np.delete(sums, 4), 10000)
    assert sums[4] == 0
    done = run("fit", "counts.csv", "-k", K, "--feature-map", "nystroem", "--no-report", "-o", "raw")
    assert "Clusters follow the totals of rows" in done.err  # columns are scaled, so the fit cannot know
    assert "--scale rows" in done.err
    np.savetxt(tmp_path / "negative.csv", counts - 1, "%d", ",")
    done = run("fit", "negative.csv", "-k", K, "--log", *FAST)
    assert done.code == 3
    assert "There are negative numbers in column '0'; logarithms are taken of counts" in done.sentence


def test_new_categories_and_words_are_told(run, people, frame, tmp_path):
    run("fit", people, "-k", K, "--drop", "name,since", "--encode", "kind", "--impute", "median", *FAST)
    frame.assign(kind="violet").to_csv(tmp_path / "new.csv", index=False)
    done = run("predict", "out/model.npz", "new.csv")
    assert done.code == 0
    assert "'kind' has categories that the fit did not see: 'violet'." in done.err
    frame.assign(c="much").to_csv(tmp_path / "words.csv", index=False)
    sentence = run("predict", "out/model.npz", "words.csv").sentence
    assert sentence.startswith("words.csv, line 2, column 'c': 'much' is not a number. Say --na much if it means")
    assert run("predict", "out/model.npz", "words.csv", "--na", "much").code == 0


def test_categories_do_not_tear_a_graph_apart(run, tmp_path):
    rng = np.random.default_rng(0)
    values = np.repeat([[0, 0, 0], [6, 6, 0], [0, 6, 6]], 40, axis=0) + rng.normal(size=(120, 3))
    table = pandas.DataFrame(values, columns=list("abc")).assign(region=rng.choice(["n", "s", "w"], 120))
    table.to_csv(tmp_path / "t.csv", index=False)
    answer = run("fit", "t.csv", "-k", 3, "--encode", "region", "--no-report", "-o", "out", "--json").json
    assert answer["feature_map"] == "nystroem"
    assert any("say --feature-map graph if that is wanted" in note for note in answer["notes"])
    assert answer["cluster_sizes"] == [40, 40, 40]
    again = run("fit", "t.csv", "-k", 3, "--drop-text", "--no-report", "-o", "other", "--json").json
    assert again["feature_map"] == "graph"


@pytest.mark.parametrize(
    ("column", "options", "holds", "say"),
    [
        (["1%", "2"], [], "numbers of different units: %, none", "write them in one"),
        (["1.234,56 €", "2.000,00 €"], ["--decimal", ","], "'1.234,56 €' in line 2", "--thousands ."),
        (["1,234,567", "2,345,678"], [], "'1,234,567' in line 2", "--thousands ,"),
        (["1.008,2", "976,9"], [], "'1.008,2' in line 2", "--decimal , --thousands ."),
        (["€ 1.234.567", "€ 180.500"], [], "'€ 1.234.567' in line 2", "--decimal , --thousands ."),
        (
            ["€ 180.500", "€ 950"],
            [],
            "x       '€ 180.500': thousands, or three decimals?",
            "--decimal , --thousands .",
        ),
        (["1", "don't know"], [], '"don\'t know" in line 3', '--na "don\'t know" if it means missing'),
        (["", ""], [], "nothing: every cell is missing", "--drop x"),
    ],
)
def test_what_would_help_a_column(run, tmp_path, column, options, holds, say):
    lines = [f'{int(a)};"{column[i % 2]}"' for i, a in enumerate(VALUES[:, 0])]
    (tmp_path / "t.csv").write_text("a;x\n" + "\n".join(lines), encoding="utf-8")
    done = run("fit", "t.csv", "-k", K, *options, *FAST)
    assert done.code == 3
    assert holds in done.error
    assert say in done.error


@pytest.mark.parametrize(
    ("cells", "options", "means"),
    [
        (["€ 180.500", "€ 95.250"], ["--decimal", ",", "--thousands", "."], [180500, 95250]),
        (["€ 180.500", "€ 95.250"], ["--decimal", "."], [180.5, 95.25]),
        (["€ 180.500", "€ 95.25"], [], [180.5, 95.25]),  # which can be decimals alone
        (["$0.500", "$1.250"], [], [0.5, 1.25]),
        (["180.500", "95.250"], [], [180.5, 95.25]),  # measurements may well have three decimals
        (["18.500%", "9.250%"], [], [18.5, 9.25]),
    ],
)
def test_amounts_that_are_asked_about_or_need_not_be(run, tmp_path, cells, options, means):
    lines = [f'{int(a)};"{cells[i % 2]}"' for i, a in enumerate(VALUES[:, 0])]
    (tmp_path / "t.csv").write_text("a;x\n" + "\n".join(lines), encoding="utf-8")
    assert run("fit", "t.csv", "-k", 2, *options, *FAST).code == 0
    model = powerkmeans.load(tmp_path / "out/model.npz")
    scaled = next(one for one in model.views[0].chain if one.name == "affine")
    assert scaled.centre[1] == pytest.approx(np.mean(means))


def test_what_helps_several_columns_is_said_first(run, tmp_path):
    names = [f"q{i}" for i in range(22)]
    answers = pandas.DataFrame({name: np.where(WHICH == 0, "refused", "4") for name in names})
    answers.assign(area=[f"{50 + i} m²" for i in range(N)]).to_csv(tmp_path / "t.csv", index=False)
    said = run("fit", "t.csv", "-k", K, *FAST).error
    assert "and 3 more columns: q20, q21, area\n" in said
    assert "For all columns at once: --na refused if it means missing; --drop-text" in said
    said = run("fit", "t.csv", "-k", K, "--columns", "area", *FAST).error
    assert "numbers with 'm²' behind: 100 m², 101 m², 102 m², ...  write them without, or --drop area" in said


def test_new_rows_are_spelt_as_those_of_the_fit(run, tmp_path):
    table = pandas.DataFrame(1000 + VALUES, columns=HEADER).round(2)
    (tmp_path / "points.csv").write_text(table.to_csv(index=False, sep=";"))
    commas = table.map(lambda number: f"{number:,.2f}".translate(str.maketrans(",.", ".,")))
    commas.to_csv(tmp_path / "t.csv", index=False, sep=";")
    assert run("fit", "t.csv", "-k", K, "--decimal", ",", "--thousands", ".", *FAST).code == 0
    new = run("predict", "out/model.npz", "t.csv")
    assert new.code == 0
    assert run("predict", "out/model.npz", "points.csv", "--decimal", ".").out == new.out
    assert run("predict", "out/model.npz", "points.csv").sentence.endswith(
        "is not a number. Say --decimal . if points stand before decimals."
    )


def test_names_with_commas_are_named_in_every_option(run, tmp_path):
    table = pandas.DataFrame({"a,b": VALUES[:, 0], "c,d": np.array(["x", "y", "z"])[WHICH]})
    table.to_csv(tmp_path / "t.csv", index=False)
    for options in (("--encode", "c,d"), ("--encode", "c,d", "--view", "u=a,b", "--view", "v=c,d")):
        assert run("fit", "t.csv", "-k", K, *options, *FAST).code == 0
    assert "no column 'c'" in run("fit", "t.csv", "-k", K, "--encode", "c,a,b", *FAST).sentence


def test_models_of_pipelines_are_asked_by_the_command(run, frame, tmp_path):
    words = OneHotEncoder(handle_unknown="ignore")
    columns = ColumnTransformer([("n", StandardScaler(), ["c", "d"]), ("w", words, ["kind"])])
    model = KernelPowerKMeans(K, feature_map="identity", anneal_factor=ANNEAL_FACTOR, random_state=0)
    powerkmeans.save(make_pipeline(columns, model).fit(frame), tmp_path / "pipeline.npz")
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert run("predict", "pipeline.npz", "t.csv", "--json").json["cluster"] == model.labels_.tolist()
    frame.assign(d="much").to_csv(tmp_path / "t.csv", index=False)
    assert run("predict", "pipeline.npz", "t.csv").sentence == "Column 'd': 'much' is not a number."


def test_numbers_that_stand_for_nothing_do_so_in_every_file(run, tmp_path):
    table = pandas.DataFrame(VALUES, columns=HEADER)
    table.loc[5, "b"] = table.loc[8, "c"] = -999
    table.to_csv(tmp_path / "t.csv", index=False)
    np.save(tmp_path / "t.npy", table.to_numpy())
    labels = []
    for name in ("t.csv", "t.npy"):
        done = run("fit", name, "-k", K, "--na", "-999", "--impute", "drop-rows", *FAST)
        assert "2 rows with missing cells" in done.err
        labels.append((tmp_path / "out/labels.csv").read_text())
        with pytest.warns(UserWarning, match="2 of 60 rows have missing cells"):
            assert powerkmeans.load(tmp_path / "out/model.npz").predict(table)[[5, 8]].tolist() == [-1, -1]
        assert run("predict", "out/model.npz", "t.npy").out == labels[-1]
    assert labels[0] == labels[1]


def test_a_column_that_is_called_as_a_category_is_told(run, frame, tmp_path):
    frame[["c", "kind"]].assign(**{"kind=red": 1 + frame["c"]}).to_csv(tmp_path / "t.csv", index=False)
    done = run("fit", "t.csv", "-k", K, "--encode", "kind", *FAST)
    assert "'kind=red'" in done.sentence
    assert "rename it" in done.sentence


def test_cells_of_another_kind_than_in_the_fit(run, people, frame, tmp_path):
    run("fit", people, "-k", K, "--columns", "c,new,since", *FAST)
    model = powerkmeans.load(tmp_path / "out/model.npz")
    for new, message in (({"since": 20240101}, "'20240101' is not a date"), ({"new": 5}, "'5' is not yes or no")):
        other = frame.assign(**new)
        other.to_csv(tmp_path / "new.csv", index=False)
        where = f"new.csv, line 2, column {next(iter(new))!r}: "
        assert run("predict", "out/model.npz", "new.csv").sentence == f"{where}{message}."
        with pytest.raises(ValueError, match=message):
            model.predict(other)
    numbers = frame.assign(new=(frame["new"] == "yes"), since=pandas.to_datetime(frame["since"]))
    assert np.array_equal(model.predict(numbers), model.labels_)
    numbers.assign(new=numbers["new"].map({True: "1", False: "no"})).to_csv(tmp_path / "mixed.csv", index=False)
    assert run("predict", "out/model.npz", "mixed.csv").out == (tmp_path / "out/labels.csv").read_text()


def sheet_of(path, lines, **sheets):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for line in lines:
        book.active.append(line)
    for name in sheets.get("charts", ()):
        chart = openpyxl.chart.BarChart()
        chart.add_data(openpyxl.chart.Reference(book.active, min_col=1, min_row=1, max_row=3))
        book.create_chartsheet(name, 0).add_chart(chart)
    book.save(path)


def test_sheets_with_more_or_less_than_a_table(run, tmp_path):
    body = VALUES.round(2).tolist()
    sheet_of(tmp_path / "t.xlsx", [["Report of the year"], HEADER, *body])
    done = run("fit", "t.xlsx", "-k", K, *FAST)
    assert "t.xlsx, row 2 has more cells than row 1, which names 1 column" in done.sentence
    sheet_of(tmp_path / "t.xlsx", body)
    assert run("fit", "t.xlsx", "-k", K, *FAST, "--json").json["n_samples"] == N  # as of CSV
    sheet_of(tmp_path / "t.xlsx", [HEADER, *([str(a).replace(".", ","), *row] for a, *row in body)], charts=["c"])
    assert run("fit", "t.xlsx", "-k", K, "--decimal", ",", *FAST).code == 0
    sheet_of(tmp_path / "t.xlsx", [["a", "b"], *([row[0], f"=A{i + 2}"] for i, row in enumerate(body))])
    assert "or a formula that was never calculated" in run("fit", "t.xlsx", "-k", K, *FAST).error


def test_names_of_rows_are_not_taken_as_categories_without_room(run, people, monkeypatch):
    monkeypatch.setattr("powerkmeans.cli.memory.available_memory", lambda: 60 * 60 * 8 - 1)
    done = run("fit", people, "-k", K, "--columns", "c,name", "--encode", "name", *FAST)
    assert done.sentence.startswith("Column 'name' as 60 categories takes 28.8 kB in memory")


def test_columns_that_look_like_names_are_noticed(run, tmp_path):
    table = pandas.DataFrame(VALUES, columns=HEADER)
    table.insert(0, "number", np.arange(1, N + 1))
    table.to_csv(tmp_path / "t.csv", index=False)
    done = run("fit", "t.csv", "-k", K, *FAST)
    assert (
        "'number' has another whole number in every row, as names of rows do; it is used as a number." in done.err
    )
    assert "Say --id number or --drop number" in done.err
    assert "whole number" not in run("fit", "t.csv", "-k", K, "--id", "number", *FAST).err


def test_files_without_ids(run, table, tmp_path):
    run("fit", table, "--id", "id", "-k", K, "-o", "out", "--no-ids")
    for name in ("model.npz", "report.html"):
        assert b"s007" not in (tmp_path / "out" / name).read_bytes()
    assert "s007" in (tmp_path / "out/labels.csv").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--columns", "zz"], "people.csv has no column 'zz'"),
        (["--encode", "zz", "--drop-text"], "people.csv has no column 'zz'"),
        (["--columns", "kind,name", "--drop-text"], "--drop-text leaves no column of people.csv."),
        (["--thousands", "ab"], "--thousands 'ab' must be one character"),
        (["--thousands", "."], "and not that of --decimal. Say --decimal , too."),
        (["--total", "0"], "0.0 is not in the range"),
        (["--impute", "mean"], "'mean' is not one of"),
        (
            ["--columns", "a,kind", "--encode", "kind", "--log", "--impute", "median"],
            "--total and --log are for counts",
        ),
    ],
)
def test_wrong_options(run, people, options, message):
    done = run("fit", people, "-k", K, *options, *FAST)
    assert done.code in (2, 3)
    assert message in done.sentence


def test_labels_are_compared_where_ids_have_two_names(run, table, tmp_path):
    run("fit", table, "--id", "id", "-k", K, *FAST)
    (tmp_path / "truth.csv").write_text(
        "who,is\n" + "".join(f"{i},{w}\n" for i, w in zip(ids(), WHICH, strict=True))
    )
    answer = run("evaluate", "out/labels.csv", "truth.csv", "--id", "id", "--truth-id", "who", "--json").json
    assert answer["accuracy"] == 1
    done = run("evaluate", "out/labels.csv", "truth.csv", "--truth-id", "who")
    assert "name those of the first with --id" in done.sentence
