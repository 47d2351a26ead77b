"""The core of the tests with the oldest and with the newest of every dependency, for each Python that is installed.

    python .ci/test_versions.py [oldest] [newest] [3.11 3.12 3.13 3.14]

Bounds are read from pyproject.toml: oldest is the least version that a requirement allows. Environments are kept
in .venv-versions and used again as long as the requirements are the same.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# What the core of the tests uses besides the package's own dependencies.
TESTED_WITH = ("pytest", "hypothesis", "pandas", "polars", "pyarrow", "safetensors", "matplotlib")
CORE = (
    "tests/test_common.py", "tests/test_classifiers.py", "tests/test_table.py", "tests/test_costs.py",
    "tests/test_data_command.py", "tests/test_compiling.py",
)  # fmt: skip
# The first versions that were built for a Python that is younger than our least ones.
FIRST_FOR = {
    "3.13": {"numpy": "2.1", "scipy": "1.14.1", "pandas": "2.2.3"},
    "3.14": {
        "numpy": "2.3.2", "scipy": "1.16.1", "scikit-learn": "1.7.2", "numba": "0.63", "pandas": "2.3.3",
        "pyarrow": "22", "matplotlib": "3.10.5",
    },
}  # fmt: skip


def requirements() -> list[str]:
    """The package's own, and those of its tests that the core needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tests = project["optional-dependencies"]["test"]
    return [*project["dependencies"], *(line for line in tests if _name(line) in TESTED_WITH)]


def _name(requirement: str) -> str:
    return re.split(r"[\[<>=!~ ]", requirement, maxsplit=1)[0]


def oldest(requirement: str, python: str) -> str:
    """The least version that a requirement allows and that this Python has."""
    name = _name(requirement)
    found = re.search(r">=([\d.]+)", requirement)
    if found is None:
        raise SystemExit(f"{requirement!r} in pyproject.toml has no least version; give it one")
    least = FIRST_FOR.get(python, {}).get(name, found[1])
    return f"{name}=={least}" if least.count(".") > 1 else f"{name}=={least}.*"


def environment(command: str, python: str, age: str) -> Path:
    """A virtual environment with these versions; returns its interpreter."""
    wanted = [oldest(line, python) if age == "oldest" else line for line in requirements()]
    folder = ROOT / ".venv-versions" / f"{python}-{age}"
    stamp, interpreter = folder / "requirements.txt", folder / "bin" / "python"
    if not stamp.is_file() or stamp.read_text() != "\n".join(wanted):
        subprocess.run([command, "-m", "venv", "--clear", str(folder)], check=True)
        install = [str(interpreter), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--upgrade"]
        subprocess.run([*install, *wanted], check=True)
        stamp.write_text("\n".join(wanted))
    return interpreter


def installed(python: str) -> str | None:
    """An interpreter of this version that runs, and not only a shim of its name; also one that pyenv keeps."""
    kept = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    for command in (f"python{python}", *map(str, sorted(kept.glob(f"{python}.*/bin/python")))):
        try:
            if subprocess.run([command, "-c", ""], capture_output=True).returncode == 0:
                return command
        except OSError:
            continue
    return None


def main(given: list[str]) -> int:
    """Run what was asked for, or all; returns the number of environments in which a test failed."""
    ages = [age for age in ("oldest", "newest") if age in given] or ["oldest", "newest"]
    failed = 0
    for python in [version for version in PYTHONS if version in given] or PYTHONS:
        command = installed(python)
        if command is None:
            print(f"==> Python {python} is not installed", flush=True)
            continue
        for age in ages:
            print(f"==> Python {python}, the {age} of every dependency", flush=True)
            interpreter = environment(command, python, age)
            env = os.environ | {"PYTHONPATH": "src", "NUMBA_CACHE_DIR": str(interpreter.parent.parent / "loops")}
            failed += subprocess.run([interpreter, "-m", "pytest", "-q", *CORE], cwd=ROOT, env=env).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
