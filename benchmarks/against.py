"""This checkout against another commit: the same jobs in turns, as ratios of processor time.

    python benchmarks/against.py COMMIT [--rounds 5] [--only WORDS ...]

The other commit is checked out into a temporary folder. Each round starts a process for either and runs all jobs in it,
each several times; what is compared is the least processor time of a job over all rounds. Jobs use public names only,
so that they run on both. Machines are noisy: a ratio that matters is one that comes out again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
LEAST_SECONDS = 0.15  # a job is repeated until it has taken so long


def jobs():
    """Name and function of each job; what a job needs is made before it is timed."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer, load_digits, load_wine

    import etana
    from etana.modelfile import load_model

    cancer, digits, wine = (load(return_X_y=True) for load in (load_breast_cancer, load_digits, load_wine))
    rng = np.random.default_rng(0)
    y2, y10 = rng.integers(0, 2, 100_000), rng.integers(0, 10, 50_000)
    made2 = rng.normal(size=(100_000, 30)) + 0.5 * y2[:, None]
    made10 = rng.normal(size=(50_000, 30)) + 0.3 * (y10[:, None] * np.arange(30) % 7)
    named = {"breast cancer": cancer, "digits": digits, "wine": wine, "made, 2 classes": (made2, y2)}
    named["made, 10 classes"] = (made10, y10)
    makers = {
        "etana": lambda: etana.ETANAClassifier(),
        "adaptive": lambda: etana.AdaptiveClassifier(m=10.0, look_ahead=False),
        "adaptive, looking ahead": lambda: etana.AdaptiveClassifier(m=10.0, look_ahead=2),
        "sequential": lambda: etana.SequentialClassifier(max_features=8),
    }
    plan = {
        "etana": named,
        "adaptive": {"digits": digits, "breast cancer": cancer},
        "adaptive, looking ahead": {"wine": wine},
        "sequential": {"digits": digits, "breast cancer": cancer},
    }
    folder = tempfile.mkdtemp()
    for method, sets in plan.items():
        for name, (X, y) in sets.items():
            clf = makers[method]().fit(X, y)
            yield f"{method}, {name}: fit", lambda m=method, X=X, y=y: makers[m]().fit(X, y)
            yield f"{method}, {name}: classify", lambda c=clf, X=X: c.acquire(X)
            if len(X) > 2000:
                continue
            yield f"{method}, {name}: one row", lambda c=clf, X=X: c.acquire(X[:1])
            yield f"{method}, {name}: one case", lambda c=clf, X=X: c.ask(lambda k, row=X[0]: row[k])
            yield f"{method}, {name}: explain", lambda c=clf: c.start().explain()
            yield f"{method}, {name}: new prices", lambda c=clf: c.with_costs(feature_costs=0.02)
            path = f"{folder}/{abs(hash((method, name)))}.etana"
            yield f"{method}, {name}: save", lambda c=clf, path=path: etana.save(c, path)
            etana.save(clf, path)
            yield f"{method}, {name}: load and classify", lambda path=path, X=X: load_model(path).acquire(X)


def measure(only: list[str]) -> None:
    """Least processor seconds of each job, as JSON."""
    found = {}
    for name, job in jobs():
        if only and not any(word in name for word in only):
            continue
        job()
        best, begin = float("inf"), time.perf_counter()
        while time.perf_counter() - begin < LEAST_SECONDS or best == float("inf"):
            start = time.process_time()
            job()
            best = min(best, time.process_time() - start)
        found[name] = best
    json.dump(found, sys.stdout)


def run(folder: Path, only: list[str]) -> dict[str, float]:
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--measure", *(["--only", *only] if only else [])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the jobs failed in {folder}:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", nargs="?", default="HEAD~1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.only)
        return
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "other"
        subprocess.run(["git", "worktree", "add", "-q", "--detach", other, given.commit], cwd=HERE, check=True)
        try:
            for tree in (other, HERE):
                run(tree, given.only)  # compiles
            rounds = [(run(other, given.only), run(HERE, given.only)) for _ in range(given.rounds)]
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", other], cwd=HERE, check=True)
    print(f"| job | {given.commit}, ms | now, ms | ratio |\n|---|---|---|---|")
    for name in rounds[0][1]:
        before = min(one[0].get(name, float("inf")) for one in rounds)
        now = min(one[1][name] for one in rounds)
        print(f"| {name} | {1e3 * before:.3g} | {1e3 * now:.3g} | {now / before:.2f} |")


if __name__ == "__main__":
    main()
