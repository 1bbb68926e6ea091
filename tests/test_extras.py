"""What a user is told to type to get an extra."""

import json
from importlib import metadata

import pytest

from caot.extras import install_hint


@pytest.fixture
def installed_from(monkeypatch):
    """Let pip have noted where caot came from."""

    def note(content):
        class Installed:
            def read_text(self, name):
                assert name == "direct_url.json"
                return content

        monkeypatch.setattr(metadata, "distribution", lambda _name: Installed())

    return note


@pytest.mark.parametrize(("editable", "option"), [(True, "-e "), (False, "")])
def test_the_folder_that_it_was_installed_from_is_named(editable, option, installed_from, tmp_path):
    folder = tmp_path / "a checkout"
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    noted = {"url": folder.as_uri(), "dir_info": {"editable": editable}}
    installed_from(json.dumps(noted))
    assert install_hint("onnx") == f'pip install {option}"{folder}[onnx]"'


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        "no JSON",
        "[]",
        '{"url": "file:///gone/caot", "dir_info": {}}',
        '{"url": "https://example.org/caot.whl", "archive_info": {}}',
    ],
)
def test_an_unknown_folder_is_written_as_in_the_documentation(content, installed_from):
    installed_from(content)
    assert install_hint("plots") == 'pip install "/path/to/caot[plots]"'


def test_a_package_that_is_not_installed(monkeypatch):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", absent)
    assert install_hint("fast") == 'pip install "/path/to/caot[fast]"'
