"""What goes wrong with a run or its folder, in one sentence with the way out."""


class RunError(ValueError):
    """A run cannot be made, or a folder not used for one; the message says what to do."""
