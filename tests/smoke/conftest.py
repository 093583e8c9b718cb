"""A project whose sides are trained by a few lines of Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.projects import Project, new_project

DRIVER = Path(__file__).with_name("fake_driver.py")


@dataclass(frozen=True)
class Trained:
    """A project with a section of training runs; `port` are the commits of its port branch, oldest first."""

    project: Project
    port: tuple[str, ...]

    def section(self, scenarios: str = "{plain: []}", extra: str = "") -> None:
        """Write the manifest's section anew."""
        manifest = self.project.write(f"  - {{pick: [{self.project.picks[0]}]}}\n")
        manifest.write_text(
            manifest.read_text() + "parity:\n  packages: []\n  convergence:\n    steps: 3\n"
            f"    driver: fake_driver.py:fit\n    scenarios: {scenarios}\n{extra}"
        )


@pytest.fixture
def trained(tmp_path, monkeypatch) -> Trained:
    """The source trains at rate 0.5; the target at 1, and its port comes to 0.5 in three commits."""
    made = new_project(tmp_path)
    made.repo.commit({"rate.txt": "0.5"}, branch="recipe", message="Set the rate\n")
    made.repo.commit({"rate.txt": "1"}, branch="main", message="A rate of its own\n")
    made.repo.git("branch", "port/x", "main")
    port = [
        made.repo.commit({"rate.txt": "0.7"}, branch="port/x", message="Nearer\n"),
        made.repo.commit({"notes.txt": "why"}, branch="port/x", message="Explain\n"),
        made.repo.commit({"rate.txt": "0.5"}, branch="port/x", message="There\n"),
    ]
    (made.manifest.parent / "fake_driver.py").write_bytes(DRIVER.read_bytes())
    monkeypatch.chdir(tmp_path)
    found = Trained(made, tuple(port))
    found.section()
    return found


Runner = Callable[..., object]
