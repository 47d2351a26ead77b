"""Sphinx settings. ``make docs`` draws the pictures, builds the pages, and fails on any warning."""

import etana

project = "etana"
author = "The etana developers"
copyright = "The etana developers"
version = release = etana.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "conftest.py"]
nitpicky = False
myst_heading_anchors = 3

html_theme = "alabaster"
html_theme_options = {
    "description": "Classification with only the features that pay",
    "fixed_sidebar": True,
    "page_width": "1080px",
}
html_show_sphinx = False

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {
    "members": True,
    "inherited-members": False,
    "show-inheritance": False,
    # scikit-learn's metadata routing, documented there.
    "exclude-members": "set_fit_request, set_partial_fit_request, set_score_request, set_transform_request",
}
napoleon_google_docstring = False
napoleon_use_rtype = False
