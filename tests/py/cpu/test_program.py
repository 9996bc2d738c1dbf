"""The device as a program: forms run again, side by side, after a fork, with the caller's arrays; what it refuses."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from lane import _core
from lane.errors import CapacityError, UnsupportedError, UsageError
from lane.launch.attention import Attention, Rope
from lane.launch.data import Gather, SetRow, Slice, View
from lane.launch.elementwise import Binary, Scale
from lane.launch.meaning.attention import RopeLayout
from lane.launch.meaning.elementwise import BinaryOp
from lane.launch.norm import Norm
from lane.launch.projection import Gemv, Quant
from lane.launch.record import Dest, Launch, Numerics
from lane.launch.registry import KINDS
from lane.launch.spec import spec_hash
from lane.launch.step import ArgMax
from lane.launch.words import launch_words
from lane.quant.registry import format_named
from tests.py.cpu.checks import bits, floats
from tests.py.cpu.matrices import random_matrix
from tests.py.cpu.one_launch import Case, Device, Plain, run_definition, run_device

ARENA, POOL, STATE, MATRIX, EXTERNAL = range(5)
F32, I32, F16 = 0, 1, 2
INT8 = list(Numerics).index(Numerics.INT8)


def chain(rng: np.random.Generator, rows: int = 5) -> Case:
    """Launches that depend on each other in every way: a small step that chooses a row of its table by arg-max."""
    matrix = random_matrix(format_named("Q4_0"), 64, 64, rng)
    n = rows * 64
    arrays: dict[str, Plain] = {
        "token": np.full(rows, 7, np.int32),
        "pos": np.array([3], np.int32),
        **{name: np.zeros(n, np.float32) for name in ("x", "y", "z")},
        "w": floats(rng, 64),
        "table": floats(rng, 40, 64),
    }
    launches: list[Launch] = [
        Gather("m", "token", "x", rows, 64),
        Norm(x="x", w="w", bias=None, out="y", rows=rows, cols=64, eps=1e-5),
        Quant("y", "y", n),
        Gemv(x="y", w="m", y=Dest("z"), k=64, n=64, m=rows, read_quant=True),
        Binary(BinaryOp.ADD, "z", "x", "x", n, n),
        SetRow("table", "pos", "x", 64, rows),
        ArgMax("x", "token", "pos", 64, rows, rows),
    ]
    return Case(launches, arrays, {"m": matrix}, frozenset({"y"}))


def test_a_form_again_and_again() -> None:
    """`repeat` runs are that many runs: the arg-max's token and position carry over."""
    case = chain(np.random.default_rng(0))
    one_by_one = case
    for _ in range(6):
        one_by_one = Case(case.launches, run_device(one_by_one), case.matrices, case.quantised)
    for threads in (1, 2, 5):
        together = Device(case, threads=threads).run(repeat=6)
        for name, array in one_by_one.arrays.items():
            np.testing.assert_array_equal(bits(together[name]), bits(array), name)


def test_close_to_the_definition() -> None:
    case = chain(np.random.default_rng(1))
    found, wanted = run_device(case, threads=2), run_definition(case)
    np.testing.assert_allclose(
        found["table"], wanted["table"], rtol=1e-2, atol=1e-2
    )  # a word of the norm may round apart
    np.testing.assert_array_equal(found["pos"], wanted["pos"])


def test_many_runs_are_one_result() -> None:
    """Threads race for tasks each run; no result depends on who won."""
    case = chain(np.random.default_rng(2), rows=33)
    first = Device(case, threads=4).run()
    for _ in range(20):
        again = Device(case, threads=4).run()
        for name, array in first.items():
            np.testing.assert_array_equal(bits(again[name]), bits(array), name)


def test_programs_side_by_side() -> None:
    """Two programs run at once from two Python threads; one program takes its callers in turn."""
    case = chain(np.random.default_rng(3), rows=9)
    devices = [Device(case, threads=2), Device(case, threads=3)]
    wanted = Device(case).run(repeat=3)
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda device: device.run(repeat=3), devices):
            np.testing.assert_array_equal(bits(result["table"]), bits(wanted["table"]))
        shared = Device(case, threads=2)
        list(pool.map(lambda _: shared.program.run(shared.form, [], 1), range(3)))
    np.testing.assert_array_equal(bits(shared.read("table").view(np.float32)), bits(wanted["table"]))


def test_after_a_fork() -> None:
    """A child that inherits a program whose threads it does not have starts its own."""
    case = chain(np.random.default_rng(4))
    device = Device(case, threads=2)
    wanted = device.run()["z"]
    child = os.fork()
    if child == 0:
        device.program.write(POOL, 0, np.zeros(1, np.uint8))
        again = Device(case, threads=2).run()["z"]
        device.program.run(device.form, [])
        os._exit(0 if np.array_equal(bits(again), bits(wanted)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert np.array_equal(bits(Device(case, threads=2).run()["z"]), bits(wanted))


def test_profile_times_every_launch() -> None:
    case = chain(np.random.default_rng(5))
    device = Device(case, threads=2)
    times = device.program.profile(device.form, [])
    assert len(times) == len(case.launches)
    assert all(t > 0 for t in times)
    np.testing.assert_array_equal(bits(device.read("z").view(np.float32)), bits(run_device(case)["z"]))


def test_spec_hash() -> None:
    assert _core.spec_hash() == spec_hash()


# --- forms made by hand ---

Row = tuple[int, ...]


def row(space: int, elem: int, length: int, plain: int, *, words: int = -1, second: int = -1, scales: int = -1) -> Row:
    return (space, elem, length, plain, words, second, scales)


SCRATCH = row(ARENA, F32, 256, 3072)


def stream(launches: Sequence[tuple[Launch, str | None]], names: Sequence[str]) -> np.ndarray:
    """The words of launches over buffers in this order; one that is not there has the number 7."""
    index = {name: i for i, name in enumerate(names)}
    return np.array(launch_words(launches, lambda name: index.get(name, 7)), np.int64)


class Form:
    """A program of one form, its buffers b0, b1, … as given."""

    def __init__(self, rows: Sequence[Row], *launches: Launch, arena: int = 4096, numerics: int = INT8) -> None:
        self.program = _core.CpuProgram(2, numerics)
        self.program.grow_pool(4096)
        data = np.zeros(8 * 34, np.uint8)
        self.program.add_matrix(format_named("Q8_0").type_id, 8, 32, [(data, 8)])
        self.program.add_matrix(0, 4, 16, [(np.zeros(4 * 64, np.uint8), 4)])
        table = np.array([*rows, SCRATCH], np.int64)
        names = [*(f"b{i}" for i in range(len(rows))), "scratch"]
        self.form = self.program.add_form(table, stream([(launch, "scratch") for launch in launches], names), arena)


def test_external_arrays() -> None:
    """A run writes the caller's arrays; too few, too many or too short ones are refused before it begins."""
    form = Form([row(POOL, F32, 8, 0), row(EXTERNAL, F32, 8, 0)], Scale("b0", "b1", 8, 2.0))
    form.program.write(POOL, 0, np.arange(8, dtype=np.float32).view(np.uint8))
    out = np.zeros(9, np.float32)
    form.program.run(form.form, [out])
    np.testing.assert_array_equal(out, [*range(0, 16, 2), 0])
    for arrays in ([], [out, out], [out[:7]]):
        with pytest.raises(UsageError, match="external array"):
            form.program.run(form.form, arrays)


def test_the_arena_is_poisoned() -> None:
    form = Form([row(ARENA, F32, 8, 64), row(EXTERNAL, F32, 8, 0)], Scale("b0", "b1", 8, 1.0))
    out = np.zeros(8, np.float32)
    form.program.run(form.form, [out])
    assert np.isnan(out).all()


POS = row(POOL, I32, 1, 0)
X = row(POOL, F32, 64, 64)
Y = row(POOL, F32, 64, 320)
SMALL = row(POOL, F32, 8, 576)
BIG = row(POOL, F32, 100, 4096 - 396)
NOWHERE = row(POOL, F32, 64, -1)
ODD = row(POOL, F32, 8, 66)
HALF = row(POOL, F16, 64, 1024)
Q = row(POOL, F32, 64, 1088, words=1344, scales=1408)
HALF_Q = row(POOL, F32, 64, 1088, words=1344)
M = row(MATRIX, F32, 256, 0)
WIDE = row(MATRIX, F32, 64, 1)
ATTENTION = Attention("b0", "b1", "b1", "b2", None, "b0", 1, 4, 2, 8, 8, 4, 1.0)
STEP = row(ARENA, I32, 1, 0)  # an index that a launch could compute


def gemv(k: int = 32, n: int = 8, m: int = 1, read_quant: bool = True) -> Gemv:
    return Gemv("b0", "b1", Dest("b2"), k, n, m, read_quant)


def rope(heads: int, half: int) -> Rope:
    return Rope("b0", "b0", "b0", "b1", Dest("b2"), heads, 2, 8, half, RopeLayout.SPLIT)


# Buffers, a launch over them, and what is found wrong.
REFUSALS: dict[str, tuple[Sequence[Row], Launch, str]] = {
    "past the pool": ([X, BIG], Scale("b1", "b0", 100, 1.0), "x: found 100 elements at byte 3700"),
    "past the arena": ([row(ARENA, F32, 64, 3844), X], Scale("b0", "b1", 64, 1.0), "x: found 64 elements at byte 3844"),
    "past the buffer": ([X, SMALL], Scale("b0", "b1", 9, 1.0), "y elements: found 9, allowed 0 to 8"),
    "no array": ([X, NOWHERE], Scale("b0", "b1", 64, 1.0), "y: found none, allowed an array"),
    "unaligned": ([X, ODD], Scale("b0", "b1", 8, 1.0), "y: found offset 66, allowed a multiple of 4"),
    "no such buffer": ([X], Scale("b0", "b7", 8, 1.0), "y: found 7, allowed 0 to 1"),
    "negative length": ([X, Y], Scale("b0", "b1", -1, 1.0), "x elements: found -1"),
    "f16": ([X, HALF], Scale("b0", "b1", 64, 1.0), "y: found element type f16, allowed f32"),
    "i32": ([X, POS], Scale("b0", "b1", 1, 1.0), "y: found element type i32, allowed f32"),
    "matrix as array": ([X, M], Scale("b1", "b0", 8, 1.0), "x: found a matrix, allowed an array"),
    "array as matrix": ([Q, X, Y], gemv(), "w: found space pool, allowed a matrix"),
    "no such matrix": ([Q, row(MATRIX, F32, 0, 9), Y], gemv(), "w: found 9, allowed 0 to 1"),
    "matrix rows": ([Q, M, Y], gemv(n=9), "w: found 8 rows of 32, allowed 9 rows of 32"),
    "matrix columns": ([Q, M, Y], gemv(k=64), "w: found 8 rows of 32, allowed 8 rows of 64"),
    "no quantised form": ([X, M, Y], gemv(), "x, words: found none, allowed an array"),
    "no scales": ([HALF_Q, M, Y], gemv(), "x, scales: found none, allowed an array"),
    "plain for int8": ([X, M, Y], gemv(read_quant=False), "x: found plain, allowed quantised for a matrix in Q8_0"),
    "quantised for f32": ([Q, WIDE, Y], gemv(16, 4), "x: found quantised, allowed plain for a matrix in F32"),
    "no rows": ([Q, M, Y], gemv(m=0), "m: found 0, allowed 1 up"),
    "huge": ([Q, M, Y], gemv(k=2**40, m=2**40), "m: found a size above"),
    "part of a block": ([X, Q], Quant("b0", "b1", 40), "out: found 40 elements, allowed a multiple of 32"),
    "heads a row": ([X, POS, Y], rope(3, 4), "heads: found 3, allowed a multiple of per_row"),
    "half": ([X, POS, Y], rope(2, 5), "half: found 5, allowed 1 to 4"),
    "group": ([X, Y, POS], replace(ATTENTION, heads=3), "heads: found 3, allowed a multiple of group"),
    "cache": ([X, SMALL, POS], ATTENTION, "kc elements: found 64, allowed 0 to 8"),
    "computed position": ([X, Y, STEP], ATTENTION, "pos: found an array that a launch computes"),
    "slice": ([X, Y], Slice("b0", "b1", 4, 8, 6, 3), "width: found 3, allowed 1 to 2"),
    "rows of a table": ([X, POS, Y], SetRow("b0", "b1", "b2", 32, 3), "count: found 3, allowed 1 to 2"),
    "columns of a row": (
        [X, Y],
        Binary(BinaryOp.ADD, "b0", "b1", "b0", 64, 33, True),
        "n: found 64, allowed a",
    ),
    "another's view": ([X, Y], View("b0", "b1", 0, 64), "out: found other bytes"),
    "gather": ([M, POS, Y], Gather("b0", "b1", "b2", 1, 31), "table: found 8 rows of 32, allowed rows of 31"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refused(name: str) -> None:
    """A launch that would reach outside its buffers, or that is none, is refused with its number, kind and operand."""
    rows, launch, message = REFUSALS[name]
    with pytest.raises(UnsupportedError if name in ("f16", "i32") else UsageError) as caught:
        Form(rows, launch)
    assert str(caught.value).startswith(f"cpu: launch 0 ({launch.kind}): ")
    assert message in str(caught.value)


def test_quantised_under_precise_is_refused() -> None:
    with pytest.raises(UsageError, match="x: found quantised, allowed plain for a matrix in Q8_0 under precise"):
        Form([Q, M, Y], gemv(), numerics=0)


def test_second_words_are_needed_under_int8x2() -> None:
    with pytest.raises(UsageError, match="x, second words: found none"):
        Form([Q, M, Y], gemv(), numerics=2)


def test_a_position_written_before_its_use_is_refused() -> None:
    launches = [ArgMax("b0", "b1", "b1", 8, 1, 1), SetRow("b0", "b1", "b2", 8, 1)]
    with pytest.raises(UsageError, match=r"launch 1 \(set_row\): index: found a parameter that an earlier launch"):
        Form([X, POS, Y], *launches)


def test_scratch_must_be_there_and_large_enough() -> None:
    """An arg-max keeps the greatest of each stretch: without room for them it is refused."""
    launch = ArgMax("b0", "b1", "b1", 64, 1, 1)
    program = _core.CpuProgram(1, INT8)
    program.grow_pool(4096)
    short = np.array([X, POS, row(ARENA, F32, 0, 0)], np.int64)
    for scratch, found in (
        (None, "scratch: found none, allowed 4 bytes"),
        ("b2", "scratch elements: found 0, allowed 1"),
    ):
        with pytest.raises(UsageError, match=rf"launch 0 \(argmax\): {found}"):
            program.add_form(short, stream([(launch, scratch)], ["b0", "b1", "b2"]), 64)


def test_needs_are_those_of_the_launches() -> None:
    """Two rows of 130 positions by four heads on two threads: three chunks of 2 + 8 floats a head and row."""
    launch = replace(ATTENTION, rows=2, len=130)
    caches = row(POOL, F32, 130 * 16, 0)
    table = np.array([X, caches, POS], np.int64)
    words = stream([(launch, None)], ["b0", "b1", "b2"])
    for threads, scratch_bytes in ((1, 0), (2, 2 * 4 * 3 * (2 + 8) * 4)):
        [(scratch, thread)] = _core.cpu_needs(table, words, [], INT8, threads)
        assert scratch == scratch_bytes
        assert thread > 0


@pytest.mark.parametrize("cut", range(1, 8))
def test_truncated_records_are_refused(cut: int) -> None:
    form = Form([X, Y], Scale("b0", "b1", 8, 1.0))
    words = stream([(Scale("b0", "b1", 8, 1.0), None)], ["b0", "b1"])
    assert len(words) == 7
    table = np.array([X, Y], np.int64)
    whole_and_part = np.concatenate([words, words])[: len(words) + cut - 1]
    if cut == 1:
        form.program.add_form(table, whole_and_part, 0)
        return
    with pytest.raises(UsageError, match=r"launch 1 \(scale\): record: found fewer words than its fields"):
        form.program.add_form(table, whole_and_part, 0)


@pytest.mark.parametrize("kind", [-1, len(KINDS), 2**62])
def test_unknown_kinds_are_refused(kind: int) -> None:
    form = Form([X], Scale("b0", "b0", 8, 1.0))
    with pytest.raises(UsageError, match=f"kind: found {kind}, allowed 0 to {len(KINDS) - 1}"):
        form.program.add_form(np.array([X], np.int64), np.array([kind, 0, 0, 0], np.int64), 0)


@pytest.mark.parametrize(("column", "value"), [(0, 5), (0, -1), (1, 4), (2, -1)])
def test_bad_tables_are_refused(column: int, value: int) -> None:
    form = Form([X], Scale("b0", "b0", 8, 1.0))
    bad = list(X)
    bad[column] = value
    with pytest.raises(UsageError, match=f"cpu: buffer 0: .*: found {value}"):
        form.program.add_form(np.array([bad], np.int64), np.zeros(0, np.int64), 0)


OUT_OF_RANGE = {
    "set_row": ([X, POS, Y], SetRow("b0", "b1", "b2", 8, 2), 6),
    "rope": ([X, POS, Y], rope(4, 4), 14),
    "attention": ([X, Y, POS], ATTENTION, 3),
    "gather": ([M, POS, Y], Gather("b0", "b1", "b2", 1, 32), 7),
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_positions_past_a_table_are_refused(name: str) -> None:
    """At run time, before anything is written: the last position that fits runs, the next and -1 do not."""
    rows, launch, last = OUT_OF_RANGE[name]
    form = Form(rows, launch)
    for value in (0, last):
        form.program.write(POOL, 0, np.array([value], np.int32).view(np.uint8))
        form.program.run(form.form, [])
    before = form.program.read(POOL, 0, 4096)
    for value in (last + 1, -1, 2**31 - 1, -(2**31)):
        form.program.write(POOL, 0, np.array([value], np.int32).view(np.uint8))
        with pytest.raises(CapacityError, match=f"{name}.*found {value}, allowed 0 to {last}"):
            form.program.run(form.form, [])
        np.testing.assert_array_equal(form.program.read(POOL, 4, 4092), before[4:])


def test_a_repeat_stops_at_the_table_s_end() -> None:
    """Steps before the one that does not fit are done, and stay done."""
    case = chain(np.random.default_rng(6))
    wanted = Device(case).run(repeat=7)
    device = Device(case, threads=3)
    with pytest.raises(CapacityError, match=r"set_row.*found 38, allowed 0 to 35"):
        device.program.run(device.form, [], 50)
    np.testing.assert_array_equal(bits(device.read("table").view(np.float32)), bits(wanted["table"]))


def test_pool_accesses_outside_it_are_refused() -> None:
    program = _core.CpuProgram(1, INT8)
    program.grow_pool(100)
    for offset, size in ((-1, 1), (100, 1), (0, 101), (2**62, 2**62), (5, -1)):
        with pytest.raises(UsageError, match="pool access"):
            program.read(POOL, offset, size)
        with pytest.raises(UsageError, match="pool access"):
            program.zero(POOL, offset, size)
    with pytest.raises(UsageError, match="pool access"):
        program.write(POOL, 98, np.zeros(3, np.uint8))
    with pytest.raises(UsageError, match="space: found matrix, allowed arena, pool or state"):
        program.read(MATRIX, 0, 1)


def test_what_lives_across_steps_may_grow() -> None:
    program = _core.CpuProgram(1, INT8)
    program.grow_pool(64)
    program.grow_states(64)
    first = program.open_state()
    program.write(POOL, 0, np.full(64, 7, np.uint8))
    program.write(STATE, 0, np.full(64, 9, np.uint8), state=first)
    program.grow_pool(128)
    program.grow_states(192)
    np.testing.assert_array_equal(program.read(POOL, 0, 128), [7] * 64 + [0] * 64)
    np.testing.assert_array_equal(program.read(STATE, 0, 192, state=first), [9] * 64 + [0] * 128)
    program.grow_pool(10)
    assert len(program.read(POOL, 0, 128)) == 128


def test_states_live_beside_one_another() -> None:
    """One form on two states: each keeps its own; a closed one is no longer there."""
    program = _core.CpuProgram(1, INT8)
    program.grow_states(64)
    states = [program.open_state(), program.open_state()]
    table = np.array([row(STATE, F32, 8, 0), row(STATE, F32, 8, 32)], np.int64)
    launch = Scale("b0", "b1", 8, 2.0)
    form = program.add_form(table, stream([(launch, None)], ["b0", "b1"]), 0)
    for state in states:
        program.write(STATE, 0, np.full(8, state + 1, np.float32).view(np.uint8), state=state)
    for state in states:
        program.run(form, [], state=state)
    for state in states:
        found = np.asarray(program.read(STATE, 32, 32, state=state)).view(np.float32)
        np.testing.assert_array_equal(found, np.full(8, 2.0 * (state + 1), np.float32))
    program.close_state(states[0])
    for call in (
        lambda: program.run(form, [], state=states[0]),
        lambda: program.close_state(states[0]),
        lambda: program.read(STATE, 0, 1, state=states[0]),
        lambda: program.run(form, []),
    ):
        with pytest.raises(UsageError, match=r"cpu: state: found -?[0-9]+, allowed one that is open"):
            call()
    assert program.open_state() == 2


def test_launches_run_one_by_one_as_together() -> None:
    """What the arena holds after one launch is there for the next; ranges outside the form are refused."""
    launches = [Scale("b0", "b1", 8, 2.0), Scale("b1", "b2", 8, 3.0), Scale("b2", "b0", 8, 0.5)]
    rows = [row(POOL, F32, 8, 0), row(ARENA, F32, 8, 0), row(ARENA, F32, 8, 64)]
    program = _core.CpuProgram(2, INT8)
    program.grow_pool(64)
    form = program.add_form(np.array(rows, np.int64), stream([(s, None) for s in launches], ["b0", "b1", "b2"]), 128)
    program.write(POOL, 0, np.arange(8, dtype=np.float32).view(np.uint8))
    for number in range(3):
        program.run_launches(form, number, number + 1, [])
    np.testing.assert_array_equal(np.asarray(program.read(ARENA, 64, 32)).view(np.float32), 6.0 * np.arange(8))
    np.testing.assert_array_equal(np.asarray(program.read(POOL, 0, 32)).view(np.float32), 3.0 * np.arange(8))
    for first, end in ((-1, 1), (0, 4), (2, 1)):
        with pytest.raises(UsageError, match="cpu: launches: found"):
            program.run_launches(form, first, end, [])


def test_matrices_are_checked() -> None:
    program = _core.CpuProgram(1, INT8)
    data = np.zeros(10 * 34, np.uint8)
    assert program.add_matrix(8, 10, 32, [(data, 10)]) == 0
    assert program.add_matrix(8, 10, 32, [(data[: 3 * 34], 3), (data, 7)]) == 1
    for rows, cols, runs, message in (
        (11, 32, [(data, 10)], "rows of its runs: found 10, allowed 11"),
        (9, 32, [(data, 10)], "rows of a run: found 10, allowed 1 to 9"),
        (10, 32, [(data[1:], 10)], "bytes of a run of 10 rows: found 339"),
        (10, 33, [(data, 10)], "columns: found 33, allowed a multiple of 32"),
        (10, 0, [(data, 10)], "columns: found 0"),
        (10, 2**62, [(data, 10)], "columns|bytes of a run"),
        (0, 32, [], "rows of its runs: found 0"),
    ):
        with pytest.raises(UsageError, match=message):
            program.add_matrix(8, rows, cols, runs)
    with pytest.raises(UnsupportedError, match="tensor type number 4, allowed F32"):
        program.add_matrix(4, 1, 32, [(data, 1)])


@pytest.mark.parametrize("threads", [0, -1, 10**6])
def test_threads_are_checked(threads: int) -> None:
    with pytest.raises(UsageError, match="threads"):
        _core.CpuProgram(threads, INT8)


def test_numerics_are_checked() -> None:
    with pytest.raises(UsageError, match="numerics: found 3"):
        _core.CpuProgram(1, 3)


def test_form_numbers_are_checked() -> None:
    program = _core.CpuProgram(1, INT8)
    with pytest.raises(UsageError, match="form: found 0"):
        program.run(0, [])
