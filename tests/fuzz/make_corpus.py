"""The fuzzers' seed corpora: every malformed file of the table, good files to mutate, and what fuzzing has come upon.

    python -m tests.fuzz.make_corpus FOLDER

In FOLDER/files a GGUF file an input; in FOLDER/splits two of them, after the first's length (u32); in FOLDER/edits
choices as tests/fuzz/edited.py reads them; in FOLDER/templates a chat template an input.
"""

import random
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.fuzz import kept
from tests.fuzz.edited import EDITS, FAMILIES, TOKENIZERS
from tests.py.checkpoint.malformed import Case, cases
from tests.py.checkpoint.raw_gguf import NUMBERS, File, Tensor, array, scalar

LARGEST_SEED_BYTES = 1 << 14

# What templates are written with, and some that go astray.
TEMPLATES = (
    "",
    "{{ bos_token }}{% for m in messages %}<|{{ m['role'] }}|>{{ m.content | trim }}{{ eos_token }}{% endfor %}",
    "{%- if messages[0].role == 'system' %}{%- set rest = messages[1:] %}{%- else %}{%- set rest = messages %}"
    "{%- endif %}{%- for m in rest %}{{- loop.index0 ~ ': ' ~ m.content -}}{%- endfor %}",
    "{% macro turn(m, last=false) -%}[{{ m.role }}]{{ m.content if m.content is string else '' }}{%- endmacro %}"
    "{% for m in messages %}{{ turn(m, loop.last) }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}",
    "{% if tools is not none and tools | length > 0 %}{{ tools | tojson(indent=2) }}{% endif %}",
    "{% set ns = namespace(n=0, last='') %}{% for m in messages | rejectattr('role', 'equalto', 'system') %}"
    "{% if m.role == ns.last %}{{ raise_exception('roles must alternate') }}{% endif %}{% set ns.last = m.role %}"
    "{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}",
    "{% for m in messages %}{% generation %}{{ m.content.split('</think>')[-1].lstrip('\\n') }}{% endgeneration %}"
    "{% if loop.index > 2 %}{% break %}{% endif %}{% continue %}{% endfor %}{{ strftime_now('%d %b %Y') }}",
    "{% filter upper %}{{ messages | map(attribute='content') | join(', ') | replace('H', 'h') }}{% endfilter %}",
    "{% for k, v in messages[2].tool_calls[0].arguments.items() %}{{ k }}={{ '%05.1f' | format(v) }}{% endfor %}",
    "{% call(x) f() %}{{ x }}{% endcall %}{% block b %}{% endblock %}{# a remark #}{% raw %}{{ }}{% endraw %}",
    "{{ raise_exception('x' * 10**8) }}",
    "{{ messages.__class__.__mro__[1].__subclasses__() }}{{ ''.format.__globals__ }}{{ '{0.__class__}'.format(1) }}",
    "{{ range(10**6) | list | length }}{{ 9 ** 9 ** 9 }}{{ lipsum(100000) }}{{ cycler(1, 2).next() }}",
)


def good_files() -> list[File]:
    entries = [scalar(f"{kind}.one", kind, 1) for kind in NUMBERS]
    entries += [array(f"{kind}.array", kind, [0, 1, 1]) for kind in NUMBERS]
    entries += [
        scalar("general.architecture", "string", b"llama"),
        array("tokenizer.ggml.tokens", "string", [b"<s>", b"", "\u2581the".encode()]),
        scalar("general.alignment", "u32", 64),
    ]
    tensors = [Tensor(b"one"), Tensor(b"two", (32, 2), 8, 64), Tensor(b"four", (2, 2, 2, 2), 24, 192)]
    return [
        File(),
        File(version=2),
        File(entries, tensors, bytes(208), alignment=64),
        File([], tensors, bytes(208)),
        *(File([entry], tensors[:1], bytes(32)) for entry in entries[:-1]),
    ]


def good_split() -> tuple[bytes, bytes]:
    parts = []
    for i in range(2):
        values = {"split.no": i, "split.count": 2, "split.tensors.count": 2}
        entries = [scalar(key, "u16", value) for key, value in values.items()]
        parts.append(File(entries, [Tensor(b"w%d" % i)], bytes(32)).build())
    return parts[0], parts[1]


def joined(first: bytes, second: bytes) -> bytes:
    return struct.pack("<I", len(first)) + first + second


def seeds(case: Case) -> bytes:
    """The files as one input of the target for one file, or of that for two."""
    contents = list(case.files.values())
    return contents[0] if len(contents) == 1 else joined(contents[0], contents[1])


def file_seeds() -> Iterator[bytes]:
    """Of the targets that read one file."""
    for file in good_files():
        yield file.build()
    yield from (seeds(case) for case in cases() if len(case.files) == 1)
    yield from kept.read("files")


def split_seeds() -> Iterator[bytes]:
    """Of the target that reads two."""
    yield joined(*good_split())
    yield from (joined(file.build(), b"") for file in good_files())
    yield from (seeds(case) for case in cases() if len(case.files) > 1)
    yield from kept.read("splits")


def edit_seeds() -> Iterator[bytes]:
    """Each family and tokenizer as they are, then each kind of edit in each family with some arguments."""
    drawn = random.Random(1)
    for family in range(len(FAMILIES)):
        for optional in (0, 1):
            yield from (bytes([family, kind, optional]) for kind in range(len(TOKENIZERS)))
        for edit in range(len(EDITS)):
            yield bytes([family, drawn.randrange(len(TOKENIZERS)), 0, edit]) + drawn.randbytes(12)
    yield from kept.read("edits")


def template_seeds() -> Iterator[bytes]:
    """Of the target that renders."""
    yield from (source.encode() for source in TEMPLATES)
    yield from kept.read("templates")


CORPORA: Mapping[str, Callable[[], Iterator[bytes]]] = {
    "files": file_seeds,
    "splits": split_seeds,
    "edits": edit_seeds,
    "templates": template_seeds,
}


def main(folder: Path) -> None:
    for name, inputs in CORPORA.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for i, data in enumerate(inputs()):
            if len(data) <= LARGEST_SEED_BYTES:
                (folder / name / f"{i:04}").write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
