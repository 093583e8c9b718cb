"""`python -m tests.faults [--only N ...]`: plant each fault, print who caught it and why; 1 where one got away."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from parity.probes.run import cache_folder
from porttool.errors import PortError
from tests.faults.judged import Answer
from tests.faults.run import MANIFEST, run, setting


def main() -> int:
    """Run the chosen faults and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="N", help="a fault's number or name")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="captures at the same time")
    parser.add_argument("--manifest", type=Path, default=MANIFEST)
    parser.add_argument("--markdown", action="store_true", help="print the table as docs/faults.md has it")
    args = parser.parse_args()
    began = time.monotonic()
    try:
        of = setting(args.manifest)
        chosen = [f for f in of.faults if not args.only or f.name in args.only or f.name.split("-")[0] in args.only]
        if not chosen:
            parser.error(f"no fault is called {' or '.join(args.only)}")
        report = lambda text: print(text, file=sys.stderr)  # noqa: E731
        answers = run(of, cache_folder(), faults=chosen, jobs=args.jobs, report=report)
    except PortError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    (markdown if args.markdown else screen)(answers)
    missed = [answer for answer in answers if answer.caught is None]
    loud = [answer for answer in answers if answer.loud]
    controls = sum(len(answer.fault.controls) + len(answer.fault.healed) for answer in answers)
    print(f"\n{len(answers)} faults, {len(answers) - len(missed)} caught; {controls} controls, "
          f"{len(loud)} faults with a control that raised something; {time.monotonic() - began:.0f} s")  # fmt: skip
    return 1 if missed or loud else 0


def screen(answers: list[Answer]) -> None:
    """One fault a line, and what went wrong below it."""
    for answer in answers:
        fault = answer.fault
        mark = "caught" if answer.caught else "MISSED"
        print(f"{mark}  {fault.name}  row {fault.row}  {answer.seconds:.1f} s  {answer.caught or fault.what}")
        if answer.caught is None:
            print(f"        wanted: {fault.probe} {fault.cause}")
            for one in answer.instead[:12]:
                print(f"        raised: {one}")
        for variant, one in answer.loud[:8]:
            print(f"        CONTROL {variant}: {one}")


def markdown(answers: list[Answer]) -> None:
    """The table of docs/faults.md."""
    print("| fault | row | what is done | caught by | key and cause |\n| --- | --- | --- | --- | --- |")
    for answer in answers:
        fault, caught = answer.fault, answer.caught
        told = f"`{caught.key}`: {caught.cause}" if caught else "**missed**"
        shared = " (shared)" if fault.shared else ""
        cells = (fault.name, fault.row, fault.what, f"{fault.probe}{shared}", told)
        print("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")


if __name__ == "__main__":
    raise SystemExit(main())
