"""One training run in a process of its own: `python child.py ORDER`, the side's tree first on the path.

It writes `steps.jsonl` while it runs and `series.json` at its end, also where the run crashed, below `order.out`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from pathlib import Path
from types import FrameType, TracebackType

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CRASH_LINES = 12


def main(order_file: str) -> int:
    """Run an order under a guard. Status 0 for a finished run, 1 for a crashed one; else what ended it."""
    from parity.smoke.guard import guarded

    return guarded(Path(order_file).resolve().parent, lambda: work(order_file))


def work(order_file: str) -> int:
    """The run itself, in this process."""
    from dataclasses import replace

    from parity.driver import load
    from parity.smoke import series
    from parity.smoke.order import from_json
    from porttool.report import counted

    signal.signal(signal.SIGTERM, _end)
    order = from_json(Path(order_file).read_text(encoding="utf-8"))
    # A folder that is not the tree may hold a package of the same name; the harness comes right after it.
    sys.path[:] = [order.tree, str(ROOT), *(entry for entry in sys.path if entry != str(ROOT))]
    for folder in (order.out, order.scratch):
        os.makedirs(folder, exist_ok=True)
    job = json.loads(order.job)
    writer = series.Writer(Path(order.out))
    about = series.Series(job["scenario"], job["side"], order.seed, order.provenance, (), {})
    with _Crash() as crash:
        validation = load(order.driver)(order, writer)
        if writer.count != order.steps:
            # Both sides may stop early alike: that is no match of what was asked for.
            raise ValueError(f"the driver made {counted(writer.count, 'step')}, and was asked for {order.steps}")
        writer.done(about, validation)
    if crash.lines:
        steps = tuple(series.steps_so_far(Path(order.out)))
        series.write(replace(about, steps=steps, crashed=crash.lines), Path(order.out) / "series.json")
    return 1 if crash.lines else 0


def _end(number: int, frame: FrameType | None) -> None:
    """Being asked to end is an exit like any other: what the driver wants to clean up, it does."""
    raise SystemExit(128 + number)


class _Crash:
    """Keeps the last lines of what ends a run: a side that cannot run is an answer for the report, not our fault."""

    lines = ""

    def __enter__(self) -> _Crash:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if kind is None or not issubclass(kind, (Exception, SystemExit)):
            return False
        told = "".join(traceback.format_exception(kind, error, trace))
        sys.stderr.write(told)
        self.lines = "\n".join(told.strip().splitlines()[-CRASH_LINES:])
        return True


if __name__ == "__main__":
    # The folder of this script must not shadow a package, here or in a worker that is handed this path.
    sys.path[:] = [str(ROOT), *(entry for entry in sys.path if Path(entry or ".").resolve() != HERE)]
    raise SystemExit(main(*sys.argv[1:]))
