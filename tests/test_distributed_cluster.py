"""A real cluster of several processes: fits, a worker that is killed in the middle, folders of parts."""

from __future__ import annotations

import os
import signal
import threading
import time

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from sklearn.datasets import load_breast_cancer
from typer.testing import CliRunner

import etana
import etana.distributed as distributed
from etana.cli import app


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def data():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, :10], y


def same_counts(made, whole):
    assert made.counts_.cells.tobytes() == whole.counts_.cells.tobytes()
    assert made.binner_.edges.tobytes() == whole.binner_.edges.tobytes()
    assert (made.feature_order_ == whole.feature_order_).all()


def test_fit_and_predict_on_processes(client, data):
    X, y = data
    lazy = da.from_array(X, chunks=(80, -1))
    clf = distributed.fit(etana.ETANAClassifier(temperature=1.0), lazy, y)
    whole = etana.ETANAClassifier(temperature=1.0).fit(X, y)
    same_counts(clf, whole)
    assert (distributed.predict(clf, lazy).compute() == whole.predict(X)).all()


def test_rows_stay_where_they_are_read(client, data):
    """Blocks that cannot be sent to another process are fitted all the same: only summaries and counts travel."""
    X, y = data

    class Stays(np.ndarray):
        def __reduce__(self):
            raise TypeError("rows were sent to another process")

    def loader(rows):
        return lambda: (X[rows].view(Stays), y[rows])

    blocks = [dask.delayed(loader(r)) for r in np.array_split(np.arange(len(y)), 9)]
    same_counts(
        distributed.fit(etana.ETANAClassifier(temperature=1.0), blocks),
        etana.ETANAClassifier(temperature=1.0).fit(X, y),
    )


@pytest.mark.parametrize("when", [6, 24 + 6])
def test_a_killed_worker_changes_nothing(client, data, tmp_path, when):
    """kill -9 after some blocks of the first or of the second pass: lost tasks run again, counts are the same."""
    X, y = data

    def load(i, rows):
        with open(tmp_path / f"{i}-{time.time_ns()}", "w") as mark:
            mark.write(str(os.getpid()))
        time.sleep(0.2)
        return X[rows], y[rows]

    blocks = [dask.delayed(load)(i, rows) for i, rows in enumerate(np.array_split(np.arange(len(y)), 24))]
    fitted = []
    work = threading.Thread(
        target=lambda: fitted.append(distributed.fit(etana.ETANAClassifier(temperature=1.0), blocks))
    )
    work.start()
    while len(list(tmp_path.iterdir())) < when:
        time.sleep(0.005)
        assert work.is_alive()
    last = max(tmp_path.iterdir(), key=lambda mark: int(mark.name.split("-")[1]))
    while not (text := last.read_text()):
        time.sleep(0.005)
    os.kill(int(text), signal.SIGKILL)  # it is reading that block now
    work.join(60)
    assert not work.is_alive()
    same_counts(fitted[0], etana.ETANAClassifier(temperature=1.0).fit(X, y))
    loads = [mark.name.split("-")[0] for mark in tmp_path.iterdir()]
    assert len(loads) > 48  # two passes over 24 blocks, and what was lost
    assert min(loads.count(str(i)) for i in range(24)) >= 2
    client.wait_for_workers(3, timeout=60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One table: whole, in CSV parts, and in Parquet parts; a column of text looks like numbers in the first parts."""
    folder = tmp_path_factory.mktemp("tables")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :6].copy()
    X["size"] = np.where(X["mean area"] > 700, "large", "7")
    X.loc[:200, "size"] = "7"
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.05)
    table = X.assign(outcome=y + 9)  # 9 and 10: as text, 10 comes first
    table.to_csv(folder / "whole.csv", index=False)
    for kind in ("csv", "parquet"):
        (folder / kind).mkdir()
        (folder / kind / "_SUCCESS").touch()
    for i, rows in enumerate(np.array_split(np.arange(len(X)), 5)):
        part = table.iloc[rows]
        part[part.columns[:: 1 if i % 2 else -1]].to_csv(folder / "csv" / f"part-{i}.csv", index=False)
        part.to_parquet(folder / "parquet" / f"part-{i}.parquet", index=False)
    # The columns of a folder stand in the order of its first part.
    table[table.columns[::-1]].to_csv(folder / "turned.csv", index=False)
    return folder


def run(*arguments, code=0):
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    assert done.exit_code == code, (done.exit_code, done.output, done.exception)
    return done


def fit(folder, data, *options):
    """The model file of a table; counts are all that parts can give, so that a whole file may give no more."""
    output = folder / "model.etana"
    run("fit", folder / data, "--target", "outcome", "--output", output, "--temperature", 1, *options)
    return output.read_bytes()


@pytest.mark.parametrize("options", [(), ("--binning", "uniform", "--missing", "bin"), ("--solver", "thresholds")])
def test_a_folder_gives_the_model_of_one_file(folder, options):
    assert fit(folder, "parquet", *options) == fit(folder, "whole.csv", *options)
    assert fit(folder, "csv", *options) == fit(folder, "turned.csv", *options)


def test_a_folder_on_a_cluster(client, folder):
    address = client.scheduler.address
    assert fit(folder, "csv", "--engine", "dask", "--scheduler", address) == fit(folder, "turned.csv")
    assert fit(folder, "parquet", "--scheduler", address) == fit(folder, "whole.csv")


def test_dask_without_a_scheduler_uses_processes_of_its_own(folder):
    assert fit(folder, "whole.csv", "--engine", "dask") == fit(folder, "whole.csv")


def test_the_one_to_use_serves_a_folder_too(client, folder):
    """Without a method; the same choice as from one file, on this process and on a cluster."""
    made = []
    for data, more in (("whole.csv", ()), ("parquet", ()), ("parquet", ("--scheduler", client.scheduler.address))):
        output = folder / "frugal.etana"
        run("fit", folder / data, "--target", "outcome", "--effort", "fast", "-o", output, *more)
        made.append(etana.load(output))
    whole = made[0]
    X = pd.read_csv(folder / "whole.csv").drop(columns="outcome")
    for parts in made[1:]:
        assert isinstance(parts, etana.FrugalClassifier)
        assert [row[:5] for row in parts.comparison_] == [row[:5] for row in whole.comparison_]
        assert parts.expected_cost_ == whole.expected_cost_
        assert parts.best_.counts_.cells.tobytes() == whole.best_.counts_.cells.tobytes()
        assert parts.predict_proba(X).tobytes() == whole.predict_proba(X).tobytes()


def test_a_smaller_sample_is_said(folder):
    done = run("fit", folder / "csv", "--target", "outcome", "--effort", "fast", "--sample-size", 250, "-o",
               folder / "small.etana")  # fmt: skip
    assert "chosen and judged on 250 of 569 rows" in done.stderr
    assert "counts are those of all rows" in done.stderr
    assert etana.load(folder / "small.etana").best_.counts_.classes.sum() == 569


def test_costs_of_mistakes(folder):
    mistakes = folder / "mistakes.csv"
    mistakes.write_text("true,9,10\n9,0,5\n10,1,0\n")
    options = ("--mistakes", mistakes)
    assert fit(folder, "parquet", *options) == fit(folder, "whole.csv", *options)
    mistakes.write_text("true,9,11\n9,0,5\n11,1,0\n")
    done = run("fit", folder / "parquet", "--target", "outcome", "-o", folder / "no.etana", *options, code=3)
    assert "'11'" in done.stderr
    assert not (folder / "no.etana").exists()


def wrong_folder(tmp_path, files):
    for name, content in files.items():
        if isinstance(content, pd.DataFrame):
            content.to_parquet(tmp_path / name)
        else:
            (tmp_path / name).write_bytes(content)
    return tmp_path


WRONG = [
    ({}, (), "holds no files"),
    ({"a.csv": b"x,y\n1,2\n", "b.txt": b""}, (), "b.txt in it is no part"),
    ({"a.csv": b"x,y\n1,2\n", "b.parquet": pd.DataFrame({"x": [1], "y": [2]})}, (), "both CSV and Parquet"),
    ({"a.csv": b"x,y\n1,2\n", "b.csv": b"x,z,y\n1,2,3\n"}, (), "a.csv has no column 'z'"),
    ({"a.csv": b"x,y\n1,2\n", "b.csv": b""}, (), "b.csv is empty"),
    ({"a.csv": b"x,y\n1,2\n", "b.csv": b"x,y\n\xff\xff,2\n"}, (), "not UTF-8"),
    ({"a.csv": b"x,y\n1,2\n", "b.csv": b"x,y\n1,\n"}, (), "b.csv, line 2: the label in column 'y' is missing"),
    ({"a.csv": b"x,y\n1,2\n"}, ("--target", "w"), "has no column 'w'"),
    ({"a.csv": b"x,y\n"}, (), "no rows"),
    ({"a.parquet": pd.DataFrame({"x": [1], "y": [2]}), "b.parquet": b"PAR1"}, (), "cannot be read as Parquet"),
    (
        {"a.parquet": pd.DataFrame({"x": [1], "y": [2]}), "b.parquet": pd.DataFrame({"x": ["u"], "y": [2]})},
        (),
        "column 'x' holds numbers in",
    ),
    ({"a.csv": b"x,y\n1,2\n"}, ("--engine", "spark"), "engine is 'spark'"),
    ({"a.csv": b"x,y\n1,2\n"}, ("--engine", "memory", "--scheduler", "tcp://x:1"), "take --engine dask"),
    ({"a.csv": b"x,y\n1,2\n"}, ("--scheduler", "nowhere"), "no Dask scheduler answers"),
]


@pytest.mark.parametrize(("files", "options", "message"), WRONG)
def test_folders_that_cannot_be_used(tmp_path, files, options, message):
    parts = tmp_path / "parts"
    parts.mkdir()
    wrong_folder(parts, files)
    output = tmp_path / "m.etana"
    done = run("fit", parts, "--target", "y", "-o", output, *options, code=3)
    assert message in done.stderr
    assert not output.exists()
