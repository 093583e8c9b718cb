"""Runs the `run:` steps of a GitHub workflow or composite action on this machine, and lists what it does not run.

Emulated: inputs, `env`, `if`, `${{ }}` with the contexts github, inputs, steps, runner, needs; the files behind
GITHUB_OUTPUT, GITHUB_ENV, GITHUB_PATH and GITHUB_STEP_SUMMARY; workflow commands on stdout with `stop-commands`;
`shell: bash` as GitHub calls it; a local action (`uses: ./`). Every other `uses:` is listed in `not_run`.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

_TOKEN = re.compile(r"\s*(?:('(?:[^']|'')*')|(==|!=|&&|\|\||[!(),])|([A-Za-z_][\w.*-]*))")
_COMMAND = re.compile(r"^\s*::([\w-]+)(?: ([^:]*))?::(.*)$")


class Ran(NamedTuple):
    """A step that ran."""

    name: str
    code: int
    out: str
    err: str


class Annotation(NamedTuple):
    """What GitHub would show at a line."""

    level: str
    fields: dict[str, str]
    text: str


@dataclass
class Job:
    """One run: what happened, and what GitHub would have kept of it."""

    workspace: Path
    temp: Path
    github: dict[str, Any]
    environment: dict[str, str]
    ran: list[Ran] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    summary: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    failed: bool = False

    def action(self, folder: Path, given: Mapping[str, Any]) -> None:
        """Run a composite action."""
        told = yaml.safe_load((folder / "action.yml").read_text())
        inputs = {name: str(given.get(name, spec.get("default", ""))) for name, spec in told["inputs"].items()}
        assert set(given) <= set(inputs), f"unknown inputs: {set(given) - set(inputs)}"
        scope = {"inputs": inputs, "steps": {}}
        self.environment["GITHUB_ACTION_PATH"] = str(folder)
        for step in told["runs"]["steps"]:
            self._step(step, scope)
        self.outputs = {name: self._filled(spec["value"], scope) for name, spec in told["outputs"].items()}

    def job(self, workflow: Mapping[str, Any], name: str) -> None:
        """Run one job of a workflow, where its `if` allows it."""
        told = workflow["jobs"][name]
        scope = {"inputs": {}, "steps": {}}
        if not self._truth(told.get("if", "true"), scope):
            self.skipped.append(name)
            return
        for step in told["steps"]:
            self._step(step, scope)

    def _step(self, step: Mapping[str, Any], scope: dict[str, Any]) -> None:
        name = step.get("name") or step.get("uses") or step["run"].splitlines()[0]
        held = scope["steps"].setdefault(step.get("id", f"#{len(scope['steps'])}"), {"outputs": {}})
        condition = str(step.get("if", "success()"))
        if not re.search(r"\b(always|success|failure)\(\)", condition):
            condition = f"success() && ({condition})"
        if not self._truth(condition, scope):
            held["outcome"] = "skipped"
            self.skipped.append(name)
        elif step.get("uses") == "./":
            given = {key: self._filled(value, scope) for key, value in step.get("with", {}).items()}
            self.action(self.workspace, given)
            held["outcome"] = "failure" if self.failed else "success"
        elif "uses" in step:
            for value in step.get("with", {}).values():
                self._filled(value, scope)
            self.not_run.append(name)
            held["outcome"] = "success"
        else:
            held["outcome"] = self._run(name, step, scope, held)

    def _run(self, name: str, step: Mapping[str, Any], scope: dict[str, Any], held: dict[str, Any]) -> str:
        files = {kind: self.temp / f"{kind}.{len(self.ran)}" for kind in ("OUTPUT", "ENV", "PATH", "STEP_SUMMARY")}
        for file in files.values():
            file.write_text("")
        script = self.temp / "step.sh"
        script.write_text(self._filled(step["run"], scope))
        environment = self.environment | {f"GITHUB_{kind}": str(file) for kind, file in files.items()}
        environment |= {key: self._filled(value, scope) for key, value in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.workspace, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.ran.append(Ran(name, done.returncode, done.stdout, done.stderr))
        self._commands(done.stdout + "\n" + done.stderr)
        held["outputs"] = _pairs(files["OUTPUT"].read_text())
        self.environment |= _pairs(files["ENV"].read_text())
        for folder in files["PATH"].read_text().splitlines():
            self.environment["PATH"] = f"{folder}{os.pathsep}{self.environment['PATH']}"
        self.summary += files["STEP_SUMMARY"].read_text()
        self.failed = self.failed or done.returncode != 0
        return "failure" if done.returncode else "success"

    def _commands(self, text: str) -> None:
        stopped = ""
        for line in text.splitlines():
            found = _COMMAND.match(line)
            if found is None:
                continue
            command, fields, message = found[1], found[2] or "", found[3]
            if stopped:
                stopped = "" if command == stopped else stopped
            elif command == "stop-commands":
                stopped = message
            elif command in ("error", "warning", "notice"):
                pairs = dict(pair.split("=", 1) for pair in fields.split(",") if pair)
                self.annotations.append(
                    Annotation(command, {k: _unescaped(v) for k, v in pairs.items()}, _unescaped(message))
                )
            else:
                self.commands.append(line)

    def _filled(self, value: Any, scope: Mapping[str, Any]) -> str:
        return re.sub(r"\$\{\{(.+?)\}\}", lambda found: _shown(self._value(found[1], scope)), str(value))

    def _truth(self, condition: str, scope: Mapping[str, Any]) -> bool:
        return bool(self._value(condition.strip().removeprefix("${{").removesuffix("}}"), scope))

    def _value(self, expression: str, scope: Mapping[str, Any]) -> Any:
        contexts = {**scope, "github": self.github, "runner": {"temp": str(self.temp), "os": "Linux"}}
        functions = {
            "always": lambda: True,
            "success": lambda: not self.failed,
            "failure": lambda: self.failed,
            "contains": lambda held, item: item in (held or ()),
        }
        return _Expression(expression, contexts, functions).value()


class _Expression:
    """GitHub's expressions, as far as these files use them."""

    def __init__(self, text: str, contexts: Mapping[str, Any], functions: Mapping[str, Any]) -> None:
        self._contexts, self._functions = contexts, functions
        self._tokens, at, text = [], 0, text.strip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            assert found, f"not understood: {text[at:]!r}"
            self._tokens.append(found[0].strip())
            at = found.end()

    def value(self) -> Any:
        found = self._or()
        assert not self._tokens, f"not understood: {self._tokens}"
        return found

    def _next(self, *wanted: str) -> str:
        return self._tokens.pop(0) if self._tokens and (not wanted or self._tokens[0] in wanted) else ""

    def _or(self) -> Any:
        left = self._and()
        while self._next("||"):
            right = self._and()
            left = left or right
        return left

    def _and(self) -> Any:
        left = self._equal()
        while self._next("&&"):
            right = self._equal()
            left = left and right
        return left

    def _equal(self) -> Any:
        left = self._one()
        while operator := self._next("==", "!="):
            same = _shown(left) == _shown(self._one())
            left = same if operator == "==" else not same
        return left

    def _one(self) -> Any:
        token = self._next()
        if token == "!":
            return not self._one()
        if token == "(":
            found = self._or()
            assert self._next(")")
            return found
        if token.startswith("'"):
            return token[1:-1].replace("''", "'")
        if self._next("("):
            given = []
            while not self._next(")"):
                given.append(self._or())
                self._next(",")
            return self._functions[token](*given)
        return {"true": True, "false": False}[token] if token in ("true", "false") else self._looked_up(token)

    def _looked_up(self, dotted: str) -> Any:
        first, *rest = dotted.split(".")
        found: Any = self._contexts[first]
        for name in rest:
            if name == "*":
                continue
            found = [item.get(name) for item in found] if isinstance(found, list) else (found or {}).get(name)
        return found


def _shown(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _unescaped(text: str) -> str:
    for code, mark in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, mark)
    return text


def _pairs(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
