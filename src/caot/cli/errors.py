"""What a user sees when something goes wrong: one sentence on stderr, and an exit code."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import typer

from caot.runs.options import OPTIONS

USER_ERROR, FAULT, INTERRUPTED, CLOSED_PIPE, TERMINATED = 1, 3, 130, 141, 143

_FULL = (errno.ENOSPC, errno.EDQUOT)
_OPTIONS = {**OPTIONS, "k_values": "--values"}
_PARAMETER = re.compile(rf"^({'|'.join(_OPTIONS)})(?= must | is |=)")
_EXPECTED = (ValueError, OSError)


class Terminated(KeyboardInterrupt):
    """The process was asked to end; what Ctrl-C saves is saved."""


@contextmanager
def guarded() -> Iterator[None]:
    """Turn what is raised into a sentence and an exit code; CAOT_DEBUG=1 shows tracebacks."""
    try:
        with _terminable():
            yield
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except BrokenPipeError:
        _leave_stdout()
        raise typer.Exit(CLOSED_PIPE) from None
    except KeyboardInterrupt as error:
        _say(str(error) or "interrupted")
        code = TERMINATED if isinstance(error, Terminated) else INTERRUPTED
        raise typer.Exit(code) from None
    except Exception as error:
        if os.environ.get("CAOT_DEBUG"):
            raise
        sentence, code = explained(error)
        _say(f"error: {sentence}")
        for note in getattr(error, "__notes__", ()):
            _say(note)
        raise typer.Exit(code) from None


def explained(error: Exception) -> tuple[str, int]:
    """Return the sentence that tells of an error, and the exit code."""
    if _is_full(error):
        name = getattr(error, "filename", None)
        place = f", {name} was not written" if name else ""
        return f"the disk is full{place}: free space, or write elsewhere with -o", USER_ERROR
    if isinstance(error, MemoryError) or _is_torchs_memory(error):
        return "there is not enough memory: use fewer texts, or a smaller --max-length", USER_ERROR
    if isinstance(error, PermissionError) and error.filename is not None:
        return f"{error.filename} may not be used: check its permissions", USER_ERROR
    if isinstance(error, FileNotFoundError) and error.filename is not None:
        return f"there is no file {error.filename}: check the path", USER_ERROR
    sentence = with_options(one_line(str(error)))
    if sentence and (isinstance(error, _EXPECTED) or _is_ours(error)):
        return sentence, USER_ERROR
    what = f"{type(error).__name__}: {sentence}" if sentence else type(error).__name__
    return f"a fault of caot ({what}): run again with CAOT_DEBUG=1 and report what it shows", FAULT


def with_options(sentence: str) -> str:
    """Return a sentence about a parameter of Python with the name of its option."""
    named = _PARAMETER.sub(lambda match: _OPTIONS[match[0]], sentence)
    return named if named == sentence else named.replace("must be None or", "must be", 1)


def one_line(text: str) -> str:
    """Return a text on one line, with nothing in it that a terminal would obey."""
    return visible(" ".join(text.split()))


def visible(text: str) -> str:
    """Return a text with U+FFFD for what cannot be seen, such as a terminal's commands."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def _is_ours(error: Exception) -> bool:
    """Tell whether an error is of a class of caot's own, whose messages are for users."""
    return any(kind.__module__.partition(".")[0] == "caot" for kind in type(error).__mro__)


def _is_full(error: Exception) -> bool:
    # safetensors tells of a full disk by words alone.
    if "No space left on device" in str(error):
        return True
    return isinstance(error, OSError) and error.errno in _FULL


def _is_torchs_memory(error: Exception) -> bool:
    # torch is not imported here; on the CPU it tells by words alone.
    return isinstance(error, RuntimeError) and (
        type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error)
    )


def _say(sentence: str) -> None:
    typer.echo(one_line(sentence), err=True)


def _leave_stdout() -> None:
    """Let Python's last flush go nowhere instead of failing again."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # no real file behind it
        return


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end the work as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise Terminated
