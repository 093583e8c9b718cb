"""Which tests have to notice every change of which modules."""

from __future__ import annotations

from tests.mutants.judge import Target

TARGETS = (
    Target(("parity.compare", "parity.verdict"), ("tests/parity/test_compare.py", "tests/parity/test_verdict.py")),
    Target(("porttool.proof_delta",), ("tests/porttool/test_proof_delta.py",)),
    Target(("porttool.proof_names",), ("tests/porttool/test_proof_names.py",)),
    Target(("porttool.proof_movement",), ("tests/porttool/test_proof_movement.py",)),
    Target(
        ("porttool.proof",),
        (
            "tests/porttool/test_proof.py",
            "tests/porttool/test_proof_rows.py",
            "tests/porttool/test_proof_movement.py",
        ),
    ),
    Target(
        ("porttool.proof_commit",),
        (
            "tests/porttool/test_proof.py",
            "tests/porttool/test_proof_commit.py",
            "tests/porttool/test_proof_one_way.py",
            "tests/porttool/test_proof_rows.py",
        ),
    ),
    Target(
        ("parity.smoke.compare", "parity.smoke.cells", "parity.smoke.outcome", "parity.smoke.curves"),
        (
            "tests/smoke/test_compare.py",
            "tests/smoke/test_compare_envelope.py",
            "tests/smoke/test_compare_mutants.py",
            "tests/smoke/test_compare_nan.py",
            "tests/smoke/test_backdrop.py",
            "tests/smoke/test_cells.py",
        ),
    ),
    Target(("parity.gate.guard",), ("tests/gate/test_guard_units.py",)),
    Target(("parity.gate.result",), ("tests/gate/test_result.py", "tests/gate/test_result_words.py")),
)
