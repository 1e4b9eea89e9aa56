"""Sphinx's configuration of both trees; `docs/site/build.py` chooses the one: `make docs`."""

import os
import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "site"))
os.environ.setdefault("KERAS_BACKEND", "torch")  # which is always there

project = "Headway"
author = "Headway"
copyright = "Headway"
html_title = "Headway"

# Of this repository.
extensions = [
    "code_state",
    "contents",
    "evaluated",
    "explorer_frame",
    "catalog_table",
    "korean_search",
    "languages",
    "formulas",
    "public_names",
]
# Of others; ours rewrite a page before MyST-NB reads it.
extensions += ["myst_nb", "sphinx.ext.autodoc"]

source_suffix = {".md": "myst-nb"}
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_url_schemes = {
    "http": None,
    "https": None,
    "mailto": None,
    # A page of the other language, beside this tree.
    "site": "{{path}}",
}

nb_execution_mode = "cache"
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_execution_show_tb = True
nb_merge_streams = True

html_math_renderer = "mathml"
html_theme = "furo"
html_static_path = ["site/static"]
templates_path = ["site/templates"]
html_css_files = ["headway.css"]
html_js_files = [("headway.js", {"defer": "defer"})]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {"top_of_page_buttons": []}
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "languages.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}

nitpicky = True
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_inherit_docstrings = False
