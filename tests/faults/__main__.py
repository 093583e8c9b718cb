"""`python -m tests.faults [--tier static|smoke|all] [--only N ...]`: plant each fault, print who caught it and why.

Status 1 where one got away, or where a control raised something.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from parity.probes.run import cache_folder
from porttool.errors import PortError
from tests.faults import smoke
from tests.faults.judged import Answer
from tests.faults.run import MANIFEST, run, setting
from tests.faults.suite import Fault, words

TIERS = ("static", "smoke", "all")


def main() -> int:
    """Run the chosen faults and print the table."""
    args = _arguments()
    began = time.monotonic()
    what = smoke.listed()
    harmless = what.harmless if not args.only and args.tier != "static" else ()
    report = lambda text: print(text, file=sys.stderr, flush=True)  # noqa: E731
    answers: list[Answer] = []
    silent: list[smoke.Harmless] = []
    try:
        of = setting(args.manifest)
        static = _chosen(of.faults, args.only) if args.tier != "smoke" else []
        trained = _chosen(what.faults, args.only) if args.tier != "static" else []
        if not static and not trained:
            raise SystemExit(f"no fault of tier {args.tier} is called {' or '.join(args.only)}")
        if static:
            answers += run(of, cache_folder(), faults=static, jobs=args.jobs, report=report)
        if trained:
            found, silent = smoke.run(
                what, cache_folder(), faults=trained, harmless=harmless, jobs=args.jobs, manifest=args.manifest,
                report=report,
            )  # fmt: skip
            answers += found
    except PortError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    answers.sort(key=lambda answer: answer.fault.name)  # of one fault, the static tier stays first
    (markdown if args.markdown else screen)(answers, silent)
    print(f"\n{summary(answers, silent)}; {time.monotonic() - began:.0f} s")
    return 0 if all(answer.good for answer in answers) and not any(one.raised for one in silent) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--tier", choices=TIERS, default="static", help="who looks: static probes, training runs")
    parser.add_argument("--only", action="append", default=[], metavar="N", help="a fault's number or name")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="captures and runs at the same time")
    parser.add_argument("--manifest", type=Path, default=MANIFEST)
    parser.add_argument("--markdown", action="store_true", help="print the tables as docs/faults.md has them")
    return parser.parse_args()


def _chosen(faults: Sequence[Fault], only: Sequence[str]) -> list[Fault]:
    return [one for one in faults if not only or one.name in only or one.name.split("-")[0] in only]


def summary(answers: Sequence[Answer], silent: Sequence[smoke.Harmless]) -> str:
    """The counts: a fault that both tiers look for is one fault."""
    names = {answer.fault.name for answer in answers}
    missed = {answer.fault.name for answer in answers if answer.caught is None}
    loud = {answer.fault.name for answer in answers if answer.loud}
    loud |= {one.variant.patch for one in silent if one.raised}
    controls = sum(len(answer.fault.controls) + len(answer.fault.healed) for answer in answers) + len(silent)
    return (
        f"{len(names)} faults, {len(names - missed)} caught, {len(answers)} times in all; "
        f"{controls} controls, {len(loud)} loud"
    )


def screen(answers: Sequence[Answer], silent: Sequence[smoke.Harmless]) -> None:
    """One fault a line, and what went wrong below it."""
    for answer in answers:
        fault = answer.fault
        mark = "caught" if answer.caught else "MISSED"
        print(f"{mark}  {fault.name}  row {fault.row}  {answer.seconds:.1f} s  {_by(fault)}  "
              f"{f'{answer.caught.key}: {answer.caught.cause}' if answer.caught else fault.what}")  # fmt: skip
        if answer.caught is None:
            print(f"        wanted: {fault.probe} {fault.cause}")
            for one in answer.instead[:12]:
                print(f"        raised: {one}")
        for variant, one in answer.loud[:8]:
            print(f"        CONTROL {variant}: {one}")
    for harmless in silent:
        mark = "LOUD  " if harmless.raised else "silent"
        print(f"{mark}  {harmless.variant.patch}  {harmless.seconds:.1f} s  {words(harmless.variant.patch)}")
        for one in harmless.raised[:12]:
            print(f"        raised: {one}")


def markdown(answers: Sequence[Answer], silent: Sequence[smoke.Harmless]) -> None:
    """The tables of docs/faults.md."""
    print("| fault | row | what is done | caught by | key or step, and cause | seconds |")
    print("| --- | --- | --- | --- | --- | --- |")
    for answer in answers:
        fault, caught = answer.fault, answer.caught
        told = f"`{caught.key}`: {caught.cause}" if caught else "**missed**"
        _row(fault.name, fault.row, fault.what, _by(fault), told, f"{answer.seconds:.0f}")
    if silent:
        print("\n| harmless change | what is done | raised | seconds |\n| --- | --- | --- | --- |")
    for one in silent:
        told = "; ".join(map(str, one.raised)) or "nothing"
        _row(one.variant.patch, words(one.variant.patch), told, f"{one.seconds:.0f}")


def _row(*cells: str) -> None:
    print("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")


def _by(fault: Fault) -> str:
    """The probe; for a training run its scenario too."""
    by = f"{fault.probe} {fault.variant.scenario}" if fault.probe == smoke.PROBE else fault.probe
    return f"{by} (shared)" if fault.shared else by


if __name__ == "__main__":
    raise SystemExit(main())
