"""C: no warning, no allocation, small, in double and in float, for the host and for a microcontroller."""

import re
import shutil
import subprocess

import numpy as np
import pytest
import runners
from samples import numbers_of, sample
from sklearn.datasets import load_breast_cancer

import etana
from etana.exporting.c import table_bytes
from etana.exporting.plan import plan_of

ARM = shutil.which("arm-none-eabi-gcc")
CORTEX = ["-mcpu=cortex-m0", "-mthumb"]

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


def compiled(folder, *options, compiler="gcc"):
    """The object file of policy.c, compiled with warnings being errors."""
    command = [compiler, *runners.STRICT, "-Os", *options, "-c", "policy.c", "-o", "policy.o"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return folder / "policy.o"


def sizes(path, size="size"):
    """Bytes of code and tables, of data, and of zeroed memory."""
    out = subprocess.run([size, str(path)], check=True, capture_output=True, text=True, timeout=60).stdout
    return [int(n) for n in out.splitlines()[1].split()[:3]]


def test_a_fixed_order_over_30_features_takes_less_than_4_kb(tmp_path):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    clf = etana.ETANAClassifier(binning="quantile", n_bins=3, temperature=1.0).fit(X, y)
    assert len(plan_of(clf.model_).questions) == 30
    etana.export(clf, tmp_path / "policy.c")
    text, data, zeroed = sizes(compiled(tmp_path, "-DPOLICY_NO_NAMES"))
    assert text < 4096
    assert (data, zeroed) == (0, 0)
    etana.export(clf, tmp_path / "policy.c", real="float")
    assert sizes(compiled(tmp_path, "-DPOLICY_NO_NAMES"))[0] < text - 1000


@pytest.mark.parametrize("real", ["double", "float"])
def test_the_size_that_is_announced_is_that_of_the_tables(real, tmp_path):
    clf, _ = sample("clinic3", "adaptive")
    plan = plan_of(clf.model_)
    etana.export(clf, tmp_path / "policy.c", real=real)
    source = (tmp_path / "policy.c").read_text(encoding="utf-8")
    width = 8 if real == "double" else 4
    # The last tables belong to the names of labels.
    names = source.index("_NO_NAMES")
    tables = re.finditer(r"^static const (real|u?int(\d+)_t) \w+\[(\d+)\]", source, flags=re.M)
    total = sum(int(m[3]) * (width if m[1] == "real" else int(m[2]) // 8) for m in tables if m.start() < names)
    assert total == table_bytes(plan, real)
    assert f"Tables: {total:,} bytes" in source


@pytest.mark.parametrize(("name", "way"), [("breast_cancer", "etana"), ("clinic3", "adaptive"), ("clinic15", "groups")])
def test_float_decides_nearly_all_rows_alike(name, way, tmp_path):
    clf, rows = sample(name, way)
    etana.export(clf, tmp_path / "policy.c", rows=rows, real="float")
    program = tmp_path / "program"
    command = ["gcc", *runners.STRICT, "-O2", "-I", tmp_path, "-o", program, runners.HERE / "main.c"]
    subprocess.run([*map(str, command), str(tmp_path / "policy.c"), "-lm"], check=True, timeout=60)
    given = numbers_of(clf.model_, rows).astype(np.float32).tobytes()
    out = subprocess.run([str(program), "inf"], input=given, check=True, capture_output=True, timeout=60).stdout
    labels = clf.classes_[[int(line.split(b"|")[0]) for line in out.splitlines()]]
    assert (labels == clf.predict(rows)).mean() > 0.98


def test_names_and_levels(tmp_path):
    clf, _ = sample("clinic3", "adaptive")
    etana.export(clf, tmp_path / "policy.c")
    model = clf.model_
    column = model.names.index('a "quoted" name')
    (tmp_path / "names.c").write_text(
        '#include <stdio.h>\n#include "policy.h"\nint main(void)\n{\n'
        f'    printf("%s|%s|%g|%g|%d\\n", policy_classes[1], policy_name({column}), '
        f'policy_level({column}, "</script>"), policy_level({column}, "x"), policy_name(-5) == NULL);\n'
        "    return 0;\n}\n"
    )
    command = ["gcc", *runners.STRICT, "-I", ".", "-o", "names", "names.c", "policy.c", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    out = subprocess.run(["./names"], cwd=tmp_path, check=True, capture_output=True, timeout=60).stdout.decode().strip()
    level = model.levels[column].tolist().index("</script>")
    assert out == f"class 1; -- 'it'|a \"quoted\" name|{level}|inf|1"


def test_a_file_may_have_any_name(tmp_path):
    clf, _ = sample("breast_cancer", "etana")
    written = etana.export(clf, tmp_path / "2nd policy-é.c")
    assert [path.name for path in written] == ["2nd policy-é.c", "2nd policy-é.h"]
    command = ["gcc", *runners.STRICT, "-c", written[0].name, "-o", "out.o"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)


@pytest.mark.skipif(ARM is None, reason="there is no cross compiler for Cortex-M (arm-none-eabi-gcc)")
@pytest.mark.parametrize("real", ["double", "float"])
def test_it_compiles_for_a_microcontroller(real, tmp_path):
    clf, _ = sample("breast_cancer", "etana")
    etana.export(clf, tmp_path / "policy.c", real=real)
    path = compiled(tmp_path, "-DPOLICY_NO_NAMES", *CORTEX, compiler=ARM)
    flash, data, zeroed = sizes(path, "arm-none-eabi-size")
    assert flash < 4096
    assert (data, zeroed) == (0, 0)
