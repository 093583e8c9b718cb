"""The same captures as tasks of a Ray cluster; its nodes need the trainer stack, not our files."""

from __future__ import annotations

import io
import shutil
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parity.capture import Checkout, Stack
from parity.knobs import Capturer
from parity.record import Capture, from_json
from parity.scenario import Job
from porttool.errors import EnvironmentFault

ROOT = Path(__file__).resolve().parent.parent.parent


def on_ray(address: str, layout: str) -> Capturer:
    """A capturer whose rows are tasks of the cluster at an address. Raises EnvironmentFault where nobody answers."""
    import ray
    from ray.exceptions import RayError

    try:
        with tempfile.TemporaryDirectory() as ours:
            # One folder, as on our path: a worker process finds both packages beside each other.
            for name in ("parity", "porttool"):
                shutil.copytree(ROOT / name, Path(ours) / name, ignore=shutil.ignore_patterns("__pycache__"))
            ray.init(address=address, runtime_env={"working_dir": ours}, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, RayError, RuntimeError, ValueError) as error:
        raise EnvironmentFault(f"Ray does not answer: {error}", address, "start it, or leave out --ray") from error

    def run(wanted: Sequence[tuple[Checkout, Sequence[Job]]], stack: Stack) -> list[list[Capture]]:
        packed = {side.tree: ray.put(_packed(side.folder)) for side, _ in wanted}
        task = ray.remote(num_cpus=1)(captured_there)
        told = [
            task.remote(
                packed[side.tree], side.side, side.ref, side.commit, side.tree, [job.to_json() for job in jobs], layout
            )
            for side, jobs in wanted
        ]
        try:
            return [[from_json(text) for text in row] for row in ray.get(told)]
        except RayError as error:
            lines = str(error).strip().splitlines()
            raise EnvironmentFault(
                f"a task failed: {lines[-1]}", address, "the nodes need porttool[parity]"
            ) from error
        finally:
            ray.shutdown()

    return run


def captured_there(packed: bytes, side: str, ref: str, commit: str, tree: str, jobs: list[str], layout: str) -> Any:
    """Runs on a node: unpack the tree once, then capture as on any machine."""
    from parity.capture import Checkout, capture, stack
    from parity.record import to_json
    from parity.scenario import job_from_json

    cache = Path(tempfile.gettempdir()) / "porttool-parity"
    folder = cache / "trees" / tree
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as partial:
            with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
                archive.extractall(f"{partial}/tree", filter="data")
            try:
                Path(f"{partial}/tree").rename(folder)
            except OSError:  # another task was first
                if not folder.is_dir():
                    raise
    there = Checkout(side, ref, commit, tree, folder)
    rows = capture([(there, [job_from_json(text) for text in jobs])], stack(), cache, layout=layout)
    return [to_json(one) for one in rows[0]]


def _packed(folder: Path) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for file in sorted(folder.rglob("*")):
            if "__pycache__" not in file.parts:
                archive.add(file, file.relative_to(folder).as_posix(), recursive=False)
    return made.getvalue()
