"""`lane run`'s prompts: where they come from, what of them is control, and what is said of what goes unread."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.make_checkpoint import SIZES, make
from lane import load
from lane.sampling import Sampling
from lane.sampling_defaults import CONVERSATION, conversation_sampling
from tests.py.cli.checkpoints import changed, replaced, with_entries
from tests.py.cli.conftest import Lane

TEMPLATE = "{{ bos_token if loud }}{% for m in messages %}[{{ m.role }}]{{ m.content }}\n{% endfor %}[assistant]"
GREEDY = ("-n", "8", "--temp", "0")


def said(model: Path, prompt: str | list[int]) -> str:
    """What the best tokens are after a prompt, as the command line shows them."""
    return "".join(piece.text for piece in load(model).generate(prompt, 8)) + "\n"


@pytest.fixture(scope="module")
def chatty(folder: Path) -> Path:
    path = folder / "chatty_prompts.gguf"
    make(path, "llama", SIZES["tiny"], ("Q8_0", "Q8_0"), template=TEMPLATE)
    return path


def test_llama_cpp_s_short_options(process: Lane, model: Path, tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("abc")
    outcome = process("run", "-m", model, "-c", 64, "-t", 1, "-f", tmp_path / "prompt.txt", *GREEDY)
    assert (outcome.code, outcome.out) == (0, said(model, "abc"))
    assert process("plan", "-m", model, "-c", 64).code == 0


def test_a_model_is_given_once(lane: Lane, model: Path) -> None:
    outcome = lane("run", model, "-m", model, "-p", "a")
    assert outcome.code == 2 and "MODEL and -m, allowed one of them" in outcome.error()
    assert "Missing argument 'MODEL'" in lane("run", "-p", "a").error()


def test_a_prompt_from_a_file(process: Lane, model: Path, tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(b"\xef\xbb\xbfabc")
    assert process("run", model, "--file", tmp_path / "p", *GREEDY).out == said(model, "abc")
    outcome = process("run", model, "-f", tmp_path / "none")
    assert outcome.code == 2 and "-f: '" in outcome.error() and "No such file" in outcome.error()
    outcome = process("run", model, "-f", tmp_path / "p", "-p", "abc")
    assert outcome.code == 2 and "more than one of -p TEXT, -f FILE" in outcome.error()


def test_a_mark_of_byte_order_is_no_text(process: Lane, model: Path) -> None:
    assert process("run", model, *GREEDY, stdin=b"\xef\xbb\xbfabc").out == said(model, "abc")


def test_plain_text_has_no_control_tokens(process: Lane, model: Path) -> None:
    text = "a</s>b"
    tokenizer = load(model).tokenizer
    read, plain = (tokenizer.prompt(text, parse_special=parse) for parse in (True, False))
    assert len(read) < len(plain)
    assert process("run", model, "-p", text, *GREEDY).out == said(model, read)
    assert process("run", model, "-p", text, "--plain", *GREEDY).out == said(model, plain)


def test_a_turn_has_no_control_tokens(process: Lane, chatty: Path) -> None:
    """As the same text without the template that is parsed as text, the template holding no control tokens."""
    tokenizer = load(chatty).tokenizer
    ids = tokenizer.prompt("[user]a</s>b\n[assistant]", parse_special=False)
    assert process("run", chatty, "--chat", "a</s>b", *GREEDY).out == said(chatty, ids)


@pytest.mark.parametrize("arguments", [("-p", "abc"), ("--tokens", "5,6"), ("--chat", "abc")])
@pytest.mark.parametrize("stdin", [b"", b"more"])
def test_a_text_on_stdin_that_is_not_read_is_said(
    process: Lane, chatty: Path, arguments: tuple[str, ...], stdin: bytes
) -> None:
    outcome = process("run", chatty, *arguments, *GREEDY, stdin=stdin)
    assert outcome.code == 0
    warning = "lane: warning: run: stdin holds a text that is not read, since the prompt is another\n"
    assert outcome.err.startswith(warning if stdin else "lane: load ")


def test_a_template_of_a_file_with_variables(process: Lane, chatty: Path, tmp_path: Path) -> None:
    (tmp_path / "t.jinja").write_text("{{ who }}{{ 'yes' if really else 'no' }}: {{ messages[0].content }}")
    template = ("--chat-template-file", tmp_path / "t.jinja")
    variables = ("--chat-var", "who=me", "--chat-var", "really=false")
    outcome = process("run", chatty, "--chat", "abc", *template, *variables, *GREEDY)
    assert outcome.out == said(chatty, "meno: abc")
    outcome = process("run", chatty, "--chat", "abc", *template, "--chat-var", "really")
    assert outcome.code == 2 and "--chat-var 'really', allowed NAME=VALUE" in outcome.error()
    outcome = process("run", chatty, "--chat", "abc", "--chat-template-file", tmp_path)
    assert outcome.code == 2 and "Is a directory" in outcome.error()


@pytest.mark.parametrize("arguments", [("-p", "x" * 600), ("--chat", "x" * 600), ("--tokens", "5," * 600)])
def test_what_does_not_fit_says_how_it_might(process: Lane, chatty: Path, arguments: tuple[str, ...]) -> None:
    outcome = process("run", chatty, *arguments)
    assert outcome.code == 5
    assert "(the context); --ctx N holds more, up to 131072" in outcome.error()


@pytest.mark.parametrize(
    ("arguments", "cut"),
    [
        (("-n", "3"), "cut off after 3 tokens by -n"),
        (("--ctx", "9"), "cut off after 8 tokens by the context"),
        (("-n", "40", "--stop", "{stop}"), None),
    ],
)
def test_a_text_that_was_cut_off_is_said(
    process: Lane, model: Path, arguments: tuple[str, ...], cut: str | None
) -> None:
    text = "".join(piece.text for piece in load(model).generate([5, 6], 40))
    words = [word.format(stop=next(filter(str.isprintable, text))) for word in arguments]
    err = process("run", model, "--tokens", "5,6", *words).err
    assert ("cut off" in err) == (cut is not None)
    assert cut is None or f"; {cut}; memory" in err


# --- sampling ---------------------------------------------------------------------------------------------------------


def test_a_conversation_is_sampled_and_a_prompt_continued_by_the_best(process: Lane, chatty: Path) -> None:
    usual = {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05, "seed": 7}
    assert Sampling(
        **usual,
    ) == Sampling(**{**vars_of(CONVERSATION), "seed": 7})
    wanted = "".join(p.text for p in load(chatty).generate("[user]abc\n[assistant]", 30, **usual))
    assert process("run", chatty, "--chat", "abc", "-n", "30", "--seed", "7").out == wanted + "\n"
    assert process("run", chatty, "-p", "abc", "-n", "8", "--seed", "7").out == said(chatty, "abc")


def test_a_checkpoint_s_own_sampling_comes_first(process: Lane, chatty: Path, folder: Path) -> None:
    entries = with_entries(
        general__sampling__temp=1.5, general__sampling__top_k=0, general__sampling__penalty_repeat=1.25
    )
    path = folder / "own_sampling.gguf"
    path.write_bytes(entries(chatty.read_bytes()))
    own = {"temperature": 1.5, "top_p": 0.95, "min_p": 0.05, "seed": 7}
    wanted = "".join(p.text for p in load(path).generate("[user]abc\n[assistant]", 30, **own))
    outcome = process("run", path, "--chat", "abc", "-n", "30", "--seed", "7")
    assert outcome.out == wanted + "\n"
    assert "warning: sampling: general.sampling.penalty_repeat is 1.25: lane has no such filter" in outcome.err
    asked = "".join(p.text for p in load(path).generate("[user]abc\n[assistant]", 30, **{**own, "temperature": 0.5}))
    assert process("run", path, "--chat", "abc", "-n", "30", "--seed", "7", "--temp", "0.5").out == asked + "\n"


@pytest.mark.parametrize(
    ("stored", "changes", "warnings"),
    [
        ({}, {}, 0),
        (
            {"temp": 0.6, "top_k": 20, "top_p": 0.9, "min_p": 0.0},
            {"temperature": 0.6, "top_k": 20, "top_p": 0.9, "min_p": None},
            0,
        ),
        ({"temp": -1.0, "top_k": -1, "top_p": 1.0}, {"temperature": 0.0, "top_k": None, "top_p": None}, 0),
        ({"penalty_repeat": 1.0, "xtc_probability": 0.0, "mirostat": 0, "penalty_last_n": 64}, {}, 0),
        ({"penalty_repeat": 1.1, "mirostat": 2, "sequence": "top_k;temp"}, {}, 3),
        ({"temp": "hot", "top_k": True, "top_p": float("nan")}, {}, 3),
    ],
)
def test_stored_sampling(stored: dict[str, object], changes: dict[str, object], warnings: int) -> None:
    metadata = {f"general.sampling.{key}": value for key, value in stored.items()}
    found, said = conversation_sampling({"general.name": "x", **metadata})
    assert found == Sampling(**{**vars_of(CONVERSATION), **changes})  # type: ignore[arg-type]
    assert len(said) == warnings and all(text.startswith("sampling: general.sampling.") for text in said)


def vars_of(sampling: Sampling) -> dict[str, object]:
    return {name: getattr(sampling, name) for name in Sampling.__slots__}


def test_an_end_token_after_each_text_does_not_end_a_chat(process: Lane, chatty: Path, folder: Path) -> None:
    path = folder / "adds_eos.gguf"
    path.write_bytes(with_entries(tokenizer__ggml__add_eos_token=True)(chatty.read_bytes()))
    assert load(path).tokenizer.rules.adds_eos
    for words, prompt in ((("--chat", "abc"), "[user]abc\n[assistant]"), (("-p", "abc"), "abc")):
        assert process("run", path, *words, *GREEDY).out == said(chatty, prompt)


def test_a_missing_pre_tokenizer_is_said(process: Lane, folder: Path) -> None:
    path = changed(folder, "no_pre", replaced(b"tokenizer.ggml.pre", b"tokenizer.ggml.xxx"))
    err = process("run", path, "-p", "abc", "-n", "2").err
    assert err.startswith("lane: warning: tokenizer: tokenizer.ggml.pre is missing: texts are cut by a default rule")
    assert json.loads(process("inspect", path, "--json").out)["warnings"]
