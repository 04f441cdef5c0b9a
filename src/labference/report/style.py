"""The style of our pages, for whoever writes another one."""

from __future__ import annotations

from importlib import resources


def css() -> str:
    """Return the style sheet of the report page: colours for light and dark, headings, tables, lists, timelines."""
    return resources.files("labference.report").joinpath("templates", "page.css").read_text(encoding="utf-8")
