"""Every tensor of files that gguf-py wrote: what its reader gives back and decodes, we decode alike."""

from pathlib import Path

import gguf
import numpy as np
import pytest

from lane.quant.registry import FORMATS, format_named

COLS = 512


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of each format a tensor of random blocks and, where gguf-py has a quantiser, one of encoded values."""
    rng = np.random.default_rng(1)
    path = tmp_path_factory.mktemp("quant") / "every_format.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    for format in FORMATS:
        kind = gguf.GGMLQuantizationType[format.name]
        row_bytes = COLS // format.block_elems * format.block_bytes
        blocks = rng.integers(0, 256, (5, row_bytes), dtype=np.uint8)
        writer.add_tensor(f"random.{format.name}", blocks, raw_dtype=kind)
        if format.encode_blocks is not None:
            quantised = gguf.quants.quantize(rng.standard_normal((3, COLS), dtype=np.float32), kind)
            writer.add_tensor(f"values.{format.name}", quantised.view(np.uint8), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_tensor_decodes_alike(file: Path) -> None:
    tensors = gguf.GGUFReader(file).tensors
    assert len(tensors) > len(FORMATS)
    for tensor in tensors:
        format = format_named(tensor.tensor_type.name)
        rows = np.ascontiguousarray(tensor.data).view(np.uint8).reshape(int(tensor.shape[1]), -1)
        found = format.decode(rows)
        expected = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        np.testing.assert_array_equal(found.view(np.uint32), expected.view(np.uint32), err_msg=tensor.name)
