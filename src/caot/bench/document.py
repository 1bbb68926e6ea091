"""A small document of sections, tables and pictures, written as Markdown or as one HTML page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 100rem; margin: 2rem auto; padding: 0 1rem;
  color: #1c2733; background: #fff; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums;
  display: block; overflow-x: auto; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid #d5dbe1; text-align: right;
  white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
img { max-width: 100%; }
code { background: #eef1f4; padding: .1rem .3rem; border-radius: .2rem; }
@media (prefers-color-scheme: dark) { body { color: #dde4ea; background: #14191f; }
  th, td { border-color: #36404a; } code { background: #242c34; } img { background: #fff; } }
"""


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows; an empty cell means that nothing was run."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """Return the table with its first column to the left, the others to the right."""
        rules = ["---", *("---:" for _ in self.columns[1:])]
        return "\n".join(f"| {' | '.join(row)} |" for row in (self.columns, rules, *self.rows))

    def html(self) -> str:
        """Return the table."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = "\n".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture by its file's name, and what it shows."""

    name: str
    caption: str


@dataclass(frozen=True, slots=True)
class Section:
    """A headline, what is said, and what is shown under it."""

    title: str
    words: Sequence[str] = ()
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = field(default=())


def to_markdown(title: str, words: str, sections: Sequence[Section], images: str) -> str:
    """Return a document as Markdown; ``images`` is where pictures lie, seen from it."""
    parts = [f"# {title}", words.strip()]
    for section in sections:
        parts += [f"## {section.title}", *section.words]
        parts += [table.markdown() for table in section.tables]
        parts += [f"![{p.caption}]({images}/{p.name})" for p in section.pictures]
    return "\n\n".join(part for part in parts if part) + "\n"


def _block(text: str) -> str:
    """Return a headline, a list or a paragraph of Markdown as HTML: as much as words here need."""
    inner = re.sub(r"`(.+?)`", r"<code>\1</code>", escape(text.strip(), quote=False))
    inner = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", inner)
    if inner.startswith("## "):
        return f"<h2>{inner[3:]}</h2>"
    if inner.startswith("- "):
        items = re.split(r"\n- ", inner[2:])
        return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"
    return f"<p>{inner}</p>"


def to_html(title: str, words: str, sections: Sequence[Section], images: str) -> str:
    """Return a document as a page; everything in it is escaped."""
    parts = [f"<h1>{escape(title)}</h1>", *map(_block, words.strip().split("\n\n"))]
    for section in sections:
        parts.append(f"<h2>{escape(section.title)}</h2>")
        parts += map(_block, section.words)
        parts += [table.html() for table in section.tables]
        parts += [
            f'<p><img src="{escape(images)}/{escape(p.name)}" alt="{escape(p.caption)}"></p>'
            for p in section.pictures
        ]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body>\n{body}\n"
        "</body></html>\n"
    )
