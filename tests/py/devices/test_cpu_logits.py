"""The CPU device's logits on every checkpoint of tests/data: near the reference, and the same however they are fed.

Every launch sums a row as it would sum it alone, so a prefill in chunks of any size, decode one by one, one thread or
two, and a second run all give the same bits, under every numerics.
"""

from __future__ import annotations

import numpy as np
import pytest

from lane.launch.record import Numerics
from tests.py.devices.runs import across, device, in_chunks
from tests.py.support.bars import misses
from tests.py.support.fixtures import BY_NAME, FAMILIES, FIXTURES, Fixture

EACH_NUMERICS = pytest.mark.parametrize("numerics", Numerics, ids=lambda n: n.value)
EACH_FIXTURE = pytest.mark.parametrize("fixture", FIXTURES, ids=lambda f: f.name)


@EACH_NUMERICS
@EACH_FIXTURE
def test_short(fixture: Fixture, numerics: Numerics) -> None:
    cpu, wanted = device(fixture, numerics), fixture.reference
    chunks = in_chunks(cpu, wanted.tokens)
    assert not misses(numerics, chunks, wanted)
    np.testing.assert_array_equal(in_chunks(cpu, wanted.tokens, 1), chunks)
    prefilled = len(wanted.tokens) - 13
    np.testing.assert_array_equal(across(cpu, wanted.tokens, prefilled), chunks[prefilled - 1 :])


@EACH_NUMERICS
@pytest.mark.parametrize("fixture", [f for f in FAMILIES if f.has_long], ids=lambda f: f.name)
def test_long(fixture: Fixture, numerics: Numerics) -> None:
    """700 tokens: past a chunk of 512, past windows and past YaRN's original context."""
    wanted = fixture.long
    cpu = device(fixture, numerics, context=len(wanted.tokens))
    chunks = in_chunks(cpu, wanted.tokens)
    assert not misses(numerics, chunks[wanted.positions], wanted)
    np.testing.assert_array_equal(across(cpu, wanted.tokens, 505), chunks[504:])


@EACH_NUMERICS
@pytest.mark.parametrize("largest", [2, 4, 8, 16, 32, 64, 512])
@pytest.mark.parametrize("name", ["llama_odd", "gemma3", "starcoder2", "Q4_K_M"])
def test_chunks_of_any_size_give_the_same_bits(name: str, largest: int, numerics: Numerics) -> None:
    cpu, tokens = device(BY_NAME[name], numerics), BY_NAME[name].reference.tokens
    np.testing.assert_array_equal(in_chunks(cpu, tokens, largest), in_chunks(cpu, tokens, 1))


@EACH_NUMERICS
@pytest.mark.parametrize("name", ["llama", "llama_odd", "gemma3", "phi3", "F16", "Q6_K"])
def test_threads_and_runs_give_the_same_bits(name: str, numerics: Numerics) -> None:
    fixture = BY_NAME[name]
    tokens = fixture.reference.tokens
    first = device(fixture, numerics, threads=1)
    wanted = in_chunks(first, tokens)
    np.testing.assert_array_equal(in_chunks(first, tokens), wanted)
    for threads in (2, 3):
        np.testing.assert_array_equal(in_chunks(device(fixture, numerics, threads=threads), tokens), wanted)


def test_the_context_changes_no_bit() -> None:
    fixture, tokens = BY_NAME["gemma3"], BY_NAME["gemma3"].reference.tokens
    wanted = in_chunks(device(fixture, Numerics.INT8, context=96), tokens)
    np.testing.assert_array_equal(in_chunks(device(fixture, Numerics.INT8, context=1000), tokens), wanted)


def test_decode_feeds_itself() -> None:
    """Eight steps in one run choose what eight runs choose, and leave token and position there."""
    cpu, tokens = device(BY_NAME["llama"], Numerics.INT8), BY_NAME["llama"].reference.tokens[:20]
    cpu.reset()
    cpu.prefill(tokens, 0)
    chosen = [cpu.token()]
    for _ in range(8):
        cpu.decode()
        chosen.append(cpu.token())
        assert cpu.token() == int(cpu.logits().argmax())
    assert cpu.position() == 28
    cpu.reset()
    cpu.prefill(tokens, 0)
    cpu.decode(8)
    assert (cpu.token(), cpu.position()) == (chosen[8], 28)


def test_two_models_in_a_process_do_not_meet() -> None:
    llama, gemma = device(BY_NAME["llama"], Numerics.INT8), device(BY_NAME["gemma3"], Numerics.PRECISE)
    tokens = BY_NAME["llama"].reference.tokens[:24]
    alone = in_chunks(llama, tokens[:16])
    other = in_chunks(gemma, tokens)
    np.testing.assert_array_equal(in_chunks(llama, tokens)[:16], alone)
    np.testing.assert_array_equal(in_chunks(gemma, tokens), other)
