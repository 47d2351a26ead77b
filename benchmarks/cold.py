"""What a first fit costs where nothing is compiled yet, beside importing scikit-learn's ensembles, and which loops the
time goes to.

python benchmarks/cold.py [METHOD ...] [--most 10]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench_tools import save

METHODS = ("etana", "adaptive", "sequential", "committee", "frugal")
IMPORT = "import time, sklearn.ensemble; print(time.process_time())"


def import_ensembles() -> float:
    """Processor seconds of importing scikit-learn's ensembles in a new process; the least of three."""
    command = [sys.executable, "-c", IMPORT]
    return min(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(3))


def measure(method: str) -> dict:
    """Processor seconds of ``etana fit`` in a new process with an empty cache, in all and by what is compiled."""
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"NUMBA_CACHE_DIR": str(Path(folder) / "loops")}
        command = [sys.executable, __file__, "--inside", method]
        done = subprocess.run(command, cwd=folder, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def inside(method: str) -> None:
    """The fit itself; the last line printed is what was measured."""
    from numba.core import event

    from etana.cli import app
    from etana.commands.data import write_data

    own, times, running = Counter(), Counter(), []

    class Listener(event.Listener):
        def on_start(self, event):
            running.append([event.data["dispatcher"].py_func, time.process_time(), 0.0])

        def on_end(self, event):
            function, begun, of_others = running.pop()
            name, spent = f"{function.__module__}.{function.__name__}", time.process_time() - begun
            own[name] += spent - of_others
            times[name] += 1
            if running:
                running[-1][2] += spent

    event.register("numba:compile", Listener())
    write_data("heart", ".")
    app(["fit", "heart.csv", "--target", "disease", "--method", method], standalone_mode=False)
    loops = [(name, seconds, times[name]) for name, seconds in own.most_common()]
    print(json.dumps({"seconds": time.process_time(), "loops": loops}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*")
    parser.add_argument("--most", type=int, default=10)
    parser.add_argument("--inside")
    given = parser.parse_args()
    if given.inside:
        inside(given.inside)
        return
    console, results = Console(width=120), {}
    for method in given.methods or METHODS:
        found = results[method] = measure(method) | {"import": import_ensembles()}
        compiling, times = (sum(loop[k] for loop in found["loops"]) for k in (1, 2))
        ratio = found["seconds"] / found["import"]
        console.print(
            f"{method}: {found['seconds']:.1f} processor s, {compiling:.1f} of them for {times} compilations; "
            f"{ratio:.1f} times importing scikit-learn's ensembles ({found['import']:.2f} s)"
        )
        table = Table("loop", "s", "times")
        for name, seconds, n in found["loops"][: given.most]:
            table.add_row(name, f"{seconds:.2f}", str(n))
        console.print(table)
    save("cold", results)


if __name__ == "__main__":
    main()
