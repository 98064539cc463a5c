"""LaTeX to MathML, which browsers draw on their own: no script, no font, no network."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from html import unescape

from latex2mathml.converter import convert

# What the converter does not know, or takes for letters.
_IN_ITS_WORDS = {
    r"\arg": r"\mathrm{arg}\,",
    r"\_": "_",
    r"\Big\{": r"\{",
    r"\Big\}": r"\}",
    "∈": r"\in ",
    "≥": r"\ge ",
    "≤": r"\le ",
    "⪰": r"\succeq ",
    "∇": r"\nabla ",
}
_NAMESPACE = "http://www.w3.org/1998/Math/MathML"
_BAR = "\u2015"  # what the converter puts above; no font stretches it over what is below
_LONG = 20  # symbols; formulas in a line that have more may be wider than a telephone

ElementTree.register_namespace("", _NAMESPACE)


def mathml(latex: str, display: str) -> str:
    """Return MathML for a formula; `display` is ``"inline"`` or ``"block"``."""
    latex = " ".join(latex.split())
    for theirs, ours in _IN_ITS_WORDS.items():
        latex = latex.replace(theirs, ours)
    if "&" in latex and r"\begin" not in latex:
        latex = rf"\begin{{align*}}{latex}\end{{align*}}"
    drawn = convert(latex, display=display)
    if "\\" in drawn:
        raise ValueError(f"this formula has a command that cannot be drawn: {latex}")
    drawn = _with_lines_above(drawn)
    drawn = re.sub(r"<mi>(ln|log)</mi>", r'<mi>\1</mi><mspace width="0.167em" />', drawn)
    drawn = re.sub(r"<mi>([Α-Ω])</mi>", r'<mi mathvariant="normal">\1</mi>', drawn)  # capitals stand upright
    return re.sub(  # a prime is high enough as it is
        r"<msup>(<m[ino][^<]*</m[ino]>)<mi>&#x02032;</mi></msup>", r'\1<mo lspace="0" rspace="0">′</mo>', drawn
    )


def _with_lines_above(drawn: str) -> str:
    """Return MathML in which an overline is the upper border of what it stands above, so that it is as wide."""
    if _BAR not in unescape(drawn):
        return drawn
    tree = ElementTree.fromstring(drawn)
    for each in list(tree.iter(f"{{{_NAMESPACE}}}mover")):
        _, above = each
        if above.text == _BAR:
            each.tag = f"{{{_NAMESPACE}}}mrow"
            each.attrib = {"class": "overline"}
            each.remove(above)
    return ElementTree.tostring(tree, encoding="unicode")


def _in_a_line(latex: str) -> str:
    """Return a formula of a line of text; a long one in a box that scrolls where it does not fit."""
    drawn = mathml(latex, "inline")
    symbols = len(re.findall(r"<m[ino][ >]", drawn))
    return f'<span class="long-formula">{drawn}</span>' if symbols > _LONG else drawn


def with_mathml(html: str) -> str:
    """Return a page in which the formulas that Arithmatex has marked are MathML."""
    html = re.sub(
        r'<span class="arithmatex">\\\((.*?)\\\)</span>',
        lambda found: _in_a_line(unescape(found[1])),
        html,
        flags=re.DOTALL,
    )
    return re.sub(
        r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>',
        lambda found: f'<div class="formula">{mathml(unescape(found[1]), "block")}</div>',
        html,
        flags=re.DOTALL,
    )
