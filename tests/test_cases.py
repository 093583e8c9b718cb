"""Every Markdown case under tests/cases, byte for byte, and back again."""

from __future__ import annotations

import pytest

from tests.support.cases import CASES, Case, check_case, read_cases, update_file

FILES = sorted(CASES.glob("*/*.md"))
CASES_READ = [case for file in FILES for case in read_cases(file)]


@pytest.mark.parametrize("case", CASES_READ, ids=str)
def test_case(case: Case, request: pytest.FixtureRequest) -> None:
    """T gives exactly the new side, and its inverse exactly the old side."""
    if request.config.getoption("--update-cases"):
        update_file(case.file)
        pytest.skip("rewritten")
    check_case(case)
