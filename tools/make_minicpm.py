"""Makes the minicpm checkpoints of tests/data/families out of granite's: the same blocks, other metadata.

    python tools/make_minicpm.py [FOLDER]

minicpm: without scales, as the first converters left it, but for the logits' (llama.cpp's own default of that one is
the inverse of what MiniCPM divides by). minicpm_longrope: with scales and longrope's factors, original context 64.
tools/make_reference.py then makes their references.
"""

import sys
from pathlib import Path

import gguf
import numpy as np

DATA = Path(__file__).parents[1] / "tests" / "data" / "families"
DROPPED = ("attention.scale", "embedding_scale", "residual_scale", "logit_scale", "vocab_size")
EMBD, HALF = 128, 16
LOGIT_SCALE = EMBD / 256


def make(path: Path, longrope: bool) -> None:
    """Writes one checkpoint."""
    reader = gguf.GGUFReader(DATA / "granite" / "model.gguf")
    writer = gguf.GGUFWriter(path, "minicpm")
    for field in reader.fields.values():
        name = field.name.replace("granite.", "minicpm.")
        if name.startswith("GGUF.") or name == "general.architecture" or name.removeprefix("minicpm.") in DROPPED:
            continue
        element = field.types[1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), field.types[0], element)
    writer.add_logit_scale(2.5 if longrope else LOGIT_SCALE)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, np.asarray(tensor.data), raw_dtype=tensor.tensor_type)
    if longrope:
        writer.add_embedding_scale(3.0)
        writer.add_residual_scale(0.3)
        writer.add_rope_scaling_type(gguf.RopeScalingType.LONGROPE)
        writer.add_rope_scaling_orig_ctx_len(64)
        drawn = np.random.default_rng(0)
        for length, largest in (("short", 1.5), ("long", 6.0)):
            factors = np.sort(drawn.uniform(1.0, largest, HALF)).astype(np.float32)
            writer.add_tensor(f"rope_factors_{length}.weight", factors)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    for name in ("minicpm", "minicpm_longrope"):
        (folder / name).mkdir(exist_ok=True)
        make(folder / name / "model.gguf", longrope=name.endswith("longrope"))


if __name__ == "__main__":
    main()
