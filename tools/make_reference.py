"""Makes a fixture's reference by llama.cpp: `reference.npz` and `info.json` beside the `model.gguf` of each folder.

    python tools/make_reference.py --peer DIR FOLDER...

DIR is where tools/build_peer.sh built llama.cpp. In: a checkpoint without a GELU (llama.cpp looks that up in a table).
Out: `tokens`, `logits` of llama.cpp on the same weights decoded to F32, in float arithmetic with f32 caches, and how
far stock llama.cpp is from that on the very file: `llamacpp_error` (relative RMS a position) and `llamacpp_top1`.
"""

import argparse
import json
import os
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import gguf
import numpy as np

POSITIONS = 96
CONTEXT = 256  # llama.cpp runs no smaller one


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", type=Path, required=True)
    parser.add_argument("folders", type=Path, nargs="+")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        program = compile_peer(arguments.peer, Path(scratch))
        for folder in arguments.folders:
            reference(program, folder, Path(scratch) / "floats.gguf")


def compile_peer(peer: Path, scratch: Path) -> Path:
    """Compiles the program that prints llama.cpp's logits."""
    program, bin_ = scratch / "peer_logits", (peer / "bin").resolve()
    sources = peer / "source" / "vendor" / "llama.cpp"
    includes = [f"-I{sources / folder}" for folder in ("include", "ggml/include")]
    source = Path(__file__).with_name("peer_logits.cc")
    libraries = [f"-L{bin_}", f"-Wl,-rpath,{bin_}", "-lllama", "-lggml", "-lggml-base"]
    subprocess.run(["g++", "-std=c++20", "-O1", *includes, str(source), *libraries, "-o", str(program)], check=True)
    return program


def reference(program: Path, folder: Path, floats: Path) -> None:
    """Writes one folder's reference."""
    reader = gguf.GGUFReader(folder / "model.gguf")
    vocab = int(next(t for t in reader.tensors if t.name == "token_embd.weight").shape[1])
    drawn = np.random.default_rng(0).integers(3, vocab, POSITIONS - 1)
    tokens = np.array([1, *drawn], np.int32)  # 1 begins a text in these vocabularies
    decode_to(reader, floats)
    wanted = logits(program, floats, tokens)
    stock = logits(program, folder / "model.gguf", tokens)
    norms = np.linalg.norm(wanted, axis=1)
    error = np.linalg.norm(stock - wanted, axis=1) / norms
    top1 = stock.argmax(axis=1).astype(np.int32)
    np.savez_compressed(
        folder / "reference.npz",
        tokens=tokens,
        logits=wanted,
        llamacpp_error=error.astype(np.float32),
        llamacpp_top1=top1,
    )
    info = {
        "architecture": str(reader.fields["general.architecture"].contents()),
        "tensor_types": dict(Counter(t.tensor_type.name for t in reader.tensors)),
        "positions": POSITIONS,
        "llamacpp_on_this_file": {
            "max_abs": round(float(np.abs(stock - wanted).max()), 5),
            "rel_rms": round(float(np.linalg.norm(stock - wanted) / np.linalg.norm(wanted)), 6),
            "top1": round(float((top1 == wanted.argmax(axis=1)).mean()), 4),
            "median_position_error": round(float(np.median(error)), 6),
        },
    }
    (folder / "info.json").write_text(json.dumps(info, indent=1))


def decode_to(reader: gguf.GGUFReader, path: Path) -> None:
    """Writes the same checkpoint with every tensor decoded to F32."""
    writer = gguf.GGUFWriter(path, str(reader.fields["general.architecture"].contents()))
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name in ("general.architecture", "general.file_type"):
            continue
        element = field.types[1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), field.types[0], element)
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        writer.add_tensor(tensor.name, values.reshape(tuple(reversed(tensor.shape.tolist()))))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def logits(program: Path, model: Path, tokens: np.ndarray) -> np.ndarray:
    """The peer's logits at every position."""
    command = [str(program), str(model), str(CONTEXT), *(str(t) for t in tokens)]
    done = subprocess.run(command, check=True, capture_output=True, env={**os.environ, "GGML_LOG_LEVEL": "4"})
    return np.frombuffer(done.stdout, np.float32).reshape(len(tokens), -1)


if __name__ == "__main__":
    main()
