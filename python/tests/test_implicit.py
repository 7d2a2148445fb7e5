"""Conventions of implicit 0.7, side by side with implicit itself on the same vectors."""

from __future__ import annotations

import io

import numpy as np
import pytest
from making import make_likes

from crosswise import BPR, CPR, EASE, IALS, Recommender
from crosswise import evaluation as ours

implicit = pytest.importorskip("implicit", reason="implicit is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")


def twin(model):
    """implicit's model with our vectors."""
    from implicit.als import AlternatingLeastSquares

    other = AlternatingLeastSquares(factors=model.item_factors.shape[1], use_gpu=False)
    other.user_factors = np.array(model.user_factors)
    other.item_factors = np.array(model.item_factors)
    return other


def same(mine, theirs, sort_ties=True):
    assert mine[0].shape == theirs[0].shape
    assert mine[1].shape == theirs[1].shape
    assert mine[0].dtype == np.int32
    assert mine[1].dtype == theirs[1].dtype == np.float32
    np.testing.assert_allclose(mine[1], theirs[1], rtol=2e-5, atol=1e-6)
    np.testing.assert_array_equal(mine[0], theirs[0])


def draw_case(r, n_users, n_items):
    many = r.random() < 0.7
    users = r.integers(n_users, size=r.integers(1, 9)) if many else int(r.integers(n_users))
    case = {"N": int(r.integers(1, n_items + 8))}
    case["filter_already_liked_items"] = bool(r.random() < 0.7)
    kind = r.integers(3)
    if kind == 1:
        case["filter_items"] = r.choice(n_items, r.integers(1, n_items), replace=False)
    if kind == 2:
        # implicit leaves places of a small selection at the first of them: ask for what there is
        case["items"] = r.choice(n_items, r.integers(2, n_items), replace=False)
        case["N"] = int(r.integers(1, len(case["items"]) + 4))
    return users, case


@pytest.mark.parametrize("seed", range(60))
def test_recommend_is_that_of_implicit(seed):
    r = np.random.default_rng(seed)
    likes = make_likes(int(r.integers(20, 70)), int(r.integers(10, 50)), seed)
    model = BPR(factors=6, iterations=2, random_state=seed).fit(likes, show_progress=False)
    other = twin(model)
    for _ in range(8):
        users, case = draw_case(r, *likes.shape)
        rows = likes[users]
        same(model.recommend(users, rows, **case), other.recommend(users, rows, **case))


@pytest.mark.parametrize("seed", range(20))
def test_neighbours_are_those_of_implicit(seed):
    r = np.random.default_rng(seed)
    likes = make_likes(int(r.integers(20, 50)), int(r.integers(10, 40)), seed)
    model = BPR(factors=6, iterations=2, random_state=seed).fit(likes, show_progress=False)
    other = twin(model)
    for what, total in (("items", likes.shape[1]), ("users", likes.shape[0])):
        mine = getattr(model, f"similar_{what}")
        theirs = getattr(other, f"similar_{what}")
        for which in (int(r.integers(total)), r.integers(total, size=4)):
            n = int(r.integers(1, total + 5))
            some = r.choice(total, 3, replace=False)
            a, b = mine(which, N=n), theirs(which, N=n)
            assert a[0].shape == b[0].shape
            np.testing.assert_allclose(a[1], b[1], rtol=1e-4, atol=1e-5)
            for name in (f"filter_{what}", what):
                a, b = mine(which, N=n, **{name: some}), theirs(which, N=n, **{name: some})
                assert a[0].shape == b[0].shape
                np.testing.assert_allclose(a[1], b[1], rtol=1e-4, atol=1e-5)
                np.testing.assert_array_equal(a[0], b[0])


def test_a_script_for_implicit_runs(tmp_path):
    likes = make_likes(200, 80, 3)
    scores = {}
    for library in ("implicit", "crosswise"):
        if library == "implicit":
            from implicit.cpu.bpr import BayesianPersonalizedRanking as Model
            from implicit.evaluation import ranking_metrics_at_k, train_test_split
        else:
            from crosswise import BPR as Model
            from crosswise.evaluation import ranking_metrics_at_k, train_test_split
        train, test = train_test_split(likes, train_percentage=0.8, random_state=7)
        model = Model(
            factors=16, learning_rate=0.01, regularization=0.01, iterations=30, random_state=3
        )
        model.fit(train, show_progress=False)
        ids, got = model.recommend(np.arange(10), train[:10], N=5)
        assert ids.shape == got.shape == (10, 5)
        ids, got = model.similar_items(3, N=4)
        assert ids[0] == 3
        assert got[0] == pytest.approx(1.0, abs=1e-5)
        path = str(tmp_path / f"{library}.npz")
        model.save(path)
        again = Model.load(path)
        np.testing.assert_array_equal(
            again.recommend(1, train[1])[0], model.recommend(1, train[1])[0]
        )
        scores[library] = ranking_metrics_at_k(model, train, test, K=5, show_progress=False)
    assert scores["crosswise"].keys() == scores["implicit"].keys()


@pytest.mark.parametrize("k", [1, 5, 30])
def test_metrics_are_those_of_implicit(k):
    from implicit.evaluation import ranking_metrics_at_k

    train, test = ours.train_test_split(make_likes(80, 40, 5, 0.3), random_state=1)
    model = CPR(factors=8, iterations=3, random_state=1).fit(train, show_progress=False)
    mine = ours.ranking_metrics_at_k(model, train, test, K=k)
    theirs = ranking_metrics_at_k(model, train, test, K=k, show_progress=False)
    for name in theirs:
        assert mine[name] == pytest.approx(theirs[name], abs=1e-6), name


def test_users_can_be_recalculated_and_fitted_again(likes):
    for model in (IALS(factors=6, iterations=3), EASE(), BPR(factors=6, iterations=3)):
        model.fit(likes, show_progress=False)
        rows = likes[[3, 4]]
        ids, scores = model.recommend([0, 1], rows, N=4, recalculate_user=True)
        assert ids.shape == (2, 4)
        assert not set(ids[0]) & set(rows[0].indices)
        before = likes.shape[0]
        model.partial_fit_users(np.array([0, before + 2]), rows)
        assert model.n_users_ == before + 3
        again, scores_again = model.recommend([0, before + 2], rows, N=4)
        np.testing.assert_array_equal(again, ids)
        np.testing.assert_allclose(scores_again, scores, rtol=1e-6)


def test_file_objects_and_paths_hold_the_same(likes, fitted, tmp_path):
    room = io.BytesIO()
    fitted.save(room)
    fitted.save(tmp_path / "m.safetensors")
    assert room.getvalue() == (tmp_path / "m.safetensors").read_bytes()
    again = Recommender.load(io.BytesIO(room.getvalue()))
    np.testing.assert_array_equal(again.item_factors, fitted.item_factors)
    assert again.get_params()["method"] == "bpr"
    with pytest.raises(ValueError, match="was trained by bpr, not cpr"):
        CPR.load(tmp_path / "m.safetensors")
