"""What recognition refuses, each by name: tensors, metadata, architectures, contexts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lane.errors import MOST_CHARS, CapacityError, CheckpointError, LaneError, UnsupportedError, UsageError
from lane.models.architecture import TensorRow
from lane.models.recognise import DEFAULT_CONTEXT, LONGEST_CONTEXT
from tests.py.models.tiny import NAMES, Tiny, Value, last_of, table_of, tiny

NAN, INF = float("nan"), float("inf")


def refused(made: Tiny, folder: Path, context: int | None = None) -> LaneError:
    with pytest.raises(LaneError) as caught:
        made.recognise(folder, context)
    return caught.value


# --- what is no model -------------------------------------------------------------------------------------------------

BESIDE = [
    ("adapter", "general.type", "adapter", "the file is an adapter (LoRA)"),
    ("projector", "general.type", "mmproj", "the file is a projector"),
    ("older projector", "general.architecture", "clip", "the file is a projector"),
    ("importance matrix", "general.type", "imatrix", "the file is an importance matrix"),
]


@pytest.mark.parametrize(("key", "value", "said"), [case[1:] for case in BESIDE], ids=[case[0] for case in BESIDE])
def test_what_lies_beside_models(key: str, value: str, said: str, tmp_path: Path) -> None:
    made = tiny("llama")
    if key == "general.architecture":
        made.name = value
    else:
        made.general[key] = value
    error = refused(made, tmp_path)
    assert isinstance(error, UnsupportedError)
    assert said in str(error) and "allowed a model" in str(error)


def test_a_vocabulary_alone(tmp_path: Path) -> None:
    made = tiny("llama")
    made.tensors.clear()
    error = refused(made, tmp_path)
    assert isinstance(error, UnsupportedError)
    assert "0 tensors: it is a vocabulary alone" in str(error)


# --- tensors ----------------------------------------------------------------------------------------------------------

ALL = [(name, row) for name in NAMES for row in table_of(name)]
REQUIRED = [(name, row) for name, row in ALL if row.required]


def shown(value: object) -> str | None:
    return value.pattern if isinstance(value, TensorRow) else None


@pytest.mark.parametrize(("name", "row"), REQUIRED, ids=shown)
def test_a_missing_tensor(name: str, row: TensorRow, tmp_path: Path) -> None:
    made = tiny(name)
    tensor = last_of(name, row)
    del made.tensors[tensor]
    error = refused(made, tmp_path)
    assert isinstance(error, CheckpointError)
    assert f"tensor '{tensor}': not in the file" in str(error)


@pytest.mark.parametrize(("name", "row"), ALL, ids=shown)
def test_a_tensor_of_another_shape(name: str, row: TensorRow, tmp_path: Path) -> None:
    made = tiny(name, optional=True)
    tensor = last_of(name, row)
    if tensor == "token_embd.weight":  # its rows are the vocabulary, whatever their number; its columns are not
        made.tensors[tensor] = np.concatenate([made.tensors[tensor]] * 2, axis=1)
    else:
        made.tensors[tensor] = np.concatenate([made.tensors[tensor]] * 2)
    error = refused(made, tmp_path)
    assert isinstance(error, CheckpointError)
    assert f"tensor '{tensor}': found shape {list(made.tensors[tensor].shape[::-1])}, allowed [" in str(error)


@pytest.mark.parametrize("tensor", ["blk.0.attn_sinks.weight", "blk.2.attn_norm.weight", "output.scale", "x"])
def test_an_unknown_tensor(tensor: str, tmp_path: Path) -> None:
    made = tiny("llama")
    made.tensors[tensor] = np.ones(32, np.float32)
    error = refused(made, tmp_path)
    assert isinstance(error, UnsupportedError)
    assert f"tensor '{tensor}': architecture 'llama' does not use it" in str(error)


def test_an_embedding_that_is_no_matrix(tmp_path: Path) -> None:
    made = tiny("llama")
    made.tensors["token_embd.weight"] = np.ones(32, np.float32)
    assert "tensor 'token_embd.weight': not in the file as a matrix" in str(refused(made, tmp_path))


def test_a_type_that_holds_no_matrix(tmp_path: Path) -> None:
    made = tiny("llama")
    made.tensors["blk.0.ffn_up.weight"] = np.ones((64, 32), np.int32)
    error = refused(made, tmp_path)
    assert isinstance(error, UnsupportedError)
    assert "I32" in str(error)


@pytest.mark.parametrize("factor", [0.0, -1.0, NAN, INF])
def test_factors_that_divide_by_nothing_sensible(factor: float, tmp_path: Path) -> None:
    made = tiny("llama", optional=True)
    made.tensors["rope_freqs.weight"][2] = factor
    model = made.recognise(tmp_path)
    with pytest.raises(
        CheckpointError, match=rf"'rope_freqs\.weight': found a factor {factor}, allowed finite numbers"
    ):
        model.step(1)


# --- metadata ---------------------------------------------------------------------------------------------------------

WHOLE = (
    "block_count",
    "context_length",
    "embedding_length",
    "feed_forward_length",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.value_length",
    "rope.dimension_count",
    "rope.scaling.original_context_length",
)
BAD_WHOLE: tuple[Value, ...] = (0, -1, 1 << 32, (1 << 63) - 1, 2.5, NAN, True, "4", [4, 4, 4])


@pytest.mark.parametrize("value", BAD_WHOLE, ids=str)
@pytest.mark.parametrize("key", WHOLE)
def test_a_count_that_is_none(key: str, value: Value, tmp_path: Path) -> None:
    made = tiny("llama")
    made.metadata[key] = value
    error = refused(made, tmp_path)
    assert isinstance(error, CheckpointError)
    assert f"metadata key 'llama.{key}': found " in str(error)
    assert "allowed a whole number from 1 to " in str(error)


BAD_NUMBERS: tuple[Value, ...] = (NAN, INF, -INF, -1.0, 1e300, True, "1", [1, 2])


@pytest.mark.parametrize("value", BAD_NUMBERS, ids=str)
@pytest.mark.parametrize(
    "key",
    ["attention.layer_norm_rms_epsilon", "rope.freq_base", "rope.scale_linear", "rope.scaling.factor"],
)
def test_a_number_that_is_none(key: str, value: Value, tmp_path: Path) -> None:
    made = tiny("llama")
    made.metadata[key] = value
    error = refused(made, tmp_path)
    assert isinstance(error, CheckpointError)
    assert f"metadata key 'llama.{key}': found " in str(error)
    assert "allowed a number from " in str(error)


@pytest.mark.parametrize(
    "key", [k for k in WHOLE[:5] if k != "attention.head_count_kv"] + ["attention.layer_norm_rms_epsilon"]
)
def test_a_missing_key(key: str, tmp_path: Path) -> None:
    made = tiny("llama")
    del made.metadata[key]
    assert f"metadata key 'llama.{key}': not in the file, required" in str(refused(made, tmp_path))


CONTRADICTIONS: tuple[tuple[str, dict[str, Value], str], ...] = (
    (
        "llama",
        {"attention.head_count": 4, "attention.head_count_kv": 3},
        "attention.head_count is 4, allowed a multiple",
    ),
    ("llama", {"attention.head_count": 5, "attention.head_count_kv": 5}, "embedding_length is 32, allowed a multiple"),
    ("llama", {"rope.dimension_count": 10}, "rope.dimension_count is 10, allowed an even number up to 8"),
    ("llama", {"rope.dimension_count": 5}, "rope.dimension_count is 5, allowed an even number up to 8"),
    ("llama", {"attention.key_length": 16}, "tensor 'blk.0.attn_q.weight': found shape [32, 32], allowed [32, 64]"),
    (
        "llama",
        {"attention.key_length": 4096},
        "'llama.attention.key_length': found 4096, allowed a whole number from 1 to",
    ),
    ("llama", {"attention.key_length": 4}, "tensor 'blk.0.attn_q.weight': found shape [32, 32], allowed [32, 16]"),
    ("llama", {"attention.value_length": 4}, "tensor 'blk.0.attn_v.weight': found shape [32, 16], allowed [32, 8]"),
    ("llama", {"embedding_length": 64}, "tensor 'token_embd.weight': found shape [32, 40], allowed [64, 40]"),
    ("llama", {"feed_forward_length": 32}, "tensor 'blk.0.ffn_gate.weight': found shape [32, 64], allowed [32, 32]"),
    ("llama", {"vocab_size": 41}, "vocab_size is 41, allowed 40, the rows of 'token_embd.weight'"),
    ("llama", {"block_count": 3}, "tensor 'blk.2.attn_norm.weight': not in the file"),
    ("llama", {"block_count": 1}, "tensor 'blk.1.attn_norm.weight': architecture 'llama' does not use it"),
    ("gemma2", {"attention.sliding_window": 0}, "'gemma2.attention.sliding_window': found 0"),
    ("gemma3", {"attention.sliding_window": 0}, "'gemma3.attention.sliding_window': found 0"),
    ("gemma3", {"attention.sliding_window_pattern": 2}, "'gemma3.attention.sliding_window_pattern'"),
    (
        "gemma3",
        {"attention.sliding_window": 8, "attention.sliding_window_pattern": [True]},
        "'gemma3.attention.sliding_window_pattern': found array([ True]), allowed 2 times true or false",
    ),
    ("granite", {"logit_scale": 0.0}, "'granite.logit_scale': found 0.0"),
    ("granite", {"rope.scaling.finetuned": 1}, "'granite.rope.scaling.finetuned': found 1, allowed true or false"),
    ("llama", {"rope.scaling.type": "none", "rope.scaling.factor": 4.0}, "rope.scaling.factor is 4, allowed 1 without"),
    (
        "llama",
        {"rope.scaling.type": "yarn", "rope.scaling.factor": 0.5},
        "'llama.rope.scaling.factor': found 0.5, allowed a number from 1.0",
    ),
    ("llama", {"attention.head_count": [4, 4, 4]}, "'llama.attention.head_count': found array([4, 4, 4]"),
    (
        "llama",
        {"attention.head_count": [4, 0]},
        "'llama.attention.head_count': found 0, allowed a whole number",
    ),
    ("llama", {"attention.head_count_kv": [2, 3]}, "attention.head_count is 4, allowed a multiple"),
    ("llama", {"attention.head_count": [4, 2]}, "tensor 'blk.1.attn_q.weight': found shape [32, 32], allowed [32, 16]"),
    ("llama", {"feed_forward_length": [64, 32]}, "'blk.1.ffn_gate.weight': found shape [32, 64], allowed [32, 32]"),
    ("mixtral", {"expert_used_count": 5}, "expert_used_count is 5, allowed at most expert_count, 4"),
    ("mixtral", {"expert_count": 3}, "tensor 'blk.0.ffn_gate_inp.weight': found shape [32, 4], allowed [32, 3]"),
    ("glm4moe", {"expert_group_count": 3}, "expert_group_count is 3, allowed a divisor of 4"),
    ("glm4moe", {"expert_group_used_count": 2}, "expert_group_used_count is 2, allowed at most 1"),
    ("glm4moe", {"expert_group_count": 4, "expert_group_used_count": 1}, "expert_used_count is 2, allowed at most 1"),
    ("glm4moe", {"expert_gating_func": 3}, "expert_gating_func is 3, allowed 1 (softmax) or 2 (sigmoid)"),
    ("glm4moe", {"leading_dense_block_count": 4}, "leading_dense_block_count is 4, allowed at most 3"),
    ("qwen35", {"ssm.group_count": 3}, "ssm.time_step_rank is 4, allowed a multiple of ssm.group_count, 3"),
    ("qwen35", {"ssm.inner_size": 64}, "ssm.inner_size is 64, allowed 32, the value heads' width"),
    ("qwen35", {"attention.recurrent_layers": [True]}, "'qwen35.attention.recurrent_layers': found array([ True])"),
    ("lfm2", {"attention.head_count_kv": [0, 3, 0]}, "attention.head_count is 4, allowed a multiple"),
    ("lfm2", {"attention.head_count_kv": [0, 2, 2]}, "tensor 'blk.2.attn_q.weight': not in the file"),
    ("lfm2moe", {"expert_weights_norm": False}, "expert_weights_norm is False, allowed True"),
    ("llama", {"attention.head_count_kv": 0}, "'llama.attention.head_count_kv': found 0, allowed a whole number"),
    ("deepseek2", {"rope.dimension_count": 12}, "rope.dimension_count is 12, allowed less than a head's 12 values"),
    ("deepseek2", {"attention.head_count": [4, 2]}, "attention.head_count is [4, 2], allowed one number"),
    ("deepseek2", {"attention.kv_lora_rank": 8}, "tensor 'blk.0.attn_kv_a_mqa.weight': found shape [32, 20], allowed"),
    ("llama", {"nextn_predict_layers": 2}, "nextn_predict_layers is 2, allowed fewer than block_count, 2"),
    ("llama", {"rope.scaling.type": 3}, "'llama.rope.scaling.type': found 3, allowed a string"),
)


@pytest.mark.parametrize(("name", "changed", "why"), CONTRADICTIONS, ids=[c[2][:60] for c in CONTRADICTIONS])
def test_metadata_that_contradicts_itself_or_the_tensors(
    name: str, changed: dict[str, Value], why: str, tmp_path: Path
) -> None:
    made = tiny(name)
    made.metadata.update(changed)
    assert why in str(refused(made, tmp_path))


NOT_RUN: tuple[tuple[str, str, Value], ...] = (
    ("llama", "rope.scaling.type", "dynamic"),
    ("llama", "attention.causal", False),
    ("qwen3", "pooling_type", 3),
    ("llama", "attention.clamp_kqv", 8.0),
    ("qwen2", "rope.dimension_sections", [2, 1, 1, 0]),
    ("qwen2", "attention.sliding_window", 8),
    ("gemma3", "attn_logit_softcapping", 50.0),
    ("granite", "deepstack_mapping", [1, 0]),
    ("smollm3", "attention.scale", 0.5),
    ("gemma3", "rope.scaling.attn_factor", 1.3),
    ("olmo2", "rope.freq_base_swa", 500.0),
    ("deepseek2", "rope.scaling.attn_factor", 1.3),
    ("qwen3moe", "expert_shared_feed_forward_length", 40),
)


@pytest.mark.parametrize(("name", "key", "value"), NOT_RUN)
def test_metadata_that_changes_results_and_is_not_run(name: str, key: str, value: Value, tmp_path: Path) -> None:
    made = tiny(name)
    made.metadata[key] = value
    error = refused(made, tmp_path)
    assert isinstance(error, UnsupportedError)
    assert key in str(error)


FOREIGN: tuple[tuple[str, Value], ...] = (
    ("general.type", "adapter"),
    ("general.type", [1, 2]),
    ("general.quantization_version", 1),
    ("general.quantization_version", True),
    ("adapter.lora.alpha", 16.0),
    ("xielu.beta", 0.5),
    ("tokenizer.ggml.suppress_tokens", [1, 2]),
)


@pytest.mark.parametrize(("key", "value"), FOREIGN)
def test_metadata_of_no_architecture_that_changes_results(key: str, value: Value, tmp_path: Path) -> None:
    made = tiny("llama")
    made.general[key] = value
    error = refused(made, tmp_path)
    assert isinstance(error, UnsupportedError)
    assert f"metadata key '{key}'" in str(error)


@pytest.mark.parametrize(("tokens", "found"), [(["a", "b"], 2), ([str(i) for i in range(41)], 41), ("a", 0)])
def test_a_vocabulary_of_another_length(tokens: Value, found: int, tmp_path: Path) -> None:
    made = tiny("llama")
    made.general["tokenizer.ggml.tokens"] = tokens
    wanted = f"'token_embd.weight': found 40 rows, allowed one a token of tokenizer.ggml.tokens, {found}"
    assert wanted in str(refused(made, tmp_path))


def test_a_vocabulary_of_the_right_length(tmp_path: Path) -> None:
    made = tiny("llama")
    made.general.update({"tokenizer.ggml.tokens": [str(i) for i in range(40)], "general.type": "model"})
    made.recognise(tmp_path)


@pytest.mark.parametrize(("lacking", "context"), [("long", 65), ("short", 64)])
def test_one_half_of_the_factors(lacking: str, context: int, tmp_path: Path) -> None:
    """Files have the factors of short and of long contexts, or neither."""
    made = tiny("phi3", optional=True)
    made.recognise(tmp_path, context).step(1)
    del made.tensors[f"rope_factors_{lacking}.weight"]
    with pytest.raises(CheckpointError, match=rf"tensor 'rope_factors_{lacking}\.weight': not in the file, required"):
        made.recognise(tmp_path, context).step(1)


YARN: dict[str, Value] = {
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": 4.0,
    "rope.scaling.original_context_length": 16,
}


@pytest.mark.parametrize(("key", "value"), [("yarn_ext_factor", 0.5), ("yarn_attn_factor", 1.0)])
def test_a_yarn_of_another_kind(key: str, value: float, tmp_path: Path) -> None:
    made = tiny("llama")
    made.metadata.update(YARN)
    made.recognise(tmp_path)
    made.metadata[f"rope.scaling.{key}"] = value
    error = refused(made, tmp_path)
    assert isinstance(error, UnsupportedError)
    assert f"'llama.rope.scaling.{key}': found {value}" in str(error)


def test_deepseek2_under_yarn_says_how_scores_are_scaled(tmp_path: Path) -> None:
    made = tiny("deepseek2")
    made.metadata.update(YARN)
    error = refused(made, tmp_path)
    assert isinstance(error, UnsupportedError)
    assert "'deepseek2.rope.scaling.yarn_log_multiplier': found none" in str(error)
    made.metadata["rope.scaling.yarn_log_multiplier"] = 0.1
    made.recognise(tmp_path).step(1)


HARMLESS: tuple[tuple[str, dict[str, Value]], ...] = (
    ("llama", {"vocab_size": 40, "rope.dimension_count": 8, "attention.sliding_window": 4096}),
    ("llama", {"expert_count": 0, "expert_used_count": 0, "attention.causal": True}),
    ("llama", YARN | {"rope.scaling.yarn_ext_factor": 1.0, "rope.scaling.yarn_attn_factor": 1.0 + 0.1 * np.log(4.0)}),
    ("llama", YARN | {"rope.scaling.yarn_beta_fast": 32.0, "rope.scaling.yarn_beta_slow": 1.0}),
    ("phi3", {"attention.sliding_window": 2047, "rope.scaling.attn_factor": 1.19}),
    ("gemma2", {"attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0, "attention.sliding_window": 8}),
    ("olmo2", YARN | {"attention.sliding_window": 8, "attention.sliding_window_pattern": [True, False]}),
    ("qwen3", {"attention.key_length": 8, "attention.value_length": 8, "pooling_type": 0}),
    ("llama", {"attention.head_count": [4, 4], "attention.head_count_kv": [2, 2], "feed_forward_length": [64, 64]}),
)


@pytest.mark.parametrize(("name", "changed"), HARMLESS, ids=[f"{n} {next(iter(c))}" for n, c in HARMLESS])
def test_keys_that_converters_write_are_read(name: str, changed: dict[str, Value], tmp_path: Path) -> None:
    made = tiny(name)
    made.metadata.update(changed)
    made.recognise(tmp_path).step(1)


# --- architectures and contexts ---------------------------------------------------------------------------------------


def test_an_unknown_architecture(tmp_path: Path) -> None:
    made = Tiny("mamba", {}, {"token_embd.weight": np.ones((40, 32), np.float32)})
    error = refused(made, tmp_path)
    assert isinstance(error, UnsupportedError)
    assert "architecture 'mamba'" in str(error) and "llama" in str(error)


def test_an_architecture_that_is_no_name(tmp_path: Path) -> None:
    made = tiny("llama")
    made.general["general.architecture"] = [1, 2]
    assert isinstance(refused(made, tmp_path), CheckpointError)


@pytest.mark.parametrize("name", ["\x1b[31mred", "two\nlines", "\u202eback", "x" * 5000])
def test_a_name_that_no_terminal_should_see_as_it_is(name: str, tmp_path: Path) -> None:
    made = Tiny(name, {}, {"token_embd.weight": np.ones((40, 32), np.float32)})
    text = str(refused(made, tmp_path))
    assert text.startswith("models: architecture '")
    assert text.isprintable() and len(text) <= MOST_CHARS * 6  # an escape is up to six characters
    assert "lane does not run it; allowed llama" in text


def test_contexts(tmp_path: Path) -> None:
    made = tiny("llama")
    assert made.recognise(tmp_path).context == 64
    assert made.recognise(tmp_path, 10).context == 10
    assert made.recognise(tmp_path, 100).context == 100  # beyond the model's own: runs
    assert tiny("llama", context_length=1 << 20).recognise(tmp_path).context == DEFAULT_CONTEXT
    for context in (0, -1, LONGEST_CONTEXT + 1):
        error = refused(made, tmp_path, context)
        assert isinstance(error, UsageError if context < 1 else CapacityError)
        assert f"a context of {context} positions: allowed 1 to {LONGEST_CONTEXT}" in str(error)


def test_a_huge_model_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    made = tiny("llama")
    made.metadata["block_count"] = 4096
    made.metadata["embedding_length"] = 1 << 24
    made.metadata["attention.head_count"] = 1 << 20
    assert "tensor 'token_embd.weight': found shape [32, 40], allowed [16777216, 40]" in str(refused(made, tmp_path))


def test_a_step_of_several_sequences(tmp_path: Path) -> None:
    model = tiny("llama").recognise(tmp_path)
    for sequences in (0, 2):
        with pytest.raises(UnsupportedError, match=f"a step of {sequences} sequences: lane has no batch forms yet"):
            model.step(1, sequences=sequences)
