"""The pages hang together: navigation, links, anchors, pictures, code and options."""

import ast
import importlib
import re
import sys
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from caot.cli import app

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
EVERY = [*PAGES, ROOT / "README.md"]
REFERENCE = sorted((DOCS / "reference").glob("*.md"))


def commands_of(group, prefix=""):
    """Return all commands by what a user types, those of groups included."""
    found = {}
    for name, command in group.commands.items():
        inner = getattr(command, "commands", None)
        found |= {f"{prefix}{name}": command} if inner is None else commands_of(command, f"{name} ")
    return found


COMMANDS = commands_of(get_command(app))

FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def by_name(path):
    return str(path.relative_to(ROOT))


def prose(path):
    """Return a page without code and formulas, in which brackets mean other things."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    return re.sub(r"\$\$.*?\$\$|\$[^$\n]+\$|`[^`\n]+`", "", text, flags=re.DOTALL)


def anchors(path):
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    bare = [re.sub(r"[^\w\s-]", "", title).strip().lower() for title in titles]
    return {re.sub(r"[\s-]+", "-", title) for title in bare}


def targets(path):
    """Return what a page links to, and its pictures, unless elsewhere."""
    found = re.findall(r"\]\(([^)\s]+)\)", prose(path))
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def code(path):
    for _, language, block in FENCE.findall(path.read_text(encoding="utf-8")):
        if language == "python":
            lines = block.splitlines()
            indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
            yield "\n".join(line[indent:] for line in lines)


def in_navigation(item):
    if isinstance(item, str):
        return [item]
    children = item.values() if isinstance(item, dict) else item
    return [page for child in children for page in in_navigation(child)]


def test_every_page_is_in_the_navigation_once():
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = in_navigation(settings["nav"])
    assert sorted(listed) == sorted(str(path.relative_to(DOCS)) for path in PAGES)


@pytest.mark.parametrize("page", EVERY, ids=by_name)
def test_what_a_page_links_to_exists(page):
    for target in targets(page):
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.exists(), target
        # The site holds the documentation alone.
        assert page.name == "README.md" or path.is_relative_to(DOCS), target
        assert not anchor or anchor in anchors(path), target


def test_links_are_found_at_all():
    assert "maths.md#transport" in targets(DOCS / "guide.md")
    assert "images/gallery-plans.png" in targets(DOCS / "gallery.md")


@pytest.mark.parametrize("page", EVERY, ids=by_name)
def test_python_in_a_page_can_be_parsed(page):
    for block in code(page):
        ast.parse(block)


@pytest.mark.parametrize("page", EVERY, ids=by_name)
def test_what_python_in_a_page_imports_from_caot_exists(page):
    for block in code(page):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("caot"):
                module = importlib.import_module(node.module)
                assert all(hasattr(module, name.name) for name in node.names), block


@pytest.mark.parametrize("page", REFERENCE, ids=by_name)
def test_every_object_of_the_reference_exists(page):
    names = re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert names
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name


def section(command):
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    return page.split(f"\n## {command}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_command_line_page_lists_the_options_of_a_command(command):
    shown = [option for option in COMMANDS[command].params if not getattr(option, "hidden", False)]
    named = {name for option in shown for name in option.opts if name.startswith("-")}
    rows = re.findall(r"^\| (`-.*?) \|", section(command), re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(-[^`]+)`", row)} == named


@pytest.mark.parametrize("page", EVERY, ids=by_name)
def test_every_command_line_in_a_page_names_options_that_exist(page):
    for _, language, block in FENCE.findall(page.read_text(encoding="utf-8")):
        words = r"caot ((?:bench )?[a-z][\w-]*)([^|&#\n]*)"
        lines = re.findall(words, block) if language == "sh" else []
        for command, rest in lines:
            assert command in COMMANDS, command
            known = {name for option in COMMANDS[command].params for name in option.opts}
            assert set(re.findall(r"(?<=\s)-{1,2}[a-z][\w-]*", rest)) <= known, (command, rest)


def test_readme_is_short_and_quotes_figures_of_the_results():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) < 150
    results = (DOCS / "results.md").read_text(encoding="utf-8")
    quoted = re.findall(r"^\| \S+ \(\d+.*\) \| (.+?) \| (.+?) \|$", readme, re.MULTILINE)
    for column, row in enumerate(("K-means, MiniLM", "CAOT, default, MiniLM, frozen")):
        (line,) = re.findall(rf"^\| {re.escape(row)} \| (.+) \|$", results, re.MULTILINE)[:1]
        figures = [re.sub(r" \(\d\)$", "", figure) for figure in line.split(" | ")]
        assert [pair[column] for pair in quoted] == figures[:8]


def test_readme_links_every_how_to():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs" / "howto").glob("*.md"):
        assert f"(docs/howto/{page.name})" in readme


def test_no_page_installs_from_an_index_that_does_not_have_the_package():
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        assert 'pip install "caot' not in page.read_text(encoding="utf-8"), page


def test_formulas_become_mathml(monkeypatch):
    pytest.importorskip("latex2mathml", reason="the extra docs is not installed")
    monkeypatch.setattr(sys, "path", [str(DOCS), *sys.path])
    hook = importlib.import_module("mathml")
    text = re.sub(r"`[^`\n]+`", "", (DOCS / "maths.md").read_text(encoding="utf-8"))
    formulas = re.findall(r"\$\$(.*?)\$\$", text, re.DOTALL)
    displayed = "".join(map(hook.displayed, formulas))
    numbers = list(map(int, re.findall(r"\\tag\{(\d+)\}", text)))
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    assert list(map(int, re.findall(r'id="eq-(\d+)"', displayed))) == numbers
    within = re.findall(r"\$([^$]+)\$", re.sub(r"\$\$.*?\$\$", "", text, flags=re.DOTALL))
    assert not re.findall(r"\\[a-zA-Z]+", displayed + "".join(map(hook.inline, within)))
    assert 'mathvariant="script"' not in displayed
    page = r'<p>see <span class="arithmatex">\(a \lt b\)</span>, :class:<code>~caot.CAOT</code></p>'
    assert "<math" in hook.on_page_content(page)
    assert "<code>CAOT</code>" in hook.on_page_content(page)


def test_every_method_has_its_row_and_its_reference():
    from caot.baselines import METHODS

    rows = (DOCS / "howto" / "methods.md").read_text(encoding="utf-8")
    reference = (DOCS / "reference" / "baselines.md").read_text(encoding="utf-8")
    for name, method in METHODS.items():
        assert f"| `{name}` | {method.title}" in rows
        assert method.description in rows
        assert f"::: caot.baselines.{method.module}.{method.class_name}\n" in reference
