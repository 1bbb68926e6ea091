"""A hook of mkdocs: formulas become MathML, which browsers draw without scripts or fonts."""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

# What pymdownx.arithmatex leaves in a page: \(inline\) and \[displayed\].
_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_DISPLAYED = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', re.DOTALL)
_TAG = re.compile(r"\\tag\{(\d+)\}")
# A command that the converter lacks, and styles that browsers ignore.
_REPLACED = {
    r"\arg": r"\operatorname{arg}",
    r"\mathbf 1": "𝟏",
    r"\mathcal B": "ℬ",
    r"\mathcal H": "ℋ",
    r"\mathcal R": "ℛ",
}
# Functions without brackets, which stand apart from their argument.
_FUNCTION = re.compile(r"\\(?:log|sinh)(?=\s*[a-zA-Z\\])")
# Docstrings name other objects as Sphinx does.
_ROLE = re.compile(r":(?:class|func|meth|mod):<code>~?(?:[\w.]+\.)?(\w+)</code>")


def on_page_content(content: str, **_: object) -> str:
    """Return the page with MathML for its formulas; equation 1 has the anchor ``eq-1``."""
    content = _DISPLAYED.sub(lambda found: displayed(html.unescape(found[1])), content)
    content = _INLINE.sub(lambda found: inline(html.unescape(found[1])), content)
    return _ROLE.sub(r"<code>\1</code>", content)


def inline(latex: str) -> str:
    """Return a formula within a line."""
    return str(convert(_known(latex)))


def displayed(latex: str) -> str:
    """Return a formula of its own, with its number at the right if it has one."""
    number = _TAG.search(latex)
    formula = f"<div>{convert(_known(_TAG.sub('', latex)), display='block')}</div>"
    if number is None:
        return f'<div class="equation">{formula}</div>'
    name = number[1]
    return f'<div class="equation" id="eq-{name}">{formula}<span>({name})</span></div>'


def _known(latex: str) -> str:
    """Return the formula in the words of the converter, and of MathML as browsers know it."""
    for ours, theirs in _REPLACED.items():
        latex = latex.replace(ours, theirs)
    return _FUNCTION.sub(r"\g<0>\\,", latex.strip())
