"""What others rely on, frozen: verbs and their words, manifest keys, exit codes. A change here is a decision."""

from __future__ import annotations

from porttool import errors
from porttool.arguments import Parser
from porttool.cli import VERBS, load_verb
from porttool.manifest_schema import MANIFEST, ByKey, ByKind, Record, Seq, Table, Word
from tests.cli.test_command_line import parsers

REPOSITORIES = {"--source-repo", "--target-repo", "--by"}
RESUME = {"--dry-run", "--continue", "--skip", "--abort"}

WORDS = {
    "plan": {"manifest", "--branch", "--json"} | REPOSITORIES,
    "apply": {"manifest", "--branch", "--reason", "--json"} | REPOSITORIES | RESUME,
    "verify": {"manifest", "--branch", "--landed", "--json"} | REPOSITORIES,
    "audit": {"manifest", "--branch", "--markdown", "--json"} | REPOSITORIES,
    "back": {"manifest", "range", "--branch", "--reason", "--json"} | REPOSITORIES | RESUME,
    "restructure": {"manifest", "--branch", "--dry-run", "--json"} | REPOSITORIES,
    "status": {"manifest", "--branch", "--json"} | REPOSITORIES,
    "init": {"--source", "--target", "--repo", "--driver", "--write", "--force", "--json"},
    "infer": {"old", "new", "--repo", "--write", "--json"},
    "diff-meta": {"manifest", "--scenario", "--left", "--right", "--shared", "--update", "--json"},
    "diff-config": {"manifest", "--scenario", "--left", "--right", "--shared", "--update", "--json"},
    "contract": {"manifest", "--scenario", "--left", "--right", "--shared", "--update", "--json"},
    "knobs": {"manifest", "--scenario", "--left", "--right", "--ray", "--json"},
    "smoke": {"manifest", "--scenario", "--steps", "--seeds", "--left", "--right", "--ref", "--by-commit", "--aa"}
    | {"--measure", "--noise", "--jobs", "--fresh", "--out", "--json"},
    "gate": {"manifest", "--tier", "--left", "--right", "--base", "--by-commit", "--fail-fast", "--jobs", "--json"}
    | {"--junit", "--sarif", "--markdown", "--html"},
    "resolution add": {"--path", "--file", "--delete", "--reason", "--author", "--branch", "--manifest", "--json"}
    | REPOSITORIES,
    "resolution list": {"--manifest", "--json"},
    "resolution show": {"id", "--manifest", "--json"},
    "resolution drop": {"id", "--manifest", "--json"},
    "vendor sync": {"names", "--json"},
    "vendor verify": {"names", "--json"},
    "schema": {"--json", "--markdown"},
    "completion bash": {"--json"},
    "completion zsh": {"--json"},
    "completion fish": {"--json"},
    "completion words": {"what", "--manifest", "--json"},
}

KEYS = set(
    """
    version source source.repo source.ref target target.repo target.ref target.branch layout layout.roots
    layout.mounts layout.mounts.* layout.keep layout.paths layout.paths.* layout.paths.*.to layout.paths.*.one_way
    layout.modules layout.modules.* layout.modules.*.to layout.modules.*.one_way layout.symbols layout.symbols.*
    layout.symbols.*.to layout.symbols.*.in layout.symbols.*.words layout.symbols.*.part layout.symbols.*.one_way
    layout.keys layout.keys.* layout.keys.*.to layout.keys.*.one_way layout.fragments layout.fragments.*
    layout.fragments.*.to layout.fragments.*.old_after layout.fragments.*.new_after layout.fragments.*.old_lead
    layout.fragments.*.new_lead protected commits commits.pick commits.upstream commits.subject commits.adapted
    commits.adapted.* commits.why commits.new commits.range skip skip.* policy policy.merges policy.empty
    policy.committer policy.signatures policy.style policy.style.width parity parity.*
    """.split()  # noqa: SIM905
)

POLICY_WORDS = {
    "merges": ("refuse", "first-parent", "evil"),
    "empty": ("skip", "keep", "refuse"),
    "committer": ("author-date", "now"),
    "signatures": ("record", "drop", "refuse"),
}

EXIT_CODES = {
    "EXIT_OK": 0,
    "EXIT_ANSWER_NO": 1,
    "EXIT_USAGE": 2,
    "EXIT_ENVIRONMENT": 3,
    "EXIT_BUG": 70,
    "EXIT_INTERRUPTED": 130,
}


def words_of(parser: Parser) -> set[str]:
    """Every positional and long option of a parser, but --help."""
    found = {action.dest for action in parser._actions if not action.option_strings and action.dest != "step"}
    return found | (set(parser.options()) - {"--help"})


def keys_of(shape, at: str = "") -> set[str]:
    """Every key a manifest may hold, dotted; `*` is a name the user chooses."""
    found = {at} if at else set()
    if isinstance(shape, Record):
        for name, key in shape.keys.items():
            found |= keys_of(key.shape, f"{at}.{name}" if at else name)
    elif isinstance(shape, Table):
        found |= keys_of(shape.of, f"{at}.*")
    elif isinstance(shape, Seq):
        found |= keys_of(shape.of, at)
    elif isinstance(shape, ByKey | ByKind):
        for part in shape.records.values() if isinstance(shape, ByKey) else shape.shapes:
            found |= keys_of(part, at)
    return found


def test_verbs_and_words():
    """Each verb takes exactly these words."""
    assert {name: words_of(parser) for name, parser in parsers().items()} == WORDS


def test_every_verb_is_a_module():
    """Each verb has an example, takes arguments and runs."""
    for verb in VERBS:
        module = load_verb(verb)
        assert module.EXAMPLE.startswith(f"porttool {verb}")
        assert callable(module.arguments) and callable(module.run)


def test_manifest_keys():
    """A manifest holds exactly these keys."""
    assert keys_of(MANIFEST) == KEYS


def test_policy_words():
    """Each policy takes exactly these words."""
    policy = MANIFEST.keys["policy"].shape
    assert isinstance(policy, Record)
    shapes = {name: key.shape for name, key in policy.keys.items()}
    assert {name: shape.words for name, shape in shapes.items() if isinstance(shape, Word)} == POLICY_WORDS


def test_exit_codes():
    """Each kind of end has its exit code."""
    assert {name: value for name, value in vars(errors).items() if name.startswith("EXIT_")} == EXIT_CODES
    assert {kind.exit_code for kind in (errors.UsageError, errors.ManifestError, errors.LayoutError)} == {2}
    assert {kind.exit_code for kind in (errors.RepositoryError, errors.EnvironmentFault)} == {3}
