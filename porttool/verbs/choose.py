"""Which manifest a verb works on."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from porttool.errors import UsageError
from porttool.init_files import named
from porttool.manifest import Manifest, is_url, load
from porttool.manifest_schema import FORMATS, fits


def manifest(args: argparse.Namespace) -> Manifest:
    """The manifest named on the command line, or the project's, with the repositories named there."""
    found = load(args.manifest or default_manifest(Path.cwd()))
    if getattr(args, "source_repo", None):
        found = replace(found, source=replace(found.source, repo=_repo(args.source_repo, "--source-repo")))
    if getattr(args, "target_repo", None):
        found = replace(found, target=replace(found.target, repo=_repo(args.target_repo, "--target-repo")))
    return found


def branch(args: argparse.Namespace) -> str:
    """The branch named on the command line; "" = the manifest's."""
    return checked("branch", args.branch, "--branch") if args.branch else ""


def checked(format: str, text: str, option: str) -> str:
    """A word of the command line, held to the same format as in a manifest."""
    if not fits(format, text):
        raise UsageError(f"{option} is {text!r}, which is not {FORMATS[format].told}", "porttool")
    return text


def _repo(text: str, option: str) -> str:
    checked("repo", text, option)
    return text if is_url(text) else str(Path(text).expanduser().resolve())


def default_manifest(folder: Path) -> Path:
    """`[tool.porttool] manifest` of the nearest pyproject.toml, else the only file in manifests/ beside it."""
    top = project_folder(folder)
    pyproject = top / "pyproject.toml"
    manifest = named(pyproject.read_text(encoding="utf-8")) if pyproject.is_file() else ""
    if manifest:
        return top / manifest
    files = sorted((*(top / "manifests").glob("*.yaml"), *(top / "manifests").glob("*.yml")))
    if len(files) == 1:
        return files[0]
    hint = "name it on the command line, or set `manifest` under [tool.porttool] in pyproject.toml"
    if not files:
        told = "no manifest is named and there is none to choose"
        raise UsageError(
            told, str(top / "manifests"), "start one with `porttool init`, or name it on the command line"
        )
    several = ", ".join(file.name for file in files[:5]) + (", ..." if len(files) > 5 else "")
    raise UsageError(f"no manifest is named and there are {len(files)}: {several}", str(top / "manifests"), hint)


def project_folder(folder: Path) -> Path:
    """The nearest folder upwards with a pyproject.toml or a manifests folder; else `folder`."""
    for candidate in (folder, *folder.parents):
        if (candidate / "pyproject.toml").is_file() or (candidate / "manifests").is_dir():
            return candidate
    return folder
