"""What a first fit costs: with the loops that an installed wheel brings along, and where nothing is compiled, beside
importing scikit-learn's ensembles; and which loops the time goes to.

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

ROOT = Path(__file__).resolve().parent.parent
METHODS = ("etana", "adaptive", "sequential", "committee", "frugal")
IMPORT = "import time, sklearn.ensemble; print(time.process_time())"


def import_ensembles() -> float:
    """Processor seconds of importing scikit-learn's ensembles in a new process; the least of three."""
    command = [sys.executable, "-c", IMPORT]
    return min(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(3))


def install(site: Path) -> float:
    """Build the wheel of this checkout and unpack it into a folder; returns processor seconds of both."""
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--disable-pip-version-check"]
    begun = os.times()
    subprocess.run([*command, "--target", str(site), str(ROOT)], check=True)
    ended = os.times()
    return ended.children_user + ended.children_system - begun.children_user - begun.children_system


def measure(method: str, sources: Path) -> dict:
    """Processor seconds of ``etana fit`` in a new process with an empty cache, in all and by what is compiled."""
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"NUMBA_CACHE_DIR": str(Path(folder) / "loops"), "PYTHONPATH": str(sources)}
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
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder)
        console.print(f"building and unpacking the wheel: {install(site):.0f} processor s")
        for method in given.methods or METHODS:
            found = measure(method, ROOT / "src") | {"installed": measure(method, site), "import": import_ensembles()}
            results[method] = found
            tell(method, found, console, given.most)
    save("cold", results)


def tell(method: str, found: dict, console: Console, most: int) -> None:
    """Both first fits, and the loops of the second."""
    for where, run in (("from a wheel", found["installed"]), ("nothing compiled", found)):
        compiling, times = (sum(loop[k] for loop in run["loops"]) for k in (1, 2))
        console.print(
            f"{method}, {where}: {run['seconds']:.1f} processor s, {compiling:.1f} of them for {times} compilations; "
            f"{run['seconds'] / found['import']:.1f} times importing scikit-learn's ensembles ({found['import']:.2f} s)"
        )
    table = Table("loop", "s", "times")
    for name, seconds, n in found["loops"][:most]:
        table.add_row(name, f"{seconds:.2f}", str(n))
    console.print(table)


if __name__ == "__main__":
    main()
