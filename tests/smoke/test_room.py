"""How many runs there is room for: by cores, and by the memory that machine and container have left."""

from __future__ import annotations

import pytest

from parity.smoke import room


@pytest.fixture
def machine(monkeypatch):
    """A machine of so many cores and free bytes."""

    def of(cores: int, free: int) -> int:
        monkeypatch.setattr(room, "cores", lambda: cores)
        monkeypatch.setattr(room, "available", lambda: free)
        return room.room()

    return of


def test_one_a_core_as_memory_allows(machine):
    """Whichever is scarcer; never none."""
    assert machine(2, 100 << 30) == 2
    assert machine(8, 13 << 30) == 3
    assert machine(8, 1 << 20) == 1


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({"memory.max": "max", "memory.current": "5"}, None),
        ({"memory.max": "1000", "memory.current": "400"}, 600),
        ({"memory.max": "1000", "memory.current": "400", "memory.stat": "anon 1\ninactive_file 100\n"}, 700),
        ({"memory/memory.limit_in_bytes": "900", "memory/memory.usage_in_bytes": "400"}, 500),
    ],
)
def test_a_container_counts(monkeypatch, tmp_path, files, free):
    """A limit of the container's, in either form; what is cached can be had back."""
    monkeypatch.setattr(room, "_GROUP", tmp_path)
    machine = room.available()
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert room.available() == free if free is not None else abs(room.available() - machine) < 2 << 30
