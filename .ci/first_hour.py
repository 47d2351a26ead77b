"""A first hour with etana: an empty environment, the wheel, and every command of README and tutorial, literally.

    python .ci/first_hour.py

The repository is only read: commands run in an empty folder, with an empty home, on what the wheel installed. Examples
of the README run before anything but the wheel's own dependencies is there, those of the tutorial with pandas. A first
fit and the demonstration must find their loops compiled in the wheel.
`etana ask` is answered with empty lines. `etana serve` is told a free port, asked whether it is ready, and ended.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 900  # seconds for one command, on a machine that others use too
START = time.monotonic()


class Newcomer:
    """Somebody with an empty environment and an empty folder."""

    def __init__(self, home: Path) -> None:
        self.folder, self.bin = home / "work", home / "venv" / "bin"
        self.folder.mkdir()
        venv.create(home / "venv", with_pip=True)
        leave = ("PYTHONPATH", "VIRTUAL_ENV", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(("ETANA_", *leave))}
        self.env |= {"PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}", "MPLBACKEND": "agg", "COLUMNS": "120"}
        self.env_at_home = self.env | {"HOME": str(home)}

    def install(self, *packages: str) -> None:
        """As ``pip install`` does; the installer's own settings are those of the machine."""
        self.run(
            [self.bin / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages], self.env
        )

    def run(self, command: list | str, env: dict[str, str] | None = None) -> str:
        """Run to the end, and stop everything if it fails; returns what it says beside its results."""
        begun = time.monotonic()
        done = subprocess.run(
            command, shell=isinstance(command, str), cwd=self.folder, env=env or self.env_at_home, input="\n" * 50,
            capture_output=True, encoding="utf-8", timeout=LONGEST,
        )  # fmt: skip
        shown = command if isinstance(command, str) else " ".join(Path(part).name for part in map(str, command))
        print(f"{time.monotonic() - begun:6.1f} s  {shown}", flush=True)
        if done.returncode:
            sys.exit(f"failed with {done.returncode}:\n{done.stdout}\n{done.stderr}")
        return done.stderr

    def run_at_once(self, command: str) -> None:
        """The same, which must find all loops compiled."""
        if "compiling loops" in self.run(command):
            sys.exit(f"{command} compiles loops, which should be in the wheel: add what it does to etana.ahead")

    def serve(self, command: str) -> None:
        """Start a service, wait until it is ready, and end it."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        begun = time.monotonic()
        server = subprocess.Popen(
            [*command.partition("#")[0].split(), "--port", str(port)], cwd=self.folder, env=self.env_at_home,
            executable=self.bin / "etana", stdout=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            while not self._ready(port):
                if server.poll() is not None or time.monotonic() - begun > LONGEST:
                    sys.exit(f"{command} is not ready after {time.monotonic() - begun:.0f} s")
                time.sleep(0.2)
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)
        print(f"{time.monotonic() - begun:6.1f} s  {command}", flush=True)

    @staticmethod
    def _ready(port: int) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def follow(self, page: Path) -> None:
        """Every command of the page's shell blocks, in order."""
        for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
            for line in block.splitlines():
                (self.serve if line.startswith("etana serve") else self.run)(line)


def build(folder: Path) -> Path:
    """The wheel of this checkout."""
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--disable-pip-version-check", str(ROOT)]
    subprocess.run([*command, "-w", str(folder)], check=True)
    return next(folder.glob("etana-*.whl"))


def main() -> None:
    """From the wheel to the end of the tutorial."""
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        wheel = build(home)
        somebody = Newcomer(home)
        somebody.install(str(wheel))
        somebody.run([somebody.bin / "python", "-c", "import importlib.util as u; assert not u.find_spec('pandas')"])
        readme, tutorial = ROOT / "README.md", ROOT / "docs" / "tutorial.md"
        somebody.run_at_once("etana data heart")
        somebody.run_at_once("etana fit heart.csv --target disease -o model.etana")
        somebody.run_at_once("etana demo")
        somebody.run([somebody.bin / "python", "-m", "doctest", readme])
        somebody.install(f"{wheel}[plot,serve]", "pandas")
        somebody.follow(readme)
        somebody.folder = home / "tutorial"
        somebody.folder.mkdir()
        somebody.follow(tutorial)
        somebody.run([somebody.bin / "python", "-m", "doctest", tutorial])
    print(f"a first hour in {time.monotonic() - START:.0f} s")


if __name__ == "__main__":
    main()
