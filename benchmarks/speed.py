"""All measurements of speed, one after the other, and the page made of them: docs/speed.md with its pictures.

    make bench                                   # all of it
    python benchmarks/speed.py limits cores      # some parts
    python benchmarks/speed.py --page            # only the page, from results that are there

Parts: limits, news20, fits, growth, cores, solvers, alternatives, selectors, startup, cold. Each is a script that
prints its table and keeps its figures in benchmarks/results. Without the paper's data (--data FOLDER, $ETANA_DATA or
../shared) what needs them is left out.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from bench_tools import HERE

PARTS = {
    "limits": ["limits.py"],
    "news20": ["news20.py"],
    "fits": ["fits.py"],
    "growth": ["growth.py"],
    "cores": ["cores.py"],
    "solvers": ["solvers.py"],
    "alternatives": ["alternatives.py", "--quick"],
    "selectors": ["feature_selectors.py", "--quick"],
    "startup": ["startup.py"],
    "cold": ["cold.py"],
}
NEED_NO_DATA = ("growth", "cores", "cold")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--data", help="folder with the paper's data")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    given = parser.parse_args()
    unknown = set(given.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    for part in () if given.page else given.parts or PARTS:
        print(f"== {part}", flush=True)
        data = ["--data", given.data] if given.data and part not in NEED_NO_DATA else []
        script, *options = PARTS[part]
        subprocess.run([sys.executable, str(HERE / script), *options, *data], check=True)
    subprocess.run([sys.executable, str(HERE / "page.py")], check=True)


if __name__ == "__main__":
    main()
