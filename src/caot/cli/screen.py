"""Where messages and results go: results to stdout, all else to stderr."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from caot.cli.errors import one_line, visible

_WIDTH = 120  # of results that go to a file or a pipe
# What the library tells Python users; the command line says it in its own words.
_NOT_SHOWN = ("interrupted; fit again",)
_INWARD = ("caot.augment", "caot.encoders")  # information about these helps no user


class Screen:
    """Prints for a person, or one JSON document for a program.

    Parameters
    ----------
    quiet : bool
        Whether only errors are shown.
    as_json : bool
        Whether stdout gets JSON alone.
    """

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet, self.as_json = quiet, as_json
        self.err = Console(stderr=True, highlight=False, soft_wrap=True)
        self._out = Console(highlight=False)
        if not self._out.is_terminal:
            self._out = Console(highlight=False, width=_WIDTH)

    def note(self, message: str) -> None:
        """Tell of something that went as it should."""
        if not self.quiet:
            self.err.print(Text(one_line(message)))

    def warn(self, message: str) -> None:
        """Tell of something that the user should know."""
        if not self.quiet:
            self.err.print(Text.assemble(("warning: ", "yellow"), one_line(message)))

    def show(self, result: RenderableType) -> None:
        """Print a result for a person."""
        if self.quiet or self.as_json:
            return
        if isinstance(result, str):
            self._out.print(Text(visible(result)), soft_wrap=True)
        else:
            self._out.print(result)

    def json(self, document: Any) -> None:  # noqa: ANN401 - any JSON
        """Print a result for a program."""
        if self.as_json:
            typer.echo(json.dumps(document, indent=2, default=str))

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Show what the library logs, from its information on, and what it warns of."""
        logger = logging.getLogger("caot")
        handler, level, propagate = _Handler(self), logger.level, logger.propagate
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False  # other libraries put handlers of their own at the root
        try:
            with warnings.catch_warnings():
                # Those of other libraries are no business of a user's.
                warnings.simplefilter("ignore")
                warnings.filterwarnings("always", module=r"caot(\.|$)")
                warnings.showwarning = _shown_by(self)
                yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagate


def _shown_by(screen: Screen) -> Callable[..., None]:
    def show(message: Warning | str, *_where: object, **_more: object) -> None:
        screen.warn(str(message))

    return show


class _Handler(logging.Handler):
    def __init__(self, screen: Screen) -> None:
        super().__init__(logging.INFO)
        self._screen = screen

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if message.startswith(_NOT_SHOWN):
            return
        if record.levelno >= logging.WARNING:
            self._screen.warn(message)
        elif not record.name.startswith(_INWARD):
            self._screen.note(message)


def make_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """Return a table; columns whose names end in a colon are numbers and stand on the right."""
    table = Table(title=title or None, title_justify="left", header_style="bold")
    for name in columns:
        table.add_column(
            name.rstrip(":"),
            justify="right" if name.endswith(":") else "left",
            no_wrap=name.endswith(":"),
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(one_line(str(cell))) for cell in row))
    return table
