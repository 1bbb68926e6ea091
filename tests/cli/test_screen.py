import logging

import pytest

from caot.cli.screen import Screen


def test_a_message_is_shown_once_whatever_other_libraries_do_to_logging(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with Screen(quiet=False, as_json=False).listening():
        logging.getLogger("caot.part").info("a word")
    assert capsys.readouterr().err.count("a word") == 1
    assert not caplog.records  # what a handler at the root would show again
    logging.getLogger("caot.part").warning("as before")
    assert [record.message for record in caplog.records] == ["as before"]
