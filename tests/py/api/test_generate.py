"""Generation: text piece by piece, ends, stop strings, arguments that are refused."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from lane.api import Model
from lane.errors import CapacityError, CheckpointError, UsageError
from tests.py.api.scripted import END, VOCAB, ScriptedEngine, ScriptedSequence, byte_ids, scripted_model

PROMPT = [5, 6, 7]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("checkpoint")


def sequences(model: Model) -> list[ScriptedSequence]:
    assert isinstance(model.engine, ScriptedEngine)
    return model.engine.sequences


def device(model: Model) -> ScriptedSequence:
    """The one sequence that was opened."""
    [only] = sequences(model)
    return only


def test_pieces(folder: Path) -> None:
    model = scripted_model(folder, byte_ids("hello"))
    found = list(model.generate(PROMPT, 5))
    assert [piece.text for piece in found] == list("hello")
    assert [piece.id for piece in found] == byte_ids("hello")
    # The best logit is 20 above 511 others: ln of its share is -511·e^-20, which is -1.05e-6.
    assert all(piece.logprob == pytest.approx(0, abs=3e-6) for piece in found)
    assert device(model).fed == [*PROMPT, *byte_ids("hell")]  # the last token is not fed


def test_the_last_piece_says_why_it_is(folder: Path) -> None:
    cut = scripted_model(folder, byte_ids("hello"))
    assert [piece.finish for piece in cut.generate(PROMPT, 3)] == [None, None, "length"]
    ended = scripted_model(folder, [*byte_ids("hi"), END])
    assert [piece.finish for piece in ended.generate(PROMPT, 3)] == [None, None, "stop"]
    stopped = scripted_model(folder, byte_ids("hello"))
    assert [piece.finish for piece in stopped.generate(PROMPT, 5, stop="el")] == [None, None, "stop"]
    full = scripted_model(folder, byte_ids("hello"), context=4)
    assert [piece.finish for piece in full.generate(PROMPT)] == [None, "length"]


def test_a_text_prompt_is_encoded(folder: Path) -> None:
    model = scripted_model(folder, byte_ids("x"))
    list(model.generate("ab", 1))
    assert device(model).fed == model.tokenizer.encode("ab")


def test_characters_come_whole(folder: Path) -> None:
    text = "aé€😀b"
    model = scripted_model(folder, byte_ids(text))
    found = [piece.text for piece in model.generate(PROMPT, len(text.encode()))]
    assert found == ["a", "", "é", "", "", "€", "", "", "", "😀", "b"]


def test_a_character_cut_by_the_end_is_replaced(folder: Path) -> None:
    model = scripted_model(folder, byte_ids("a€")[:3])
    assert [piece.text for piece in model.generate(PROMPT, 3)] == ["a", "", "\ufffd"]


def test_end_token_is_the_last_piece_and_no_text(folder: Path) -> None:
    model = scripted_model(folder, [*byte_ids("hi"), END, *byte_ids("never")])
    found = list(model.generate(PROMPT, 10))
    assert [piece.text for piece in found] == ["h", "i", ""]
    assert found[-1].id == END
    assert model.timings.decode_tokens == 2


def test_end_token_releases_what_was_held_back(folder: Path) -> None:
    model = scripted_model(folder, [*byte_ids("hi S"), END])
    assert [piece.text for piece in model.generate(PROMPT, 10, stop="STOP")] == ["h", "i", " ", "", "S"]


def test_nothing_follows_a_stop_string_met_by_the_last_token(folder: Path) -> None:
    model = scripted_model(folder, byte_ids("a!€")[:3])
    assert "".join(piece.text for piece in model.generate(PROMPT, 2, stop="!")) == "a"


@pytest.mark.parametrize("stop", ["lo, w", ["zzz", "lo, w"]])
def test_stop_string_over_many_pieces(folder: Path, stop: str | list[str]) -> None:
    model = scripted_model(folder, byte_ids("hello, world"))
    found = list(model.generate(PROMPT, 12, stop=stop))
    assert "".join(piece.text for piece in found) == "hel"
    assert len(device(model).fed) == len(PROMPT) + len("hello, ")  # it stopped at the w, which is not fed


def test_text_that_only_began_a_stop_string_is_shown(folder: Path) -> None:
    model = scripted_model(folder, byte_ids("ab EN"))
    assert [piece.text for piece in model.generate(PROMPT, 5, stop="END")] == ["a", "b", " ", "", "EN"]


def test_stop_string_within_a_multibyte_character_s_text(folder: Path) -> None:
    model = scripted_model(folder, byte_ids("1€2"))
    assert "".join(piece.text for piece in model.generate(PROMPT, 5, stop="€")) == "1"


def test_until_the_context_is_full(folder: Path) -> None:
    model = scripted_model(folder, byte_ids("x") * 99, context=10)
    found = list(model.generate(PROMPT))
    assert len(found) == model.room(PROMPT) == 8
    assert len(device(model).fed) == 10


def test_progress_hears_of_every_chunk(folder: Path) -> None:
    model = scripted_model(folder, byte_ids("x"))
    heard: list[tuple[int, int]] = []
    list(model.generate([5] * 13, 1, progress=lambda done, total: heard.append((done, total))))
    assert heard == [(8, 13), (12, 13), (13, 13)]
    assert device(model).chunks == [8, 4, 1]


def test_sampled_tokens_repeat_by_seed(folder: Path) -> None:
    def run(seed: int) -> list[int]:
        model = scripted_model(folder, [5] * 20)
        return [piece.id for piece in model.generate(PROMPT, 20, temperature=20.0, seed=seed)]

    assert run(3) == run(3) != run(4)


def test_generations_beside_one_another_have_sequences_of_their_own(folder: Path) -> None:
    model = scripted_model(folder, byte_ids("hello"))
    first, second = model.generate(PROMPT, 5), model.generate([8, 9], 5)
    turns = [(a.text, b.text) for a, b in zip(first, second, strict=True)]
    assert turns == [(c, c) for c in "hello"]
    assert [sequence.fed for sequence in sequences(model)] == [[*PROMPT, *byte_ids("hell")], [8, 9, *byte_ids("hell")]]
    assert sorted(sequence.closed for sequence in sequences(model)) == [False, True]  # one is kept for what may follow
    begun = model.generate(PROMPT, 5)
    next(begun)
    model.logits(PROMPT)
    assert "".join(piece.text for piece in begun) == "ello"


def test_one_that_is_not_read_to_its_end_gives_its_sequence_back(folder: Path) -> None:
    model = scripted_model(folder, byte_ids("hello"))
    for _ in range(5):
        next(model.generate(PROMPT, 5))
    assert len(sequences(model)) == 1


def test_a_session_of_one_s_own_is_left_alone(folder: Path) -> None:
    model = scripted_model(folder, byte_ids("hello"))
    session = model.session()
    list(model.generate(PROMPT, 3, session=session))
    list(model.generate([8], 3))
    assert list(session.held) == [*PROMPT, *byte_ids("he")]
    list(model.generate([*PROMPT, 9], 1, session=session))
    assert model.timings.prefill_tokens == 1
    assert len(sequences(model)) == 2


def test_a_prompt_that_continues_is_run_from_there(folder: Path) -> None:
    model = scripted_model(folder, [5] * 9)
    list(model.generate(PROMPT, 3))
    held = [*PROMPT, 5, 5]
    list(model.generate([*held, 8, 9], 1))
    assert (device(model).resets, device(model).fed) == (1, [*held, 8, 9])
    assert device(model).chunks == [2, 1, 2]
    assert model.timings.prefill_tokens == 2


@pytest.mark.parametrize(
    ("prompt", "common"), [(PROMPT, 2), ([*PROMPT, 5, 5], 4), ([*PROMPT, 5, 6, 7, 8], 4), ([9, 8], 0), ([5], 0)]
)
def test_a_prompt_that_begins_alike_is_run_from_where_it_differs(folder: Path, prompt: list[int], common: int) -> None:
    model = scripted_model(folder, [5] * 9)
    list(model.generate(PROMPT, 3))
    list(model.generate(prompt, 1))
    assert (device(model).resets, device(model).fed) == (2 if common == 0 else 1, prompt)
    assert model.timings.prefill_tokens == len(prompt) - common


@pytest.mark.parametrize("prompt", [PROMPT, [*PROMPT, 5, 6, 7, 8]])
def test_state_that_cannot_go_back_is_run_from_the_start(folder: Path, prompt: list[int]) -> None:
    model = scripted_model(folder, [5] * 9, can_rewind=False)
    list(model.generate(PROMPT, 3))
    list(model.generate(prompt, 1))
    assert (device(model).resets, device(model).fed) == (2, prompt)
    list(model.generate([*prompt, 7], 1))
    assert device(model).resets == 2  # what was held is how it begins


def test_nothing_continues_a_step_that_did_not_return(folder: Path) -> None:
    model = scripted_model(folder, [5] * 9)
    list(model.generate([*PROMPT, 8], 1))
    device(model).fails = True
    with pytest.raises(KeyboardInterrupt):
        list(model.generate([*PROMPT, 8, 9], 1))
    device(model).fails = False
    resets = device(model).resets
    list(model.generate([*PROMPT, 8, 9], 1))
    assert device(model).resets == resets + 1


def test_logits_shape(folder: Path) -> None:
    found = scripted_model(folder, []).logits(PROMPT)
    assert (found.shape, found.dtype) == ((3, VOCAB), np.float32)


@pytest.mark.parametrize(
    ("prompt", "n", "error", "said"),
    [
        ([], 1, UsageError, "0 tokens"),
        ([5], 0, UsageError, "n is 0, allowed a whole number, 1 or more"),
        ([5, VOCAB], 1, UsageError, f"token id is {VOCAB}, allowed a whole number, 0 to {VOCAB - 1}"),
        ([5, -1], 1, UsageError, "token id is -1"),
        ([5] * 11, 1, CapacityError, "11 tokens and 1 generated need 11 positions, allowed 10"),
        ([5] * 6, 6, CapacityError, "6 tokens and 6 generated need 11 positions, allowed 10"),
        ([5] * 11, None, CapacityError, "allowed 10 (the context)"),
        ("a\ud800", 1, UsageError, "surrogate"),
    ],
)
def test_refusals_come_before_anything_runs(
    folder: Path, prompt: str | list[int], n: int | None, error: type[Exception], said: str
) -> None:
    model = scripted_model(folder, byte_ids("x") * 99, context=10)
    with pytest.raises(error) as caught:
        model.generate(prompt, n)
    assert said in str(caught.value)


def test_as_many_as_fit(folder: Path) -> None:
    model = scripted_model(folder, byte_ids("x") * 99, context=10)
    assert len(list(model.generate([5] * 6, 5))) == 5
    assert len(list(model.generate([5] * 10, 1))) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": -1.0},
        {"temperature": "hot"},
        {"temperature": None},
        {"top_k": 0},
        {"top_k": 1.5},
        {"top_p": "1"},
        {"min_p": True},
        {"seed": -3},
        {"seed": 1.5},
        {"stop": ""},
        {"stop": None},
        {"stop": [5]},
        {"stop": b"x"},
        {"progress": 5},
        {"n": 2.5},
        {"n": True},
        {"n": "3"},
    ],
)
def test_refused_options(folder: Path, options: dict[str, object]) -> None:
    model = scripted_model(folder, byte_ids("x"))
    name = next(iter(options))
    with pytest.raises(UsageError) as caught:
        model.generate(PROMPT, **options)  # type: ignore[arg-type]
    assert name in str(caught.value) and ", allowed " in str(caught.value)


BAD_IDS = [[1.5], [True], [None], ["a"], [[1, 2]], np.array([[1, 2]]), np.array([1.5]), [2**70], 5, None, b"hi"]


@pytest.mark.parametrize("ids", BAD_IDS, ids=repr)
def test_refused_ids(folder: Path, ids: object) -> None:
    model = scripted_model(folder, byte_ids("x"))
    for call in (model.generate, model.logits):
        with pytest.raises(UsageError, match=r"prompt.*, allowed "):
            call(ids)  # type: ignore[arg-type]


@pytest.mark.parametrize("ids", [(5, 6, 7), range(5, 8), iter(PROMPT), np.array(PROMPT), np.array(PROMPT, np.uint8)])
def test_ids_of_any_kind(folder: Path, ids: list[int]) -> None:
    model = scripted_model(folder, byte_ids("x"))
    list(model.generate(ids, 1))
    assert device(model).fed == PROMPT


@pytest.mark.parametrize("chunk", [0, 1.5, "1", True])
def test_refused_chunks(folder: Path, chunk: int) -> None:
    with pytest.raises(UsageError, match=r"chunk is .*, allowed a whole number, 1 or more"):
        scripted_model(folder, []).logits(PROMPT, chunk)


def test_a_text_that_cannot_fit_is_refused_unread(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = scripted_model(folder, byte_ids("x"), context=10)
    longest = model.tokenizer.longest_bytes
    monkeypatch.setattr(type(model.tokenizer), "_ids", lambda *_: [5])
    assert model.encode("a" * 10 * longest) == [5]
    for text in ("a" * (10 * longest + 1), "é" * (5 * longest + 1)):
        with pytest.raises(CapacityError, match=f"a text of {len(text.encode())} bytes, allowed {10 * longest}"):
            model.generate(text, 1)


def test_weights_that_give_no_numbers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = scripted_model(folder, [])
    row = np.zeros(VOCAB, np.float32)
    row[7] = np.nan
    monkeypatch.setattr(ScriptedSequence, "logits", lambda _: row)
    with pytest.raises(CheckpointError, match="logits at position 2 hold NaN"):
        list(model.generate(PROMPT, 2))


def test_threads_have_sequences_of_their_own(folder: Path) -> None:
    """Three threads are inside a generation at once, and none hears of the others."""
    model = scripted_model(folder, byte_ids("hello"))
    inside = threading.Barrier(3)
    found: list[str] = []

    def generate(prompt: list[int]) -> None:
        pieces = model.generate(prompt, 5)
        text = next(pieces).text
        inside.wait()
        found.append(text + "".join(piece.text for piece in pieces))

    threads = [threading.Thread(target=generate, args=([5, 6, n],)) for n in (7, 8, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["hello"] * 3
    assert sorted(sequence.fed[:3] for sequence in sequences(model)) == [[5, 6, n] for n in (7, 8, 9)]


def test_a_callback_may_begin_another_sequence(folder: Path) -> None:
    model = scripted_model(folder, byte_ids("hello"))
    found = list(model.generate([5] * 13, 5, progress=lambda done, total: model.logits(PROMPT)))  # type: ignore[arg-type]
    assert "".join(piece.text for piece in found) == "hello"
