"""The reference arrays in the formats in which the world publishes them."""

import bz2
import hashlib
import io
import json

import numpy as np
from scipy import io as matlab
from scipy import sparse


def number(value):
    """The shortest text of a single-precision number."""
    return "?" if np.isnan(value) else np.format_float_positional(np.float32(value), trim="-")


def lines(rows, delimiter=",", end="\n"):
    return "".join(delimiter.join(row) + end for row in rows).encode()


def table(X, form=number):
    return [[form(v) for v in row] for row in X]


def with_column(rows, column, first=False):
    return [[str(c), *row] if first else [*row, str(c)] for row, c in zip(rows, column)]


def signs(y):
    return lines([[str(2 * int(v) - 1)] for v in y])


def counts(X):
    """Sparse rows without labels, as in Dexter: columns count from 1, and every pair ends in a space."""
    rows = (X[[i]] for i in range(X.shape[0]))
    return "".join("".join(f"{k + 1}:{int(v)} " for k, v in zip(r.indices, r.data)) + "\n" for r in rows).encode()


def svmlight(X, y):
    rows = (X[[i]] for i in range(X.shape[0]))
    pairs = (" ".join(f"{k + 1}:{v:.6g}" for k, v in zip(r.indices, r.data)) for r in rows)
    return "".join(f"{2 * int(label) - 1:+d} {row}\n" for row, label in zip(pairs, y)).encode()


def mat(**arrays):
    file = io.BytesIO()
    matlab.savemat(file, arrays, do_compression=True)
    return file.getvalue()


def published(name, z, d):
    """Raw files by path, from the archive ``z`` and the loaded set ``d``."""
    if name == "heart":
        rows = table(d.X, lambda v: "?" if np.isnan(v) else repr(float(number(v))))
        return {"/heart-disease/processed.cleveland.data": lines(with_column(rows, z["y_raw"]))}
    if name == "hepatitis":
        return {"/hepatitis/hepatitis.data": lines(with_column(table(d.X), d.y + 1, first=True))}
    if name == "bupa":
        rows = with_column(with_column(table(d.X), [number(v) for v in z["drinks"]]), z["orig_split"] + 1)
        return {"/liver-disorders/bupa.data": lines(rows)}
    if name == "spambase":
        return {"/spambase/spambase.data": lines(with_column(table(d.X), d.y))}
    if name == "thyroid":
        parts = {"train": (d.X, d.y), "test": (d.X_test, d.y_test)}
        return {
            f"/thyroid-disease/ann-{part}.data": lines(with_column(table(X), y + 1), " ", "  \n")
            for part, (X, y) in parts.items()
        }
    if name == "mll":
        content = mat(
            train_data=d.X, train_label=d.y[:, None] + 1, test_data=d.X_test, test_label=d.y_test[:, None] + 1
        )
        return {"/Datasets/Gene/MLL_data_label_all.mat": content}
    form = counts if name == "dexter" else lambda X: lines(X.astype(int).astype(str).tolist(), " ", " \n")
    return {
        f"/{name}/{name.upper()}/{name}_train.data": form(d.X),
        f"/{name}/{name.upper()}/{name}_train.labels": signs(d.y),
        f"/{name}/{name.upper()}/{name}_valid.data": form(d.X_test),
        f"/{name}/{name}_valid.labels": signs(d.y_test),
    }


def news20(seed=0):
    """A packed svmlight file with the shape of news20.binary: few words in a million columns."""
    rng = np.random.default_rng(seed)
    rows, words = 19996, 4
    columns = rng.integers(0, 1355191, (rows, words))
    columns[0, -1] = 1355190  # the last column occurs
    X = sparse.csr_array(
        (np.full(rows * words, 0.5), columns.ravel(), np.arange(0, rows * words + 1, words)), shape=(rows, 1355191)
    )
    X.sum_duplicates()
    X.data[:] = 0.5
    y = rng.permutation(np.arange(rows) % 2)
    # The matrix is written whole, not row by row, which would take seconds.
    pairs = np.char.add(np.char.add((X.indices + 1).astype(str), ":"), "0.5")
    labels = np.where(y == 1, "+1", "-1")
    text = "".join(
        f"{label} {' '.join(pairs[a:b])}\n" for label, a, b in zip(labels, X.indptr.tolist(), X.indptr[1:].tolist())
    )
    return bz2.compress(text.encode(), 1), X, y


def openml_routes(base, d):
    """The four answers of OpenML's API for the Pima set, and its file."""
    names = ["preg", "plas", "pres", "skin", "insu", "mass", "pedi", "age"]
    labels = np.array(["tested_negative", "tested_positive"])[d.y]
    attributes = "".join(f"@attribute {name} numeric\n" for name in names)
    head = f"@relation pima_diabetes\n{attributes}@attribute class {{tested_negative, tested_positive}}\n@data\n"
    arff = head.encode() + lines(with_column(table(d.X), labels))
    flags = {"is_ignore": "false", "is_row_identifier": "false", "number_of_missing_values": "0"}
    features = [{"name": n, "data_type": "numeric", "is_target": "false", **flags} for n in names]
    features.append({"name": "class", "data_type": "nominal", "is_target": "true", **flags})
    description = {
        "id": "37",
        "name": "diabetes",
        "version": "1",
        "format": "ARFF",
        "status": "active",
        "file_id": "37",
        "description": "Pima",
        "default_target_attribute": "class",
        "url": f"{base}/data/37/diabetes.arff",
        "md5_checksum": hashlib.md5(arff).hexdigest(),
    }
    listed = {"did": 37, "name": "diabetes", "version": 1, "status": "active"}
    answers = {
        "/list/diabetes/data_version/1": {"data": {"dataset": [listed]}},
        "/info/37": {"data_set_description": description},
        "/features/37": {"data_features": {"feature": [{"index": str(k), **f} for k, f in enumerate(features)]}},
        "/qualities/37": {
            "data_qualities": {"quality": [{"name": "NumberOfInstances", "value": str(float(len(d.y)))}]}
        },
    }
    return {path: json.dumps(answer).encode() for path, answer in answers.items()} | {"/data/37/diabetes.arff": arff}
