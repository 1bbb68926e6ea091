"""The command line: one file a command, which parses, calls the library and prints.

Nothing here imports torch or pandas before a command runs: ``caot --help`` answers at once.

Exit codes: 0 done; 1 something the user can put right, said in one sentence; 2 the command was
written wrongly; 3 a fault of caot; 130 interrupted, 143 terminated; 141 the reader of a pipe left.
"""

from caot.cli.main import app

__all__ = ["app"]
