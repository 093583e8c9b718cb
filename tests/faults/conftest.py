"""The two sides that faults are put into, as plain folders."""

from __future__ import annotations

import pytest

from parity.capture import Checkout, checkout
from porttool.errors import EnvironmentFault
from porttool.manifest import load
from tests.faults import run


@pytest.fixture(scope="session")
def target(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The ported target, as a plain folder."""
    try:
        return run.ported(load(run.MANIFEST), tmp_path_factory.mktemp("cache"))
    except EnvironmentFault as error:
        pytest.skip(f"{error.message}: {error.hint}")


@pytest.fixture(scope="session")
def source(target: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The source as it is, as a plain folder."""
    side = load(run.MANIFEST).source
    return checkout(load(run.MANIFEST).repo(side), side.ref, "source", tmp_path_factory.mktemp("cache"))
