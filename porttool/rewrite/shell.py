"""Shell scripts: what is an argument and what is an assignment is read from the syntax tree, the rest as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from porttool.edits import Found
from porttool.layout import FileNames
from porttool.rewrite import text
from porttool.rewrite.parsing import GivenUp, parsed

# Commands whose own `name=value` words are no overrides.
_TAKES_ASSIGNMENTS = frozenset(
    (b"env", b"make", b"dd", b"cmake", b"git", b"docker", b"podman", b"alias", b"sbatch", b"srun", b"kubectl", b"helm")
)
_TAKES_ENVIRONMENT = frozenset((b"-e", b"--env", b"-v", b"--volume", b"-o", b"-D", b"--build-arg", b"-c"))
_LAUNCHER = re.compile(rb"(?:.*/)?(?:python[\d.]*|torchrun|deepspeed|accelerate|\$\{?PYTHON\w*\}?)$")
_WORDS = frozenset(("word", "string", "raw_string", "concatenation"))


@lru_cache(maxsize=1)
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def scan(source: bytes, names: FileNames) -> Found:
    """Edits for a shell script; a broken one is read as far as it can be read, and as text beyond."""
    arguments: dict[int, bool] | None = None
    if names.layout.keys and any(word in source for word in text.lexicon_words(names.layout)):
        arguments = {}
        for node in _commands(source):
            if node.type == "command":
                _read_command(node, source, arguments)
            elif node.type == "array":
                _accept(node.named_children, source, arguments)
            elif node.type == "variable_assignment" and (name := node.child_by_field_name("name")) is not None:
                arguments[name.start_byte] = False
    return text.scan(source, names, arguments=arguments)


def _commands(source: bytes) -> Iterator[Node]:
    """The nodes of a script; none where the parser gives it up."""
    try:
        return _nodes(parsed(_parser(), source).root_node)
    except GivenUp:
        return iter(())


def _nodes(root: Node) -> Iterator[Node]:
    """Every node, parents first; no recursion, since scripts nest deeper than Python does."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.named_children))


def _read_command(node: Node, source: bytes, arguments: dict[int, bool]) -> None:
    """Tell which words of a command may be overrides."""
    name = node.child_by_field_name("name")
    if name is None:
        return
    command = source[name.start_byte : name.end_byte].rpartition(b"/")[2]
    words = [word for word in node.named_children if word.start_byte >= name.end_byte and word.type in _WORDS]
    if command not in _TAKES_ASSIGNMENTS:
        _accept(words, source, arguments)
        return
    launched = False
    for word in words:
        if launched:
            _accept([word], source, arguments)
        else:
            arguments[_content_start(word)] = False
        launched = launched or _LAUNCHER.match(source[word.start_byte : word.end_byte]) is not None


def _accept(words: list[Node], source: bytes, arguments: dict[int, bool]) -> None:
    before = b""
    for word in words:
        arguments[_content_start(word)] = before not in _TAKES_ENVIRONMENT
        before = source[word.start_byte : word.end_byte]


def _content_start(word: Node) -> int:
    """Where the text of a word starts: behind its opening quote, if it has one."""
    if word.type == "concatenation" and word.named_children:
        word = word.named_children[0]
    return word.start_byte + (word.type in ("string", "raw_string"))
