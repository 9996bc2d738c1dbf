"""The generated header: deterministic, and its hash tells apart what the records mean."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from lane.launch import quantised, spec, table
from lane.launch.fields import Read, Write
from lane.launch.record import Launch
from lane.launch.registry import KINDS


@dataclass(frozen=True)
class Two(Launch):
    """A kind of two fields."""

    kind: ClassVar[str] = "probe"

    x: Read
    n: int


def other(fields: dict[str, object]) -> type[Launch]:
    """A kind of the same name with other fields."""
    body = {"__annotations__": fields, "kind": "probe", "__module__": __name__}
    return dataclass(frozen=True)(type("Two", (Launch,), body))


def hash_with(monkeypatch: pytest.MonkeyPatch, *kinds: type[Launch]) -> str:
    monkeypatch.setattr(spec, "KINDS", (*KINDS, *kinds))
    return spec.spec_hash()


def test_the_same_declarations_give_the_same_bytes(tmp_path: Path) -> None:
    for name, text in spec.HEADERS.items():
        file = tmp_path / name
        # A process of its own: an order that depended on hashes would differ.
        subprocess.run(
            [sys.executable, "-m", "lane.launch.spec", str(file)], check=True, env={"PYTHONPATH": ":".join(sys.path)}
        )
        assert file.read_text() == text()


def test_the_header_carries_its_hash_and_every_kind() -> None:
    assert f'kHash[] = "{spec.spec_hash()}"' in spec.header()
    header = spec.record_header()
    assert "#define LANE_LAUNCH_KINDS(X) " + " ".join(f"X({kind.__name__})" for kind in KINDS) in header
    for number, kind in enumerate(KINDS):
        assert f'kName = "{kind.kind}"' in header
        assert f"kKind = {number};" in header


def test_the_hash_changes_with_a_field(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = [
        spec.spec_hash(),
        hash_with(monkeypatch, Two),
        hash_with(monkeypatch, other({"x": Read, "m": int})),  # another name
        hash_with(monkeypatch, other({"x": Read, "n": float})),  # another type
        hash_with(monkeypatch, other({"n": int, "x": Read})),  # another order
        hash_with(monkeypatch, other({"x": Read, "n": int, "y": Write})),  # one more
        hash_with(monkeypatch, other({"x": Read, "n": table.Elem})),  # an enumeration
    ]
    assert len(set(hashes)) == len(hashes)


def test_the_hash_changes_with_the_order_of_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    before = spec.spec_hash()
    monkeypatch.setattr(spec, "KINDS", (KINDS[1], KINDS[0], *KINDS[2:]))
    assert spec.spec_hash() != before


def test_the_hash_changes_with_a_shared_number(monkeypatch: pytest.MonkeyPatch) -> None:
    before = spec.spec_hash()
    for module, name in (
        (quantised, "QUANT_BLOCK_ELEMS"),
        (table, "ALIGNMENT_BYTES"),
        (quantised, "SECOND_WORD_STEPS"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, 48)
            assert spec.spec_hash() != before
    assert spec.spec_hash() == before
