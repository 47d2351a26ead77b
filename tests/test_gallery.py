"""The gallery shows every picture there is."""

from etana import plots
from reference import ROOT


def test_every_display_has_a_picture_made_by_its_code():
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    for name in plots.__all__:
        if name.endswith("Display"):
            assert f"display = plots.{name}." in page, name
    assert page.count(">>> display =") == page.count("](_pictures/gallery-")
