"""The same instance through predict, a batch by HTTP and a case by HTTP: same label, cost, path and posterior."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from answers import as_json, follow

import etana


@pytest.fixture(scope="module")
def server(start_server, folder):
    return start_server(folder)


def instances(X, n, seed=0):
    """n rows of a table as JSON objects, with their positions; some values left out."""
    rng = np.random.default_rng(seed)
    rows = np.asarray(X, dtype=object)[rng.integers(0, len(X), n)]
    holes = rng.random(rows.shape) < 0.05
    rows[holes] = None
    names = [str(c) for c in X.columns] if hasattr(X, "columns") else [str(k) for k in range(X.shape[1])]
    return [{name: as_json(v) for name, v in zip(names, row)} for row in rows], names


def expected(clf, rows, names, X):
    import pandas as pd

    if hasattr(X, "columns"):
        table = pd.DataFrame(rows, columns=names).astype({c: X.dtypes[c] for c in X if X.dtypes[c].kind == "f"})
    else:
        table = np.array([[np.nan if v is None else v for v in row.values()] for row in rows], dtype=float)
    return clf.acquire(table), clf.predict(table)


COUNTS = {"breast_cancer": 150, "wine": 150, "digits": 40, "hostile": 60}  # 400 in all


@pytest.mark.parametrize("name", COUNTS)
def test_every_instance_ends_the_same(server, folder, data, name):
    X = data[name][0]
    clf = etana.load(folder / f"{name}.etana")
    rows, names = instances(X, COUNTS[name])
    walk, predicted = expected(clf, rows, names, X)
    paths = [[names[k] for k in walk.features(i)] for i in range(len(rows))]
    with server.client() as client:
        answer = client.post("/v1/classify", json={"model": name, "rows": rows}).json()
        lists = [list(row.values()) for row in rows]
        assert client.post("/v1/classify", json={"model": name, "rows": lists}).json() == answer
        with ThreadPoolExecutor(8) as pool:
            ends = list(pool.map(lambda row: follow(client, name, row), rows))
    assert answer["classes"] == [as_json(c) for c in clf.classes_]
    assert len(answer["rows"]) == len(ends) == COUNTS[name]
    for i, (row, end) in enumerate(zip(answer["rows"], ends, strict=True)):
        assert row["label"] == end["label"] == as_json(walk.labels[i]) == as_json(predicted[i])
        assert row["cost"] == end["cost"] == walk.costs[i]
        assert row["features"] == [step["feature"] for step in end["history"]] == paths[i]
        assert row["posterior"] == [b["probability"] for b in end["posterior"]] == walk.posteriors[i].tolist()
