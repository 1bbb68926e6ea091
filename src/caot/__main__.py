"""``python -m caot``: the command line."""

from caot.cli import app

if __name__ == "__main__":
    app(prog_name="caot")
