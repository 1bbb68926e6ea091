"""Bytes to lines of text, with the place of the first byte that is not text."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator

from caot.io.errors import TableError
from caot.io.streams import Bytes

_UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def check_encoding(encoding: str) -> None:
    """Raise if there is no such encoding of text."""
    try:
        known = "a".encode(encoding).decode(encoding) == "a"
    except (LookupError, ValueError):
        known = False
    if not known:
        msg = f"{encoding!r} is not an encoding: use for example utf-8, utf-16, cp1252 or latin-1"
        raise TableError(msg)


def decoded_lines(source: Bytes, encoding: str, *, newline: str = "\n") -> Iterator[str]:
    r"""Yield the lines with their ends, whatever their length.

    ``newline`` is ``"\n"``, or ``""`` for lines that may end in ``\r``, ``\n`` or ``\r\n``.
    """
    pending: list[str] = []
    for text in _decoded_blocks(source, encoding):
        if "\n" not in text and (newline == "\n" or "\r" not in text):
            pending.append(text)  # joined once, so that a very long line takes linear time
            continue
        *lines, last = io.StringIO("".join([*pending, text]), newline=newline)
        pending = []
        if last.endswith("\n"):
            yield from [*lines, last]
        else:
            yield from lines
            pending.append(last)  # also a last "\r", whose "\n" may come with the next block
    rest = "".join(pending)
    if rest:
        yield from io.StringIO(rest, newline=newline)


def _decoded_blocks(source: Bytes, encoding: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)()
    n_bytes, n_lines, first = 0, 0, True
    while True:
        block = source.read()
        n_bytes += len(block)
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            raise _not_text(source, encoding, error, n_bytes, n_lines) from error
        n_lines += text.count("\n")
        if text:
            yield text.removeprefix("\ufeff") if first else text
            first = False
        if not block:
            return


def _not_text(
    source: Bytes, encoding: str, error: UnicodeDecodeError, n_bytes: int, n_lines: int
) -> TableError:
    before = error.object[: error.start].decode(encoding, "replace").count("\n")
    wrong = error.object[error.start : error.start + 1].hex()
    place = n_bytes - len(error.object) + error.start
    likely = "utf-16" if source.head.startswith(_UTF_16_MARKS) else "cp1252"
    if likely == codecs.lookup(encoding).name:
        likely = "latin-1"
    return TableError(
        f"{source.name} is not {encoding}: line {n_lines + before + 1} (byte {place + 1}, "
        f"0x{wrong}) cannot be decoded; name its encoding, for example --encoding {likely}"
    )
