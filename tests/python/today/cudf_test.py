"""cuDF against pandas: what its kernels do on a device, from sums to files, checked against the answers of pandas."""
import io

import numpy
import pandas
import pytest

cudf = pytest.importorskip("cudf")

ROWS = 5000


def frame(seed=1):
    numbers = numpy.random.default_rng(seed)
    return pandas.DataFrame({
        "k": numbers.integers(0, 50, ROWS),
        "g": numbers.choice(["ant", "bee", "cat", "dog"], ROWS),
        "v": numbers.normal(size=ROWS),
        "w": numbers.integers(-1000, 1000, ROWS).astype("int32"),
    })


def same(ours, theirs, **rules):
    ours = ours.to_pandas() if hasattr(ours, "to_pandas") else ours
    frames = isinstance(theirs, pandas.DataFrame)
    check = pandas.testing.assert_frame_equal if frames else pandas.testing.assert_series_equal
    check(ours, theirs, check_dtype=False, check_names=False, rtol=1e-9, **rules)


@pytest.mark.parametrize("what", ["sum", "mean", "min", "max", "std", "var", "count", "median", "prod", "nunique"])
def test_reductions(what):
    data = frame()
    for column in ("v", "w"):
        theirs = getattr(data[column].head(40), what)()
        ours = getattr(cudf.Series(data[column].head(40)), what)()
        assert numpy.isclose(float(ours), float(theirs), rtol=1e-9)


@pytest.mark.parametrize("what", ["sum", "mean", "min", "max", "count", "size", "std", "var", "nunique", "first",
                                  "last", "median"])
def test_groupby(what):
    data = frame()
    theirs = getattr(data.groupby("k").w, what)().sort_index()
    same(getattr(cudf.from_pandas(data).groupby("k").w, what)().sort_index(), theirs)


def test_groupby_two_keys():
    data = frame()
    theirs = data.groupby(["g", "k"]).agg({"v": "sum", "w": "max"}).sort_index()
    same(cudf.from_pandas(data).groupby(["g", "k"]).agg({"v": "sum", "w": "max"}).sort_index(), theirs)


@pytest.mark.parametrize("how", ["inner", "left", "outer"])
def test_merge(how):
    left, right = frame().head(300), frame(2).head(200)
    right = right.assign(k=right.k + 20)
    columns = ["k", "v_x", "v_y"]
    theirs = left.merge(right, on="k", how=how)[columns].sort_values(columns).reset_index(drop=True)
    ours = cudf.from_pandas(left).merge(cudf.from_pandas(right), on="k", how=how)[columns]
    same(ours.sort_values(columns).reset_index(drop=True), theirs)


def test_merge_strings():
    left, right = frame().head(100), pandas.DataFrame({"g": ["bee", "dog", "eel"], "n": [1, 2, 3]})
    theirs = left.merge(right, on="g").sort_values(["g", "v"]).reset_index(drop=True)
    ours = cudf.from_pandas(left).merge(cudf.from_pandas(right), on="g")
    same(ours.sort_values(["g", "v"]).reset_index(drop=True), theirs)


def test_sorts():
    data = frame()
    same(cudf.from_pandas(data).sort_values(["k", "v"], ascending=[False, True]).reset_index(drop=True),
         data.sort_values(["k", "v"], ascending=[False, True]).reset_index(drop=True))
    same(cudf.from_pandas(data).g.sort_values().reset_index(drop=True), data.g.sort_values().reset_index(drop=True))


@pytest.mark.parametrize("what", ["cumsum", "cummax", "cummin", "rank", "diff", "shift", "duplicated"])
def test_scans(what):
    data = frame()
    same(getattr(cudf.Series(data.w), what)(), getattr(data.w, what)())


@pytest.mark.parametrize("what", ["sum", "mean", "min", "max", "count"])
def test_rolling(what):
    data = frame()
    same(getattr(cudf.Series(data.v).rolling(7), what)(), getattr(data.v.rolling(7), what)())


def test_strings():
    data = frame().g.head(500) + " " + frame().k.head(500).astype(str) + "%"
    ours = cudf.Series(data)
    same(ours.str.upper(), data.str.upper())
    same(ours.str.contains("an"), data.str.contains("an"))
    same(ours.str.len(), data.str.len())
    same(ours.str.replace("bee", "wasp"), data.str.replace("bee", "wasp"))
    same(ours.str.slice(1, 4), data.str.slice(1, 4))
    same(ours.str.extract(r"(\d+)"), data.str.extract(r"(\d+)"))
    same(ours.str.split(" ", expand=True), data.str.split(" ", expand=True))


def test_missing():
    data = pandas.Series([1.0, None, 3.0, None, 5.0])
    ours = cudf.Series(data)
    same(ours.fillna(0), data.fillna(0))
    same(ours.isna(), data.isna())
    assert ours.dropna().sum() == 9


def test_selection():
    data = frame()
    ours = cudf.from_pandas(data)
    same(ours[ours.v > 0].reset_index(drop=True), data[data.v > 0].reset_index(drop=True))
    same(ours.drop_duplicates("k").sort_values("k").k.reset_index(drop=True),
         data.drop_duplicates("k").sort_values("k").k.reset_index(drop=True))
    same(cudf.concat([ours, ours]).reset_index(drop=True), pandas.concat([data, data]).reset_index(drop=True))
    same(ours.g.value_counts().sort_index(), data.g.value_counts().sort_index())


def test_dates():
    data = pandas.Series(pandas.date_range("2024-02-27", periods=300, freq="7h"))
    for part in ("year", "month", "day", "hour", "dayofweek"):
        same(getattr(cudf.Series(data).dt, part), getattr(data.dt, part))


def test_csv():
    text = frame().to_csv(index=False)
    same(cudf.read_csv(io.StringIO(text)), pandas.read_csv(io.StringIO(text)))
    assert cudf.from_pandas(frame()).to_csv(index=False).count("\n") == ROWS + 1


@pytest.mark.parametrize("compression", [None, "snappy"])
def test_parquet(tmp_path, compression):
    data = frame()
    data.to_parquet(tmp_path / "theirs", compression=compression)
    same(cudf.read_parquet(tmp_path / "theirs"), data)
    cudf.from_pandas(data).to_parquet(tmp_path / "ours", compression=compression)
    same(pandas.read_parquet(tmp_path / "ours"), data)
