"""What exported C takes: code and tables of a policy, a whole program for a Cortex-M0, and the memory of a case.

    python benchmarks/exported_size.py           # prints bytes; the rows of the Cortex need arm-none-eabi-gcc

The policy is a fixed order over the 30 columns of the breast cancer set, three bins each, without names, compiled with
-Os. The program asks one case to its end and links what the library has for floating-point numbers and exp.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from sklearn.datasets import load_breast_cancer

import etana

PROGRAM = r"""
#include <math.h>
#include "policy.h"

policy_case one;
volatile policy_real reading;
policy_real belief[POLICY_CLASSES];

int main(void)
{
    policy_start(&one, INFINITY);
    while (policy_next(&one) >= 0)
        policy_observe(&one, reading);
    policy_posterior(&one, belief);
    return policy_label(&one);
}
"""
CORTEX = ("-mcpu=cortex-m0", "-mthumb")


def built(folder: Path, compiler: str, options: tuple[str, ...], *sources: str) -> tuple[int, int]:
    """Bytes of code and tables, and bytes of memory, of what these sources give."""
    command = [compiler, "-std=c99", "-Os", "-DPOLICY_NO_NAMES", *options, *sources, "-o", "out"]
    subprocess.run(command, cwd=folder, check=True)
    size = compiler.replace("gcc", "size")
    out = subprocess.run([size, "out"], cwd=folder, check=True, capture_output=True, text=True).stdout
    code, data, zeroed = (int(n) for n in out.splitlines()[1].split()[:3])
    return code + data, data + zeroed


def memory_of_a_case(folder: Path, compiler: str, options: tuple[str, ...]) -> int:
    """The size of the struct, as the compiler sees it."""
    (folder / "case.c").write_text('#include "policy.h"\npolicy_case one;\n')
    return built(folder, compiler, (*options, "-c"), "case.c")[1]


def main() -> None:
    """A line for each compiler and kind of number."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    clf = etana.ETANAClassifier(binning="quantile", n_bins=3, temperature=1.0).fit(X, y)
    targets: dict[str, tuple[str, tuple[str, ...]]] = {"host": ("gcc", ())}
    if shutil.which("arm-none-eabi-gcc"):
        targets["Cortex-M0"] = "arm-none-eabi-gcc", CORTEX
    for name, (compiler, options) in targets.items():
        for real in ("double", "float"):
            with tempfile.TemporaryDirectory() as made:
                folder = Path(made)
                etana.export(clf, folder / "policy.c", real=real)
                (folder / "main.c").write_text(PROGRAM)
                policy, _ = built(folder, compiler, (*options, "-c"), "policy.c")
                case = memory_of_a_case(folder, compiler, options)
                line = f"{name:10} {real:7} policy {policy:6,} bytes, a case {case} bytes of memory"
                if name != "host":
                    link = (*options, "--specs=nosys.specs", "-Wl,--gc-sections")
                    flash, ram = built(folder, compiler, link, "main.c", "policy.c", "-lm")
                    line += f"; a whole program {flash:6,} bytes of flash, {ram:,} of RAM"
                print(line)


if __name__ == "__main__":
    main()
