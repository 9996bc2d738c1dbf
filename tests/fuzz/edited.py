"""Checkpoints a few edits away from good ones, so that what they say is reached and not only how they say it.

In: bytes, read as choices: a family, a tokenizer, then edits of metadata and tensors, most of them to values at the
edges of what a field may hold. Out: a GGUF file whose own fields are in order: counts, lengths and offsets are written
for whatever the edits left.
"""

import dataclasses
import struct
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from lane.models.registry import ARCHITECTURES
from lane.quant.registry import FORMATS
from tests.fuzz.choices import Choices
from tests.py.checkpoint.raw_gguf import KINDS, NUMBERS, Entry, File, Tensor, array, number, scalar, string
from tests.py.models.tiny import VOCAB, Value, tiny

MAX_EDITS = 12
MAX_DATA_BYTES = 1 << 18
ALIGNMENT = 32

FAMILIES = tuple(architecture.name for architecture in ARCHITECTURES)
TOKENIZERS = ("llama", "gpt2", "gemma4")
BLOCKS = {format.type_id: (format.block_elems, format.block_bytes) for format in FORMATS}
TYPES = (*sorted(BLOCKS), 24, 26, 28, 15, 36)  # beside the formats: I8, I32, F64, Q8_K, one of no meaning

WHOLE = (0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 40, 64, 100, 256, 4096, 1 << 16, 1 << 24, (1 << 31) - 1, 1 << 31)
WIDE = (*WHOLE, (1 << 32) - 1, 1 << 32, 1 << 62, (1 << 63) - 1, -1, -2, -(1 << 31), -(1 << 63))
REAL = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-5, 1e-30, 1e-45, 1e30, 3.4e38, float("inf"), float("-inf"), float("nan"), 10000.0)
DIMS = (1, 2, 3, 4, 5, 7, 8, 16, 24, 31, 32, 33, 40, 48, 64, 80, 96, 128, 256, 512)
WORDS = (
    *(
        b"",
        b"a",
        b" ",
        b"\n",
        b"hello",
        b"none",
        b"linear",
        b"yarn",
        b"longrope",
        b"su",
        b"dynamic",
        b"<0x-1>",
        b"<0x41>",
    ),
    *(b"gpt-2", b"default", b"llama-bpe", b"llama3", b"qwen2", b"phi-3", b"deepseek-llm", b"mpt", b"refact", b"<0x41>"),
    *(b"bert", b"t5", b"rwkv", b"none", b"\xe2\x96\x81", b"\xf0\x9f\x98\x80", b"he l", b" lo", b"h  e", b"\xc4\xa0h e"),
    *(name.encode() for name in FAMILIES + TOKENIZERS),
)

# Keys that a file may have beside those of the base; of the first kind under the architecture's own prefix.
OWN_KEYS = (
    "vocab_size", "block_count", "context_length", "embedding_length", "feed_forward_length", "attention.head_count",
    "attention.head_count_kv", "attention.key_length", "attention.value_length", "attention.layer_norm_epsilon",
    "attention.layer_norm_rms_epsilon", "attention.sliding_window", "attention.sliding_window_pattern",
    "attention.scale", "attention.causal", "attention.clamp_kqv", "attn_logit_softcapping", "final_logit_softcapping",
    "rope.dimension_count", "rope.freq_base", "rope.freq_base_swa", "rope.scale_linear", "rope.scaling.type",
    "rope.scaling.factor", "rope.scaling.attn_factor", "rope.scaling.original_context_length",
    "rope.scaling.finetuned", "rope.scaling.yarn_ext_factor", "rope.scaling.yarn_attn_factor",
    "rope.scaling.yarn_beta_fast", "rope.scaling.yarn_beta_slow", "expert_count", "expert_used_count",
    "embedding_scale", "residual_scale", "logit_scale", "pooling_type", "nextn_predict_layers",
    "expert_feed_forward_length", "expert_shared_feed_forward_length", "expert_shared_count", "expert_group_count",
    "expert_group_used_count", "expert_gating_func", "expert_weights_scale", "expert_weights_norm",
    "leading_dense_block_count", "full_attention_interval", "attention.recurrent_layers", "ssm.conv_kernel",
    "ssm.state_size", "ssm.group_count", "ssm.time_step_rank", "ssm.inner_size", "shortconv.l_cache",
    "attention.q_lora_rank", "attention.kv_lora_rank", "attention.key_length_mla", "attention.value_length_mla",
    "rope.scaling.yarn_log_multiplier", "rope.dimension_sections",
)  # fmt: skip
TOKENIZER_KEYS = (
    "model", "pre", "tokens", "token_type", "scores", "merges", "bos_token_id", "eos_token_id", "eot_token_id",
    "eom_token_id", "unknown_token_id", "padding_token_id", "add_bos_token", "add_eos_token", "add_space_prefix",
    "fim_pre_token_id", "remove_extra_whitespaces",
)  # fmt: skip

LETTERS = "hello wrd"
SPM = ["<unk>", "<s>", "</s>", "<0x0A>", "<0xC3>", "<0xA9>", "▁", *sorted(set("helowrd")), "he", "ll", "llo", "hello"]
SPM += ["▁hello", "▁w", "or", "▁wor", "▁▁", "<user>"]
BPE = ["<|end|>", "Ġ", "Ċ", "Ã", "©", *sorted(set("helowrd")), "he", "ll", "llo", "hello", "Ġhello", "Ġw", "or"]
MERGES = ["h e", "l l", "ll o", "he llo", "Ġ hello", "Ġ w", "o r"]


@dataclasses.dataclass(frozen=True)
class Base:
    """A good checkpoint: its metadata, and its tensors with their values' bytes."""

    entries: tuple[Entry, ...]
    tensors: tuple[tuple[Tensor, bytes], ...]


@dataclasses.dataclass
class Draft:
    """A checkpoint that is being edited."""

    family: str
    entries: list[Entry]
    tensors: list[tuple[Tensor, bytes]]


@cache
def base(family: str, kind: str, optional: bool) -> Base:
    """A family's tiny checkpoint, with or without the tensors it may have, and a tokenizer of the kind."""
    made = tiny(family, optional=optional)
    entries = [scalar("general.architecture", "string", family.encode())]
    entries += [_entry(f"{family}.{key}", value) for key, value in made.metadata.items()]
    tensors = [
        (Tensor(name.encode(), array.shape[::-1]), array.astype("<f4").tobytes())
        for name, array in made.tensors.items()
    ]
    return Base((*entries, *_tokenizer(kind)), tuple(tensors))


def edited(data: bytes) -> bytes:
    """The file that the choices make."""
    choices = Choices(data)
    family = choices.one_of(FAMILIES)
    good = base(family, choices.one_of(TOKENIZERS), bool(choices.below(2)))
    draft = Draft(family, list(good.entries), list(good.tensors))
    for _ in range(MAX_EDITS):
        if not choices.more or not draft.entries or not draft.tensors:
            break
        choices.one_of(EDITS)(draft, choices)
    return _build(draft)


# --- edits ------------------------------------------------------------------------------------------------------------


def _set_value(draft: Draft, choices: Choices) -> None:
    """Another value, often of another kind, for a key that is there."""
    i = choices.below(len(draft.entries))
    draft.entries[i] = _valued(draft.entries[i].key, choices)


def _add_key(draft: Draft, choices: Choices) -> None:
    """A value for a key that files may have."""
    if choices.below(3):
        key = f"{draft.family}.{choices.one_of(OWN_KEYS)}"
    else:
        key = f"tokenizer.ggml.{choices.one_of(TOKENIZER_KEYS)}"
    draft.entries = [entry for entry in draft.entries if entry.key != key.encode()]
    draft.entries.append(_valued(key.encode(), choices))


def _drop_key(draft: Draft, choices: Choices) -> None:
    del draft.entries[choices.below(len(draft.entries))]


def _edit_array(draft: Draft, choices: Choices) -> None:
    """An array's length cut or doubled, or some bytes of its numbers changed; strings exchanged."""
    arrays = [i for i, entry in enumerate(draft.entries) if entry.element_kind is not None]
    if not arrays:
        return
    i = choices.one_of(arrays)
    entry = draft.entries[i]
    assert entry.element_kind is not None
    elements = _elements(entry)
    change = choices.below(4)
    at = choices.below(max(1, len(elements)))
    if change == 0:
        del elements[at:]
    elif change == 1:
        elements += elements[at:]
    elif change == 2 and elements:
        elements[at] = elements[choices.below(len(elements))]
    elif elements and entry.element_kind == KINDS["string"]:
        elements[at] = string(_word(choices))
    elif elements:
        elements[at] = choices.bytes(len(elements[at])).ljust(len(elements[at]), b"\0")
    draft.entries[i] = dataclasses.replace(entry, value=b"".join(elements), count=len(elements))


def _reshape(draft: Draft, choices: Choices) -> None:
    i = choices.below(len(draft.tensors))
    tensor, data = draft.tensors[i]
    dims = list(tensor.dims)
    dims[choices.below(len(dims))] = choices.one_of(DIMS)
    if choices.below(4) == 0:
        dims.append(choices.one_of((1, 2)))
    draft.tensors[i] = dataclasses.replace(tensor, dims=dims[:4]), data


def _retype(draft: Draft, choices: Choices) -> None:
    """Another type for one tensor, or for all that can be of it."""
    type_id = choices.one_of(TYPES)
    elems = BLOCKS.get(type_id, (1, 1))[0]
    chosen = choices.below(len(draft.tensors) + 1) - 1
    for i, (tensor, data) in enumerate(draft.tensors):
        if i == chosen or (chosen < 0 and len(tensor.dims) > 1 and tensor.dims[0] % elems == 0):
            draft.tensors[i] = dataclasses.replace(tensor, type_id=type_id), data


def _refill(draft: Draft, choices: Choices) -> None:
    """Other bytes in one tensor: NaN, infinities, zeros, or whatever is drawn."""
    i = choices.below(len(draft.tensors))
    tensor = draft.tensors[i][0]
    fill = choices.one_of((b"\0\0\xc0\x7f", b"\0\0\x80\x7f", b"\0\0\x80\xff", bytes(4), b"\xff" * 4, b"", b"\1\0\0\0"))
    draft.tensors[i] = tensor, (fill or choices.bytes(8) or b"\7")


def _drop_tensor(draft: Draft, choices: Choices) -> None:
    del draft.tensors[choices.below(len(draft.tensors))]


def _rename_tensor(draft: Draft, choices: Choices) -> None:
    """Another layer's number, another part, or no name that means anything."""
    i = choices.below(len(draft.tensors))
    tensor, data = draft.tensors[i]
    name = tensor.name
    change = choices.below(4)
    if change == 0:
        name = name.replace(b".1.", b".0.") if b".1." in name else name.replace(b".0.", b".1.")
    elif change == 1:
        name = name.replace(b".weight", b".bias") if b".weight" in name else name.replace(b".bias", b".weight")
    elif change == 2:
        name = choices.one_of([other.name for other, _ in draft.tensors])
    else:
        name += b".scale"
    draft.tensors[i] = dataclasses.replace(tensor, name=name), data


def _resize(draft: Draft, choices: Choices) -> None:
    """One dimension of the whole model: every tensor that has it, and every key that holds it."""
    old, new = choices.one_of((2, 4, 8, 16, 32, VOCAB, 64)), choices.one_of(DIMS)
    for i, (tensor, data) in enumerate(draft.tensors):
        draft.tensors[i] = dataclasses.replace(tensor, dims=[new if d == old else d for d in tensor.dims]), data
    for i, entry in enumerate(draft.entries):
        if entry.kind == KINDS["u32"] and entry.value == struct.pack("<I", old):
            draft.entries[i] = dataclasses.replace(entry, value=struct.pack("<I", new))


EDITS: tuple[Callable[[Draft, Choices], None], ...] = (
    _set_value,
    _add_key,
    _add_key,
    _drop_key,
    _edit_array,
    _reshape,
    _retype,
    _refill,
    _drop_tensor,
    _rename_tensor,
    _resize,
)


# --- parts of a file --------------------------------------------------------------------------------------------------


def _entry(key: str, value: Value) -> Entry:
    if isinstance(value, bool):
        return scalar(key, "bool", value)
    if isinstance(value, float):
        return scalar(key, "f32", value)
    if isinstance(value, list):
        return array(key, "u32", value)
    assert isinstance(value, int)
    return scalar(key, "u32", value)


def _tokenizer(kind: str) -> list[Entry]:
    tokens = BPE if kind == "gpt2" else SPM
    tokens = tokens + [f"<unused{i}>" for i in range(VOCAB - len(tokens))]
    types = [3 if t.startswith("<") and len(t) > 2 and not t.startswith("<0x") else 1 for t in tokens]
    types = [6 if t.startswith("<0x") else k for t, k in zip(tokens, types, strict=True)]
    values: Mapping[str, Entry] = {
        "model": scalar("tokenizer.ggml.model", "string", kind.encode()),
        "tokens": array("tokenizer.ggml.tokens", "string", [t.encode() for t in tokens]),
        "token_type": array("tokenizer.ggml.token_type", "i32", types),
        "scores": array("tokenizer.ggml.scores", "f32", [float(len(t)) for t in tokens]),
        "merges": array("tokenizer.ggml.merges", "string", [m.encode() for m in MERGES]),
        "bos_token_id": scalar("tokenizer.ggml.bos_token_id", "u32", 0 if kind == "gpt2" else 1),
        "eos_token_id": scalar("tokenizer.ggml.eos_token_id", "u32", 0 if kind == "gpt2" else 2),
        "pre": scalar("tokenizer.ggml.pre", "string", b"gpt-2"),
    }
    left_out = {"llama": ("merges", "pre"), "gpt2": ("scores",), "gemma4": ("pre", "merges")}[kind]
    entries = [entry for name, entry in values.items() if name not in left_out]
    if kind == "gemma4":
        entries.append(array("tokenizer.ggml.merges", "string", [b"h e", b"l l", b"ll o", b"he llo"]))
    return entries


def _valued(key: bytes, choices: Choices) -> Entry:
    """A key with a value of any kind: at a kind's edges, a word, or an array of either."""
    shape = choices.below(8)
    if shape < 3:
        kind = choices.one_of(("u32", "u32", "u32", *NUMBERS))
        return Entry(key, KINDS[kind], _edge(kind, choices))
    if shape < 5:
        return Entry(key, KINDS["f32"], number("f32", choices.one_of(REAL)))
    if shape == 5:
        return Entry(key, KINDS["string"], string(_word(choices)))
    count = choices.below(9)
    if shape == 6:
        kind = choices.one_of(NUMBERS)
        return Entry(key, KINDS["array"], b"".join(_edge(kind, choices) for _ in range(count)), KINDS[kind], count)
    words = b"".join(string(_word(choices)) for _ in range(count))
    return Entry(key, KINDS["array"], words, KINDS["string"], count)


def _edge(kind: str, choices: Choices) -> bytes:
    if kind in ("f32", "f64"):
        return number(kind, choices.one_of(REAL))
    if kind == "bool":
        return number(kind, choices.below(2))
    bits = 8 * len(number(kind, 0))
    value = choices.one_of(WIDE) % (1 << bits)
    return value.to_bytes(bits // 8, "little")


def _word(choices: Choices) -> bytes:
    """A word of the list, or letters that the tokenizers know, or whatever text is drawn."""
    kind = choices.below(3)
    if kind == 0:
        return choices.one_of(WORDS)
    if kind == 1:
        return "".join(choices.one_of(LETTERS) for _ in range(choices.below(12))).encode()
    return choices.bytes(choices.below(16)).decode(errors="ignore").encode()


def _elements(entry: Entry) -> list[bytes]:
    """An array's elements as they lie in the file."""
    elements, at = [], 0
    names = {code: name for name, code in KINDS.items()}
    assert entry.element_kind is not None
    kind = names[entry.element_kind]
    while at < len(entry.value):
        size = 8 + struct.unpack_from("<Q", entry.value, at)[0] if kind == "string" else len(number(kind, 0))
        elements.append(entry.value[at : at + size])
        at += size
    return elements


def _build(draft: Draft) -> bytes:
    """The file: each tensor after the one before, its bytes those it has, over and over."""
    placed, data = [], bytearray()
    for tensor, pattern in draft.tensors:
        elems, size = BLOCKS.get(tensor.type_id, (1, 4))
        count = int(np.prod(tensor.dims, dtype=np.float64)) // elems * size
        placed.append(dataclasses.replace(tensor, offset=len(data)))
        if len(data) + count <= MAX_DATA_BYTES:  # past that, the file is shorter than its tensors say
            data += (pattern * (count // max(1, len(pattern)) + 1))[:count]
            data += bytes(-len(data) % ALIGNMENT)
    return File(draft.entries, placed, bytes(data)).build()
