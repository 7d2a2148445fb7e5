"""Data frames of all kinds: the same rows, and ids that come back as they went in."""

from __future__ import annotations

import datetime
import uuid

import numpy as np
import pytest

from crosswise import BadData, Dataset, Interactions, InvalidArgument, train

ROWS = {
    "user": ["ann", "ann", "bob", "cy", "bob", "ann"],
    "item": [1, 2, 2, 7, 7, 1],
    "stars": [5.0, 1.0, 4.0, 5.0, 2.0, 5.0],
    "when": [1, 2, 3, 4, 5, 6],
}


def pandas_frame(rows):
    return pytest.importorskip("pandas").DataFrame(rows)


def polars_frame(rows):
    return pytest.importorskip("polars").DataFrame(rows)


def arrow_table(rows):
    return pytest.importorskip("pyarrow").table(rows)


def duckdb_relation(rows):
    duckdb = pytest.importorskip("duckdb")
    frame = arrow_table(rows)  # noqa: F841, found by its name
    relation = duckdb.sql("select * from frame")
    if not hasattr(relation, "__arrow_c_stream__"):
        pytest.skip("this DuckDB has no Arrow streams")
    return relation


MAKERS = [dict, pandas_frame, polars_frame, arrow_table, duckdb_relation]


@pytest.mark.parametrize("make", MAKERS)
def test_rows_of_every_frame_are_the_same(make):
    with Interactions.from_frame(make(ROWS)) as log:
        assert (len(log), log.n_users, log.n_items) == (5, 3, 3)
    with Interactions.from_frame(make(ROWS), rating="stars", min_rating=4) as log:
        assert len(log) == 3
    data = Dataset.from_frame(make(ROWS), time="when", core=1, split="leave-last")
    assert sorted(data.user_ids) == ["ann", "bob", "cy"]
    assert sorted(data.item_ids) == [1, 2, 7]
    assert data.count("train") + data.count("valid") + data.count("test") == 5


@pytest.mark.parametrize("make", MAKERS)
def test_a_given_split_is_kept(make):
    test = make({"user": ["cy", "ann"], "item": [2, 7], "stars": [1.0, 1.0], "when": [1, 2]})
    data = Dataset.from_frame(make(ROWS), test=test)
    assert [data.count(part) for part in ("train", "valid", "test")] == [5, 0, 2]
    users, items = data.part("test")
    assert [data.user_ids[u] for u in users] == ["cy", "ann"]
    assert [data.item_ids[i] for i in items] == [2, 7]


def test_names_of_columns_are_those_that_the_library_knows():
    """The lists in the package and in the library are the same."""
    from crosswise._data import _USUAL

    for role in ("user", "item"):
        other = {"user": "item", "item": "user"}[role]
        for name in _USUAL[role].split():
            with Interactions.from_frame({name.upper(): ["a"], other: ["b"]}) as log:
                assert len(log) == 1
            frame = pytest.importorskip("pyarrow").table({"x": [1], other: ["b"], name: ["a"]})
            with Interactions.from_frame(frame) as log:
                assert len(log) == 1


def some_rows(users, n=600, seed=0):
    r = np.random.default_rng(seed)
    return {
        "user": [users[k] for k in r.integers(len(users), size=n)],
        "item": r.integers(40, size=n),
    }


@pytest.mark.parametrize(
    "users",
    [
        [f"user {k}" for k in range(30)],
        [f"nutzer-ü-{k}" for k in range(30)],
        list(range(-15, 15)),
        [2**62 + k for k in range(30)],
        [uuid.UUID(int=k) for k in range(30)],
        [("shop", k) for k in range(30)],
        [datetime.date(2020, 1, k + 1) for k in range(30)],
        [k + 0.5 for k in range(30)],
        [b"\x01%d" % k for k in range(30)],
        ["1", "02", 3, 4.5] + [f"x{k}" for k in range(26)],
    ],
)
def test_ids_come_back_as_they_went_in(users):
    pandas = pytest.importorskip("pandas")
    rows = some_rows(users)
    column = pandas.Series(rows["user"], dtype=None if isinstance(users[0], (str, int)) else object)
    model = train(pandas.DataFrame({"user": column, "item": rows["item"]}), method="pop")
    assert set(model.user_ids) == set(users)
    assert all(type(back) in {type(u) for u in users} for back in model.user_ids)
    assert [len(model.recommend(u, 3)) for u in users[:3]] == [3, 3, 3]
    assert all(isinstance(item, int) for item, _ in model.recommend(users[0]))


def test_categories_are_read_as_their_words():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({k: pandas.Categorical(v) for k, v in ROWS.items() if k != "stars"})
    with Interactions.from_frame(frame, user="user", item="item") as log:
        assert (len(log), log.n_users) == (5, 3)
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(ROWS).with_columns(polars.col("user").cast(polars.Categorical))
    with Interactions.from_frame(frame) as log:
        assert (len(log), log.n_users) == (5, 3)


def test_chunks_and_slices_are_read(tmp_path):
    pa = pytest.importorskip("pyarrow")
    table = pa.concat_tables([pa.table(ROWS), pa.table(ROWS).slice(2, 3)])
    with Interactions.from_frame(table, keep_duplicates=True) as log:
        assert len(log) == 9
    import pyarrow.parquet as pq

    pq.write_table(table, tmp_path / "log.parquet")
    with Interactions.from_frame(pq.read_table(tmp_path / "log.parquet")) as log:
        assert len(log) == 5


@pytest.mark.parametrize("kind", ["s", "ms", "us", "ns"])
def test_times_keep_their_order(kind):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS)
    frame["when"] = pandas.to_datetime(frame["when"], unit="D").astype(f"datetime64[{kind}]")
    for source in (frame, {name: frame[name].to_numpy() for name in frame}):
        data = Dataset.from_frame(source, time="when", core=1, split="by-time", holdout=0.4)
        assert data.count("train") == 3


@pytest.mark.parametrize(
    ("rows", "arguments", "message"),
    [
        ({"user": [], "item": []}, {}, "no interactions are left|have 0 entries|'n'"),
        ({"user": ["a", None], "item": [1, 2]}, {}, "user id is empty|the user is missing"),
        ({"user": ["a", "b"], "item": [1, 2], "r": [1.0, np.nan]}, {"rating": "r"}, "rating 'nan'"),
        ({"user": ["a", "b"], "item": [1, 2], "r": ["x", "y"]}, {"rating": "r"}, "no numbers|type"),
        ({"who": ["a"], "what": [1]}, {}, "no user column is known by its name"),
        ({"user": ["a"], "item": [1]}, {"user": "name"}, "there is no column 'name'"),
        ({"user": ["a\0b"], "item": [1]}, {}, "zero byte"),
        ({"user": ["a"], "item": [1]}, {"min_rating": 3}, "rating"),
        ({"user": ["a"], "item": [1]}, {"min_rating": "x"}, "min-rating"),
        ({"user": ["a"], "item": [1]}, {"colour": 3}, "colour"),
    ],
)
@pytest.mark.parametrize("make", [dict, pandas_frame, polars_frame])
def test_frames_that_make_no_sense_are_refused(make, rows, arguments, message):
    with pytest.raises((InvalidArgument, BadData), match=message):
        Interactions.from_frame(make(rows), **arguments)


@pytest.mark.parametrize("thing", [3, None, "x", [1, 2], object()])
def test_what_is_no_frame_is_refused(thing):
    with pytest.raises(InvalidArgument, match="is no table"):
        Interactions.from_frame(thing)


def test_arrays_of_different_lengths_are_refused():
    with pytest.raises(InvalidArgument, match="not of one length"):
        Interactions.from_frame({"user": [1, 2], "item": [1]})
    with pytest.raises(InvalidArgument, match="one dimension"):
        Interactions.from_frame({"user": [[1, 2]], "item": [1]})
