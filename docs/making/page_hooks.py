"""What happens to each page while the site is built: formulas, pictures, links to notes.

MkDocs calls `on_page_content`.
"""

from __future__ import annotations

import re
import sys
from html import escape
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from maths import with_mathml

DOCS = Path(__file__).resolve().parents[1]


def on_page_content(html: str, *, page: Any, files: Any, **kwargs: Any) -> str:
    """Return the page with MathML, inlined pictures and links where a docstring names a note."""

    def picture(found: re.Match[str]) -> str:
        svg = (DOCS / "pictures" / found["name"]).read_text(encoding="utf-8")
        # In the page itself, so that it takes the page's colours, light or dark; its own serve where it is seen alone.
        svg = re.sub(r"<style>.*?</style>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
        return svg.replace("<svg", f'<svg class="picture" role="img" aria-label="{escape(found["alt"])}"', 1)

    def note(found: re.Match[str]) -> str:
        file = files.get_file_from_path(found["name"])
        return found[0] if file is None else f'<a href="{file.url_relative_to(page.file)}">{found[0]}</a>'

    html = with_mathml(html)
    html = re.sub(r'<img alt="(?P<alt>[^"]*)" src="(?:\.\./)*pictures/(?P<name>[\w-]+\.svg)" ?/?>', picture, html)
    return re.sub(r"<code>docs/(?P<name>[\w-]+\.md)</code>", note, html)
