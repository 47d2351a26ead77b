"""A wheel with compiled loops, so that a first fit compiles nothing: `python -m etana.ahead`, when the wheel is built.

The wheel is then one for this Python and this kind of machine. Loops are for the very processor and the version of
Numba that they were compiled with: elsewhere they are not used, and compiled as without them. The wheel without them,
for any machine, is made with `HATCH_BUILD_NO_HOOKS=true`, as a package index wants it, and where compiling fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LONGEST = 1200  # seconds, on a machine that others use too
# By sys.path and not by PYTHONPATH: an isolated build forgets of that what the environment around it points to, as one
# with an editable install of this checkout does.
_AHEAD = "import sys; sys.path.insert(0, sys.argv.pop(1)); from etana.ahead import main; main()"


def compile_loops(root: Path, folder: Path) -> list[Path]:
    """Compile loops of the package at a root, which need not be installed, into a folder; returns the files."""
    command = [sys.executable, "-c", _AHEAD, str(root / "src"), str(folder)]
    env = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(
        command, cwd=folder, env=env, capture_output=True, encoding="utf-8", check=True, timeout=LONGEST
    )  # fmt: skip
    files = sorted(folder.glob("*.nbc"))
    if not files:
        raise OSError("nothing was compiled")
    return files


class CompiledLoops(BuildHookInterface):
    """Puts compiled loops into a wheel."""

    def dependencies(self) -> list[str]:
        """What the package needs: it is run."""
        return list(self.metadata.core.dependencies)

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the wheel is made; one that only points to a checkout stays as it is."""
        if version != "standard":
            return
        self._folder = tempfile.TemporaryDirectory(prefix="etana-loops-")
        try:
            files = compile_loops(Path(self.root), Path(self._folder.name))
        except (OSError, subprocess.SubprocessError) as error:
            reason = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1]
            self.app.display_warning(f"a wheel without compiled loops, which a first fit will compile: {reason}")
            return
        for file in files:
            build_data["force_include"][str(file)] = f"etana/kernels/_compiled/{file.name}"
        build_data |= {"pure_python": False, "infer_tag": True}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called when the wheel is there."""
        if version == "standard":
            self._folder.cleanup()
