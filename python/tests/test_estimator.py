"""Estimators on sparse matrices: conventions of scikit-learn, views, bad input."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from making import make_likes

import crosswise
from crosswise import (
    BPR,
    CPR,
    DICE,
    EASE,
    IALS,
    UBPR,
    Cross,
    InvalidArgument,
    ItemKNN,
    MultVAE,
    NotFitted,
    OutOfRange,
    Pop,
    Recommender,
    RelMF,
)

sp = pytest.importorskip("scipy.sparse")


@pytest.mark.parametrize(
    "make",
    [
        lambda: BPR(iterations=1),
        lambda: CPR(iterations=1),
        lambda: Cross(iterations=1),
        lambda: DICE(iterations=1),
        lambda: UBPR(iterations=1),
        lambda: RelMF(iterations=1),
        lambda: MultVAE(iterations=1),
        lambda: IALS(iterations=1),
        EASE,
        ItemKNN,
        Pop,
        lambda: Recommender("bpr", "lightgcn", iterations=1),
        lambda: Recommender("bpr", "neumf", iterations=1),
    ],
)
def test_every_class_fits_and_keeps_rows_and_columns(make):
    likes = make_likes(50, 30, 2)
    lil = likes.tolil()
    lil[7] = 0  # a user and an item without anything
    lil[:, 5] = 0
    likes = lil.tocsr()
    model = make().fit(likes, show_progress=False)
    assert (model.n_users_, model.n_items_) == likes.shape == model.dataset_shape_
    ids, scores = model.recommend(np.arange(50), likes, N=4)
    assert ids.shape == scores.shape == (50, 4)
    assert np.isfinite(scores).all()
    for user in range(50):
        assert not set(ids[user]) & set(likes[user].indices)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("values", [np.float32, np.float64, np.int8, bool])
def test_every_kind_of_matrix_is_the_same(likes, kind, values):
    other = likes.astype(values)
    other.indices = other.indices.astype(kind)
    other.indptr = other.indptr.astype(kind)
    one = BPR(factors=4, iterations=2, random_state=5).fit(likes, show_progress=False)
    two = BPR(factors=4, iterations=2, random_state=5).fit(other, show_progress=False)
    np.testing.assert_array_equal(one.item_factors, two.item_factors)


def test_threads_do_not_matter(likes):
    fits = [
        CPR(factors=4, iterations=2, random_state=5, num_threads=n).fit(likes, show_progress=False)
        for n in (1, 2)
    ]
    np.testing.assert_array_equal(fits[0].user_factors, fits[1].user_factors)


def test_explicit_zeros_are_no_likes(likes):
    with_zeros = likes.copy()
    with_zeros.data[::3] = 0
    without = with_zeros.copy()
    without.eliminate_zeros()
    a = EASE().fit(with_zeros, show_progress=False).recommend(0, without[0])
    b = EASE().fit(without, show_progress=False).recommend(0, without[0])
    np.testing.assert_array_equal(a[0], b[0])
    assert (with_zeros.data == 0).any()  # the caller's matrix stays


def test_factors_are_views_that_cannot_be_written(fitted):
    first, second = fitted.item_factors, fitted.item_factors
    assert np.shares_memory(first, second)
    assert not first.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        first[0, 0] = 1
    tensor = fitted.model_.tensors["embeddings"]
    assert np.shares_memory(tensor, fitted.user_factors)


def test_a_view_outlives_its_model(likes):
    model = BPR(factors=4, iterations=1).fit(likes, show_progress=False)
    view = model.item_factors
    copy = view.copy()
    model.model_.close()
    del model
    np.testing.assert_array_equal(view, copy)


def test_validation_may_be_given(likes):
    train, valid = crosswise.evaluation.train_test_split(likes, random_state=2)
    model = BPR(factors=4, iterations=4).fit(train, show_progress=False, validation=valid)
    assert model.run_["valid"]["users"] > 0
    assert "refit" not in model.run_ or not model.run_["refit"]


def test_callback_is_told_every_epoch_and_may_stop(likes):
    told = []
    BPR(factors=4, iterations=3).fit(
        likes, show_progress=False, callback=lambda *event: told.append(event)
    )
    assert [epoch for epoch, _, _ in told[:3]] == [1, 2, 3]

    def stop(epoch, elapsed, loss):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        BPR(factors=4, iterations=3).fit(likes, show_progress=False, callback=stop)


# ---- scikit-learn ------------------------------------------------------------------------


def test_parameters_are_those_of_scikit_learn():
    model = CPR(factors=12, beta=3)
    assert model.get_params()["factors"] == 12
    assert model.get_params()["beta"] == 3
    assert repr(model) == "CPR(factors=12, beta=3)"
    assert model.set_params(factors=4).factors == 4
    assert repr(Recommender()) == "Recommender()"


def test_clone_and_search_work(likes):
    pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV

    model = BPR(factors=4, iterations=2, random_state=0)
    assert clone(model).get_params() == model.get_params()
    search = GridSearchCV(model, {"factors": [2, 4]}, cv=2)
    search.fit(likes)
    assert search.best_params_["factors"] in (2, 4)
    assert 0 < search.best_score_ <= 1


def test_a_fitted_model_can_be_pickled(likes, fitted):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.recommend(0, likes[0])[0], fitted.recommend(0, likes[0])[0])
    assert repr(again) == repr(fitted)


def test_a_tuned_dial_is_followed(likes, fitted, monkeypatch):
    assert fitted.model_.dial == 0
    fame = np.asarray(likes.sum(axis=0)).ravel()
    plain = fame[fitted.recommend(1, likes[1], N=5)[0]]
    monkeypatch.setattr(fitted, "_dial", 50.0)
    with_dial = fame[fitted.recommend(1, likes[1], N=5)[0]]
    others = np.delete(fame, likes[1].indices)
    assert sorted(with_dial) == sorted(others)[-5:]  # nothing but popularity counts
    assert with_dial.sum() > plain.sum()


def test_an_unfitted_model_says_so(likes):
    with pytest.raises(NotFitted):
        BPR().recommend(0)
    with pytest.raises(NotFitted, match="this BPR is not fitted yet; call fit first"):
        BPR().recommend(0, likes[0])
    with pytest.raises(AttributeError, match="BPR has no attribute 'colour'"):
        _ = BPR().colour


# ---- bad input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda m: m.toarray(), "user_items must be a sparse matrix"),
        (lambda m: m[:0], "the matrix has 0 rows and 40 columns"),
        (lambda m: m * 0, "there is no entry in the matrix"),
        (lambda m: m * np.nan, r"user_items has a value that is not a number \(NaN\)"),
        (lambda m: m * -1, "user_items has the value -1.0; an entry must be above 0"),
        (lambda m: m.astype(complex), "the values of user_items are complex128"),
        (lambda m: "likes", "user_items must be a sparse matrix"),
        (lambda m: None, "user_items must be a sparse matrix"),
    ],
)
def test_matrices_that_are_none_are_refused(likes, spoil, message):
    with pytest.raises(InvalidArgument, match=message):
        BPR().fit(spoil(likes), show_progress=False)


def test_indices_out_of_range_are_refused(likes):
    for place, value in ((3, 40), (3, -1)):
        broken = likes.copy()
        broken.indices = broken.indices.copy()
        broken.indices[place] = value
        with pytest.raises(InvalidArgument, match="must lie between 0 and 39"):
            BPR().fit(broken, show_progress=False)
    broken = likes.copy()
    broken.indptr = broken.indptr.copy()
    broken.indptr[2] = 1
    with pytest.raises(ValueError, match=r"below the one before|index pointer"):
        BPR().fit(broken, show_progress=False)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"factors": 0}, "dim"),
        ({"learning_rate": -1}, "lr"),
        ({"iterations": "many"}, "epochs"),
        ({"colour": "blue"}, "colour"),
        ({"beta": 2}, "method bpr on mf does not take it"),
        ({"dtype": np.float64}, "dtype must be float32"),
        ({"random_state": "x"}, "random_state"),
        ({"num_threads": 5000}, "threads"),
    ],
)
def test_parameters_out_of_bounds_are_named(likes, parameters, message):
    with pytest.raises(InvalidArgument, match=message):
        BPR(**parameters).fit(likes, show_progress=False)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda m, x: m.recommend(60, x[0]), IndexError, r"users\[0\] is 60"),
        (lambda m, x: m.recommend(-1, x[0]), IndexError, r"users\[0\] is -1"),
        (lambda m, x: m.recommend([0, 99], x[:2]), IndexError, r"users\[1\] is 99"),
        (lambda m, x: m.recommend(2**40, x[0]), IndexError, "beyond"),
        (lambda m, x: m.recommend(0, x[:2]), ValueError, "must contain 1 row for every user"),
        (lambda m, x: m.recommend(0, x[0].toarray()), ValueError, "needs to be a CSR sparse"),
        (lambda m, x: m.recommend(0, x[0].tocoo()), ValueError, "needs to be a CSR sparse"),
        (lambda m, x: m.recommend(0, x[0], N=0), ValueError, "must be at least 1"),
        (lambda m, x: m.recommend(1.5, x[0]), ValueError, "whole numbers"),
        (lambda m, x: m.recommend("ann", x[0]), ValueError, "whole numbers"),
        (lambda m, x: m.recommend([[0]], x[0]), ValueError, "2 dimensions"),
        (lambda m, x: m.recommend(0, x[0], items=[40]), IndexError, r"only\[0\] is 40"),
        (lambda m, x: m.recommend(0, x[0], filter_items=[-2]), IndexError, r"exclude\[0\] is -2"),
        (lambda m, x: m.recommend(0, x[0], items=[1], filter_items=[2]), ValueError, "both"),
        (lambda m, x: m.recommend(0, recalculate_user=True), ValueError, "user_items is needed"),
        (lambda m, x: m.similar_items(40), IndexError, r"items\[0\] is 40"),
        (lambda m, x: m.similar_users(60), IndexError, r"users\[0\] is 60"),
        (lambda m, x: m.similar_items(0, N=0), ValueError, "N is 0|must be at least 1"),
        (lambda m, x: m.similar_items(0, items=[77]), IndexError, "items has 77"),
        (lambda m, x: m.partial_fit_users([0], x[0] * 0), ValueError, "no items"),
        (lambda m, x: m.partial_fit_users([-3], x[0]), IndexError, r"users\[0\] is -3"),
        (lambda m, x: m.load("/nowhere/m"), OSError, "cannot read /nowhere/m"),
        (lambda m, x: m.save("/nowhere/m"), OSError, "/nowhere"),
    ],
)
def test_questions_that_make_no_sense_are_refused(likes, fitted, call, kind, message):
    x = likes.copy()
    with pytest.raises(kind, match=message) as failure:
        call(fitted, _no_zeros(x))
    assert isinstance(failure.value, crosswise.CrosswiseError)


def _no_zeros(x):
    class Rows:
        def __getitem__(self, which):
            row = x[which]
            row.eliminate_zeros()
            return Row(row)

    return Rows()


class Row:
    """A row that stays without explicit zeros when it is multiplied by 0."""

    def __init__(self, row):
        self._row = row

    def __mul__(self, factor):
        product = self._row * factor
        product.eliminate_zeros()
        return product

    def __getattr__(self, name):
        return getattr(self._row, name)


def test_an_empty_batch_has_the_shape_of_one(likes, fitted):
    ids, scores = fitted.recommend([], likes[:0], N=3)
    assert ids.shape == scores.shape == (0, 3)


def test_numbers_beyond_the_last_item_are_out_of_range(fitted):
    with pytest.raises(OutOfRange):
        fitted.similar_items(10**6)
