"""What a checkpoint's content reaches, and what must hold of it: it works, or a LaneError says in one line why not.

In: the path of a file that anyone may have written. Promises: bounded processor time (wall time would blame this
program for others); the caller bounds memory.
"""

import itertools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from lane.api import load
from lane.checkpoint.chat import ChatTemplate
from lane.checkpoint.gguf import Checkpoint
from lane.checkpoint.tokenizer import Tokenizer
from lane.errors import CheckpointError, LaneError
from lane.launch.record import Numerics

SECONDS = 10.0  # a tiny checkpoint takes milliseconds
TEXTS = ("", "hello world", " hello\n\nhé <user> <s>x", "\u2581\U0001f600 3,14 <|end|>", "he llo" * 40)


@contextmanager
def file_of(data: bytes) -> Iterator[Path]:
    """A file of these bytes, in memory."""
    file = os.memfd_create("fuzzed")
    try:
        os.write(file, data)
        yield Path(f"/proc/self/fd/{file}")
    finally:
        os.close(file)


@contextmanager
def bounded() -> Iterator[None]:
    """What happens inside takes no more than SECONDS of processor time."""
    start = time.process_time()
    yield
    took = time.process_time() - start
    assert took < SECONDS, f"{took:.1f} s of processor time"


def refused(work: Callable[[], object]) -> bool:
    """Whether the work is refused, in one line of text; anything but a refusal is raised on."""
    try:
        work()
    except LaneError as error:
        text = str(error)
        assert text.isprintable() and text.encode(), text
        return True
    return False


def read_fields(data: bytes) -> None:
    """The checkpoint's Python layer: the file is refused, or all that is in it can be read."""
    with file_of(data) as path:
        try:
            checkpoint = Checkpoint.open(path)
        except LaneError as error:
            assert str(error).startswith("checkpoint: ")
            return
        _read_all(checkpoint)


def read_content(data: bytes) -> None:
    """What the fields say: the tokenizer encodes and decodes, the model runs a prefill and generates."""
    numerics = list(Numerics)[data[-1] % len(Numerics)] if data else Numerics.INT8
    with bounded(), file_of(data) as path:
        refused(lambda: _tokenize(Checkpoint.open(path)))
        refused(lambda: _run(path, numerics))


def render(source: str, template: ChatTemplate) -> None:
    """A chat template: it renders a conversation or is refused."""
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello <s>"},
        {"role": "assistant", "content": "Hi!", "tool_calls": [{"name": "f", "arguments": {"x": 1}}]},
        {"role": "user", "content": "?"},
    ]

    def work() -> None:
        text = template.render(messages, tools=[{"type": "function", "function": {"name": "f"}}]).text
        assert isinstance(text, str)

    refused(work)


def _asked(look_up: Callable[[], object]) -> object | None:
    """What a typed look-up gives, None if it refuses: it may do nothing else."""
    try:
        return look_up()
    except CheckpointError as error:
        assert "; allowed: " in str(error)
        return None


def _read_all(checkpoint: Checkpoint) -> None:
    for key in checkpoint.metadata:
        kind, count = checkpoint.metadata.kind(key)
        value = checkpoint.metadata[key]
        if count is not None:
            assert isinstance(value, np.ndarray | list) and len(value) == count
        number = _asked(lambda key=key: checkpoint.u32(key))
        assert number is None or 0 <= number < 2**32
        _asked(lambda key=key: checkpoint.f32(key, 1.0))
        _asked(lambda key=key: checkpoint.bool_(key))
        _asked(lambda key=key: checkpoint.str_(key))
        for array_kind in ("u32", "i32", "f32", "bool"):
            _asked(lambda key=key, array_kind=array_kind: checkpoint.array(key, array_kind))
        strings = _asked(lambda key=key: checkpoint.strings(key))
        table = _asked(lambda key=key: checkpoint.string_table(key))
        assert (strings is None) == (table is None) == (kind != "string" or count is None)
        if strings is not None:
            blob, offsets = table
            assert strings == [blob[a:b].decode() for a, b in itertools.pairwise(offsets)]
    for info in checkpoint.tensors.values():
        assert checkpoint.data(info.name).size == info.bytes
    assert len(checkpoint.identity().head_sha256) == 64


def _tokenize(checkpoint: Checkpoint) -> None:
    tokenizer = Tokenizer.from_metadata(checkpoint.metadata)
    for text in TEXTS:

        def encode(text: str = text) -> None:
            ids = tokenizer.encode(text)
            assert all(0 <= identity < tokenizer.vocab_size for identity in ids)
            assert isinstance(tokenizer.decode(ids, skip_special=True), str)

        refused(encode)
    for identity in range(min(tokenizer.vocab_size, 100)):
        tokenizer.token_bytes(identity)


def _run(path: Path, numerics: Numerics) -> None:
    model = load(path, numerics=numerics.value, threads=1)
    tokens = [token % model.vocab for token in range(3)][: model.context]
    logits = model.logits(tokens)
    assert logits.shape == (len(tokens), model.vocab)
    np.testing.assert_array_equal(model.logits(tokens, 1), logits)
    refused(lambda: [piece.id for piece in model.generate("he", 1)])
