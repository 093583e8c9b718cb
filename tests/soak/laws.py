"""Every law that a long run tries."""

from __future__ import annotations

from tests.soak import corpus
from tests.soak.byte_laws import blob_cases, check_blob, check_raw, deep_cases, file_cases, raw_cases, soup_cases
from tests.soak.cases import Law, refusing
from tests.soak.history_laws import check_history, histories
from tests.soak.layouts import names
from tests.soak.pick import strategy
from tests.soak.tree_laws import check_names, check_tree, tree_cases

_HISTORY = refusing(check_history)

LAWS = (
    Law("names", "a name comes back or is refused", check_names, names, slice_=300),
    Law("trees", "what T calls undoable comes back, and what it calls one-way does not", check_tree, tree_cases),
    Law("histories", "the square, port then back, the same ids twice", _HISTORY, histories, slice_=10, seconds=10),
    Law("files", "files that mention the layout, with broken bytes", check_blob, file_cases, slice_=100),
    Law("soup", "tokens of all languages in any order", check_blob, soup_cases, slice_=100),
    Law("deep", "deep nests, long lines and many repetitions", check_blob, deep_cases, slice_=15, seconds=5),
    Law("mutants", "real files, broken", check_blob, corpus.mutated_blob, slice_=30),
    Law("packages", "trees of real files, some broken", check_tree, corpus.mutated_tree, slice_=5),
    Law("manifests", "the project's manifests, broken", check_raw, corpus.mutated_manifest, slice_=10),
    Law("inputs", "any manifest, layout, patch and commit object", check_raw, cases=raw_cases),
    Law("bytes", "any bytes in any language", check_blob, cases=blob_cases),
    Law("drawn-trees", "trees, with hypothesis", check_tree, cases=strategy(tree_cases), slice_=20),
    Law("drawn-histories", "histories, with hypothesis", _HISTORY, cases=strategy(histories), slice_=3, seconds=10),
)
BY_NAME = {law.name: law for law in LAWS}
