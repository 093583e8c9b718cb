"""One batch in a process of its own, so that even a crash of the interpreter is only one problem.

    python -m tests.soak.child LAW SEED SECONDS EXAMPLES MARK      runs a batch and prints its tally as JSON
    python -m tests.soak.child LAW --example FILE                  tries one example, as a report shows it
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import sys
import warnings
from pathlib import Path

import pygit2

from tests.soak.cases import read
from tests.soak.laws import BY_NAME
from tests.soak.tries import Batch
from tests.support.repos import IDENTITY

MEMORY = 4 << 30
EXAMPLE = "\nexample: "


def alone() -> None:
    """No user or system git configuration, and a bound on memory."""
    for name in [name for name in os.environ if name.startswith(("GIT_", "XDG_"))]:
        del os.environ[name]
    os.environ.update(HOME="/dev/null", GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1")
    os.environ.update(LC_ALL="C.UTF-8", TZ="UTC")
    for who in ("AUTHOR", "COMMITTER"):
        os.environ.update({f"GIT_{who}_NAME": IDENTITY[0], f"GIT_{who}_EMAIL": IDENTITY[1]})
    level = pygit2.enums.ConfigLevel
    for where in (level.GLOBAL, level.XDG, level.SYSTEM, level.PROGRAMDATA):
        pygit2.settings.search_path[where] = ""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")


def main() -> int:
    """Run what the arguments say."""
    law = BY_NAME[sys.argv[1]]
    faulthandler.enable()
    alone()
    if sys.argv[2] == "--example":
        text = Path(sys.argv[3]).read_bytes().decode("utf-8", "surrogateescape")
        print(law.check(read(text.rpartition(EXAMPLE)[2].strip())))
        return 0
    first, seconds, examples = int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    tally = Batch(law, Path(sys.argv[5])).run(first, seconds, examples)
    print(json.dumps(tally.told()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
