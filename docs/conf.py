"""The documentation site: Markdown pages, a gallery of examples that are run, and a reference from docstrings."""

from __future__ import annotations

from importlib.metadata import version as version_of
from typing import Any, NoReturn

from docutils import nodes
from latex2mathml.converter import convert

project, author, copyright = "powerkmeans", "The powerkmeans developers", "the powerkmeans developers"
version = release = version_of("powerkmeans")
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "conf.py"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

numpydoc_show_class_members = False
autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "powerkmeans"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "powerkmeans"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": [], "start": [], "gallery/index": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
html_math_renderer = "mathml"  # no script from elsewhere: the site works without a network


def _inline(writer: Any, node: nodes.Element) -> NoReturn:
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.Element) -> NoReturn:
    writer.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Formulas as MathML."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
