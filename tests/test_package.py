"""The files around the code agree with one another."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import caot

ROOT = Path(__file__).resolve().parents[1]


def pinned_versions() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pins}


def declared_requirements() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    return sorted({*project["dependencies"], *(name for extra in extras for name in extra)})


@pytest.mark.parametrize("requirement", declared_requirements())
def test_every_requirement_is_pinned_inside_its_range(requirement):
    wanted = Requirement(requirement)
    assert pinned_versions()[canonicalize_name(wanted.name)] in wanted.specifier


def test_pins_carry_no_local_version():
    assert not [version for version in pinned_versions().values() if "+" in version]


def test_citation_names_the_version_of_the_package():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", citation, re.MULTILINE).group(1) == caot.__version__


def test_make_installs_every_extra_that_tests_use():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    installed = re.search(r"^EXTRAS := (.+)$", makefile, re.MULTILINE).group(1).split(",")
    # The rest is installed by the commands that need it: make docs, make bench-speed.
    assert {*installed, "docs", "rivals"} == set(project["optional-dependencies"])
