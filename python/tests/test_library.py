"""The whole library by raw ids, and what must not crash."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import crosswise
from crosswise import Dataset, InvalidArgument, Model, UnknownId


@pytest.fixture(scope="module")
def data():
    return crosswise.simulate(
        users=600, items=200, popularity=0.4, relevant=0.3, interactions=8000, seed=1
    )


@pytest.fixture(scope="module")
def model(data):
    return crosswise.train(data, method="bpr", dim=8, epochs=4, seed=3)


def test_a_run_can_be_looked_at(data, model):
    assert model.method == "bpr"
    assert model.run["best_epoch"] >= 0
    assert model.run.epochs()
    assert "<svg" in model.run._repr_html_()
    assert "recall@20" in model.evaluate(data)._repr_html_()
    assert "users" in data.describe()._repr_html_()
    assert repr(data).startswith("<Dataset: ")
    assert data.relevance(0).shape == (data.n_items,)
    pandas = pytest.importorskip("pandas")
    assert isinstance(model.run.to_pandas(), pandas.DataFrame)
    assert list(model.recommend(data.user_ids[:2]).to_pandas()["rank"][:3]) == [1, 2, 3]


def test_the_same_seed_is_the_same_model(data, model, tmp_path):
    again = crosswise.train(data, method="bpr", dim=8, epochs=4, seed=3, threads=1)
    np.testing.assert_array_equal(again.item_vectors, model.item_vectors)
    model.save(tmp_path / "m.safetensors", record=tmp_path / "m.run.json")
    assert json.loads((tmp_path / "m.run.json").read_text())["method"] == "bpr"
    loaded = Model.load(tmp_path / "m.safetensors")
    assert loaded.user_ids == model.user_ids
    assert loaded.recommend(model.user_ids[5]) == model.recommend(model.user_ids[5])
    assert Model.load(tmp_path / "m.safetensors", ids="text").user_ids[0] == str(model.user_ids[0])


def test_rules_of_lists_hold(model):
    user, first = model.user_ids[0], model.recommend(model.user_ids[0], 5)
    best = first[0][0]
    assert best not in [item for item, _ in model.recommend(user, 5, exclude=[best])]
    assert model.recommend(user, 5, only=[best]) == first[:1]
    assert model.recommend(user, 5, only=[]) == []
    lists = model.recommend([user, model.user_ids[1]], 5)
    assert lists[0] == first
    assert len(lists) == 2
    assert lists.ways == ["trained", "trained"]
    score = model.score([user], [best])
    assert score[0] == pytest.approx(first[0][1])
    assert model.recommend_history([best], 3)
    assert len(model.similar_items(best, 4)) == 4
    assert len(model.similar_users([user], 4)[0]) == 4
    popular = model.recommend(user, 3, popularity=50.0)
    assert popular != first[:3]


def test_places_are_lifted_and_spread(model):
    user = model.user_ids[0]
    first = model.recommend(user, 5)
    last, score = first[-1]
    lifted = model.recommend(user, 5, boost={last: 100.0})
    assert lifted[0] == (last, pytest.approx(score + 100))
    assert model.recommend(user, 5, boost={}) == first
    spread = model.recommend(user, 5, diversity=0.9)
    assert spread[0] == first[0]
    assert spread != first
    with pytest.raises(InvalidArgument, match="diversity"):
        model.recommend(user, 5, diversity=1.5)


def test_reasons_add_up(model):
    history = model.item_ids[:4]
    item, score = model.recommend_history(history, 1)[0]
    reasons = model.explain(history, item)
    assert sorted(key for key, _ in reasons) == sorted(history)
    assert sum(added for _, added in reasons) == pytest.approx(score, rel=1e-4)
    assert [added for _, added in reasons] == sorted((a for _, a in reasons), reverse=True)
    with pytest.raises(UnknownId):
        model.explain(["nobody has it"], item)


def test_new_rows_go_on_from_a_model(model):
    rows = {"user": [10**6, 10**6, model.user_ids[0]], "item": model.item_ids[:3]}
    with crosswise.Interactions.from_frame(rows) as log:
        newer = model.update(log, steps=20)
    assert newer.n_users == model.n_users + 1
    assert newer.recommend(10**6, 3)


def test_files_and_folders(data, tmp_path):
    data.save(tmp_path / "d")
    back = Dataset.load(tmp_path / "d")
    assert back.count() == data.count()
    log = crosswise.import_log(tmp_path / "d" / "train.csv")
    assert len(log) == data.count()
    assert crosswise.prepare(log, core=1, split="random", seed=4).n_users == log.n_users
    assert crosswise.skew(tmp_path / "d", theta=0.5) > 0
    model = crosswise.train(str(tmp_path / "d" / "train.csv"), method="pop")
    assert model.run["refit"]
    model.export(tmp_path / "e")
    assert (tmp_path / "e" / "users.txt").exists()
    with pytest.raises(OSError, match="cannot open"):
        crosswise.import_log(tmp_path / "none.csv")
    with pytest.raises(crosswise.FileError, match="exists; it is replaced only"):
        data.save(tmp_path / "d")


def test_experiments_compare_and_report(data, tmp_path):
    data.save(tmp_path / "d")
    plan = {
        "title": "Two",
        "options": {"dim": 4, "epochs": 2},
        "seeds": 1,
        "tables": [{"title": "Methods", "methods": ["pop", "itemknn"]}],
    }
    events = []
    result = crosswise.experiment(
        plan, tmp_path / "x", datasets=[tmp_path / "d"], on_event=events.append
    )
    assert events
    assert result.report().exists()
    with pytest.raises(crosswise.CrosswiseError, match="nowhere"):
        crosswise.experiment("quick", tmp_path / "y", datasets=[tmp_path / "nowhere"])


def test_tuning_gives_a_model(data, tmp_path):
    events = []
    model = crosswise.tune(
        data, tmp_path / "t", trials=2, methods="pop,itemknn", on_event=events.append
    )
    assert events
    assert model.tuning
    assert model.recommend(model.user_ids[0])


def test_runs_are_compared(data, tmp_path):
    records = []
    for method in ("bpr", "pop"):
        model = crosswise.train(data, method=method, **({"epochs": 2} if method == "bpr" else {}))
        records.append(tmp_path / f"{method}.run.json")
        model.save(tmp_path / f"{method}.safetensors", record=records[-1])
    assert crosswise.compare(*records)


def test_progress_is_shown_where_tqdm_is(data, capsys, monkeypatch):
    pytest.importorskip("tqdm")
    crosswise.train(data, method="bpr", dim=4, epochs=2, show_progress=True, refit=True)
    shown = capsys.readouterr().err
    assert "training" in shown
    assert "refit" in shown
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # as if it were not installed
    crosswise.train(data, method="bpr", dim=4, epochs=2, show_progress=True)
    assert capsys.readouterr().err == ""


def test_what_there_is_can_be_listed():
    names = [row["method"] for row in crosswise.methods()]
    assert {"cpr", "bpr", "ease"} <= set(names)
    assert "beta" in [row["option"] for row in crosswise.options("train", "cpr")]
    assert "beta" not in [row["option"] for row in crosswise.options("train", "bpr")]
    assert crosswise.methods()._repr_html_().startswith("<table>")
    assert "devices" in crosswise.devices() or crosswise.devices()
    with pytest.raises(InvalidArgument, match="there is no stage 'x'"):
        crosswise.options("x")


def test_names_that_are_not_there_say_so():
    with pytest.raises(AttributeError, match="has no attribute 'colour'"):
        _ = crosswise.colour
    assert "train" in dir(crosswise)
    assert crosswise.__version__


# ---- what must not crash ----------------------------------------------------------------


def test_unknown_ids_are_named(model):
    with pytest.raises(UnknownId, match="does not know the user 'nobody'"):
        model.recommend("nobody")
    with pytest.raises(KeyError, match="does not know the item 10000000"):
        model.similar_items(10000000)
    with pytest.raises(InvalidArgument, match="is no id"):
        model.recommend(1.5)


def test_a_closed_handle_is_refused(data):
    model = crosswise.train(data, method="pop")
    model.close()
    model.close()
    for call in (
        lambda: model.recommend(0),
        lambda: model.n_users,
        lambda: model.save("/tmp/never"),
        lambda: model.evaluate(data),
        lambda: model.tensors,
    ):
        with pytest.raises(InvalidArgument, match="the model is closed"):
            call()
    log = crosswise.Interactions.from_frame({"user": [1], "item": [1]})
    log.close()
    with pytest.raises(InvalidArgument, match="the log of interactions is closed"):
        log.prepare()
    assert repr(log) == "<Interactions, closed>"


def test_views_outlive_what_they_show(data, tmp_path):
    data.save(tmp_path / "d")
    other = Dataset.load(tmp_path / "d")
    users, _ = other.part()
    copy = users.copy()
    other.close()
    np.testing.assert_array_equal(users, copy)


def test_many_threads_ask_at_once(model):
    users = model.user_ids[:40]
    expected = model.recommend(users, 5).items
    failures = []

    def ask():
        try:
            for _ in range(10):
                assert model.recommend(users, 5).items == expected
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_several_threads_train_at_once(data):
    made = {}

    def work(name):
        made[name] = crosswise.train(data, method="bpr", dim=4, epochs=2, seed=name, threads=1)

    threads = [threading.Thread(target=work, args=(k,)) for k in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = crosswise.train(data, method="bpr", dim=4, epochs=2, seed=1, threads=1)
    np.testing.assert_array_equal(made[1].item_vectors, alone.item_vectors)
    assert not np.array_equal(made[1].item_vectors, made[2].item_vectors)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_process_may_go_on(model):
    expected = model.recommend(model.user_ids[:100], 5).items
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        same = False
        try:
            same = model.recommend(model.user_ids[:100], 5).items == expected
        finally:
            os.write(writer, b"1" if same else b"0")
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 1) == b"1"


INTERRUPTED = """
import sys, logging, crosswise
logging.getLogger("crosswise").setLevel(logging.ERROR)
data = crosswise.simulate(users=3000, items=1000, seed=1)
print("ready", flush=True)
try:
    crosswise.train(data, method="cpr", epochs=100000, patience=100000)
except KeyboardInterrupt:
    print("stopped", flush=True)
    crosswise.train(data, method="pop")
    print("goes on", flush=True)
"""


def test_ctrl_c_stops_a_long_call():
    child = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True, env=os.environ
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(1)
    child.send_signal(signal.SIGINT)
    begin = time.monotonic()
    assert child.communicate(timeout=60)[0] == "stopped\ngoes on\n"
    assert time.monotonic() - begin < 20


def test_exceptions_of_callbacks_arrive(data):
    def fail(event):
        raise ZeroDivisionError("in a callback")

    with pytest.raises(ZeroDivisionError, match="in a callback"):
        crosswise.train(data, method="bpr", epochs=3, on_event=fail)

    def nest(event):
        crosswise.train(data, method="pop")

    with pytest.raises(crosswise.CrosswiseError, match="a callback cannot make a long call"):
        crosswise.train(data, method="bpr", epochs=3, on_event=nest)


def test_files_that_are_no_models_are_refused(tmp_path):
    (tmp_path / "x").write_text("not a model")
    with pytest.raises(crosswise.BadData, match="x"):
        Model.load(tmp_path / "x")
    with pytest.raises(InvalidArgument, match="zero byte"):
        Model.load("a\0b")
    with pytest.raises(crosswise.CrosswiseError):
        crosswise.train(tmp_path / "x")


def test_the_command_is_there():
    command = os.path.join(os.path.dirname(crosswise.__file__), "bin", "crosswise")
    if not os.path.exists(command):
        pytest.skip("the package was not installed from a wheel")
    answer = subprocess.run(
        [sys.executable, "-m", "crosswise", "--version"], capture_output=True, text=True, check=True
    )
    assert answer.stdout.startswith(f"crosswise {crosswise.__version__}")


def test_importing_is_quick():
    code = "import time; t = time.process_time(); import crosswise; print(time.process_time() - t)"
    best = min(
        float(
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            ).stdout
        )
        for _ in range(5)
    )
    assert best < 0.05
