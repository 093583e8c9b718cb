"""Makes the example's repository: `python make.py FOLDER`. The same commits on every machine."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
OLD, NEW = ("Rosa Old", "rosa@example.invalid"), ("Lena New", "lena@example.invalid")


def main(folder: Path) -> None:
    """main: the old layout; fixes: three commits on it; relayout: the new layout, and one commit on that."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    # Who follows the tutorial commits here, whether git knows them or not.
    for name, value in (("user.name", "You"), ("user.email", "you@example.invalid"), ("commit.gpgsign", "false")):
        git(folder, "config", name, value)
    commit(folder, HERE / "old", OLD, "A perceptron, its config and its training loop")
    git(folder, "checkout", "--quiet", "-b", "relayout")
    commit(folder, HERE / "new", NEW, "Modules by what they do; the optimizer and the network have sections")
    git(folder, "am", "--quiet", *patches("relayout"))
    git(folder, "checkout", "--quiet", "-b", "fixes", "main")
    git(folder, "am", "--quiet", *patches("fixes"))
    print(f"{folder}: main, fixes (checked out) and relayout")


def commit(folder: Path, files: Path, author: tuple[str, str], subject: str) -> None:
    """Everything in the folder replaced by these files."""
    for old in folder.iterdir():
        if old.name != ".git":
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    shutil.copytree(files, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", subject, author=author)


def patches(name: str) -> list[str]:
    return [str(file) for file in sorted((HERE / name).glob("*.patch"))]


def git(folder: Path, *words: str, author: tuple[str, str] = OLD) -> None:
    """git with an identity, a clock and a configuration of its own."""
    date = "2026-01-05T12:00:00+00:00"
    own = {
        "GIT_AUTHOR_NAME": author[0],
        "GIT_AUTHOR_EMAIL": author[1],
        "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_NAME": author[0],
        "GIT_COMMITTER_EMAIL": author[1],
        "GIT_COMMITTER_DATE": date,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", "-C", str(folder), *words], env={**inherited, **own}, check=True)


if __name__ == "__main__":
    if len(sys.argv) != 2 or Path(sys.argv[1]).exists():
        sys.exit("usage: python make.py FOLDER (a new one)")
    main(Path(sys.argv[1]).resolve())
