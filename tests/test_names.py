"""A name means one thing: no two public classes of the package share one."""

import ast
from collections import Counter
from pathlib import Path

import etana

# Names that still stand for two things, one of them in the service.
SHARED = {"Problem", "Step"}


def test_no_two_classes_share_a_name():
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in Path(etana.__file__).parent.rglob("*.py")]
    names = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert {name for name, n in names.items() if n > 1 and not name.startswith("_")} <= SHARED
