r"""The table of pre-tokenizers: which patterns each `tokenizer.ggml.pre` means.

What enters is a name; what leaves is its row, or an `UnsupportedError` that lists the names there are. A new name is
one line here. The patterns are those that llama.cpp applies, which for some models are simpler than their authors'
own: it makes no difference between the kinds of letters beyond ASCII, for one.
"""

from lane.checkpoint.tokenizer.pretokenize import NOT_HAN, OTHER_LETTERS, PreTokenizer
from lane.errors import UnsupportedError

_CONTRACTION = r"'[sStTmMdD]|'[rR][eE]|'[vV][eE]|'[lL][lL]"
_WORD = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_REST = rf" ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_SPACES}"

_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_QWEN2 = rf"{_CONTRACTION}|{_WORD}|\p{{N}}|{_REST}"
_QWEN35 = (
    rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}"
    rf"| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{_SPACES}"
)
_LLAMA3 = rf"{_CONTRACTION}|{_WORD}|\p{{N}}{{1,3}}|{_REST}"
_KIMI = rf"\p{{H}}+|[^\r\n\p{{L}}\p{{N}}]?[A-Za-z{NOT_HAN}]+(?:{_CONTRACTION})?|\p{{N}}{{1,3}}|{_REST}"

# Words cut where a capital follows a small letter. Letters beyond ASCII count as both.
_UPPER, _LOWER = f"[A-Z{OTHER_LETTERS}]", f"[a-z{OTHER_LETTERS}]"
_CASED = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+%s|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*%s"
    r"|%s| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_TEKKEN = _CASED % ("", "", r"\p{N}")
_GPT4O = _CASED % (f"(?:{_CONTRACTION})?", f"(?:{_CONTRACTION})?", r"\p{N}{1,3}")

_PUNCTUATION_WORD = r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"
_MARKED_WORD = r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
_DEEPSEEK3 = rf"{_PUNCTUATION_WORD}|{_MARKED_WORD}| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_SPACES}"
_CJK = r"[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"


# Letters of the scripts that have capitals, as DeepSeek-LLM's tokenizer lists them.
_BICAMERAL = (
    r"A-Za-z"
    r"\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373"
    r"\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481"
    r"\u048a-\u052f\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf"
    r"\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d"
    r"\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4"
    r"\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107"
    r"\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f"
    r"\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d"
    r"\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17"
    r"\uff21-\uff3a\uff41-\uff5a\U00010400-\U0001044f\U000104b0-\U000104d3\U000104d8-\U000104fb"
    r"\U00010c80-\U00010cb2\U00010cc0-\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943"
)
_DEEPSEEK_CJK = r"[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
_SENTENCE = r" ?[^(\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"
_YOUTU_SCRIPTS = (
    r"[\uac00-\ud7a3\u3131-\u318e]+"
    r"|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-\u303f\ufe30-\ufe4f]+"
    r"|[\u3105-\u312f]+|[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
)
_YOUTU = (
    rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+(?:{_CONTRACTION})?|\p{{N}}"
    rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACES}"
)
_HALVED_SPACES = "|".join(rf"\s{{{count}}}(?!\S)" for count in ("512", "256", "128", "64", "32", "16", "8", "4", "1,2"))

DEFAULT = "default"

_ROWS = (
    PreTokenizer((DEFAULT,), (r"[\p{P}$+<=>^~|]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]")),
    PreTokenizer(
        (
            "gpt-2",
            "phi-2",
            "mpt",
            "olmo",
            "jais",
            "trillion",
            "granite-docling",
            "gigachat",
            "exaone4",
            "mellum",
            "a.x-4.0",
        ),
        (_GPT2,),
    ),
    PreTokenizer(
        ("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"),
        (r"\p{N}", _GPT2),
    ),
    PreTokenizer(
        ("llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"),
        (_LLAMA3,),
        whole_pieces=True,
        adds_bos=True,
    ),
    PreTokenizer(("dbrx", "smaug-bpe"), (_LLAMA3,)),
    PreTokenizer(("chatglm-bpe",), (_LLAMA3,), has_bos=False),
    PreTokenizer(("glm4", "glm5"), (_LLAMA3,), whole_pieces=True, has_bos=False),
    PreTokenizer(
        ("qwen2", "deepseek-r1-qwen", "kormo", "megrez", "stablelm2", "hunyuan", "solar-open", "grok-2"),
        (_QWEN2,),
    ),
    PreTokenizer(("qwen35",), (_QWEN35,)),
    PreTokenizer(("laguna",), (r"[^\n]+|\n+", _QWEN2)),
    PreTokenizer(("ufakzeka",), (rf"{_WORD}|\p{{N}}|{_REST}",)),
    PreTokenizer(
        ("minicpm5",),
        (r"\p{N}{1,3}", rf"{_CONTRACTION}|{_WORD}|\p{{N}}+|{_REST}"),
        whole_pieces=True,
    ),
    PreTokenizer(
        ("seed-coder",),
        (rf"{_CONTRACTION}|{_WORD}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}\r\n]+|{_SPACES}",),
    ),
    PreTokenizer(
        ("bailingmoe", "bailingmoe2", "llada-moe"),
        (rf"{_CONTRACTION}|{_WORD}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",),
    ),
    PreTokenizer(
        ("exaone-moe",),
        (
            rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}\p{{M}}*(?: ?\p{{L}}\p{{M}}*)*|\p{{N}}"
            r"| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+",
        ),
    ),
    PreTokenizer(
        ("jais-2",),
        (
            rf"{_CONTRACTION}|{_WORD}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+"
            rf"|{_HALVED_SPACES}|\s",
        ),
    ),
    PreTokenizer(("tekken",), (_TEKKEN,), whole_pieces=True, adds_bos=True),
    PreTokenizer(("gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"), (_GPT4O,)),
    PreTokenizer(("youtu",), (_YOUTU_SCRIPTS, _YOUTU), whole_pieces=True),
    PreTokenizer(("kimi-k2",), (_KIMI,)),
    PreTokenizer(
        ("deepseek-llm",),
        (
            r"[\r\n]",
            rf"\s?[{_BICAMERAL}]+",
            r"\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+",
            r"(?<!\s)\s+\Z",
            _DEEPSEEK_CJK,
            r"\p{N}+",
        ),
    ),
    PreTokenizer(("deepseek-coder",), (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _DEEPSEEK_CJK, r"\p{N}")),
    PreTokenizer(("deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"), (r"\p{N}{1,3}", _CJK, _DEEPSEEK3)),
    PreTokenizer(
        ("spark2_5",),
        (
            r"\p{N}{1,3}",
            _CJK,
            rf"{_PUNCTUATION_WORD}|{_MARKED_WORD}| ?[\p{{P}}\p{{S}}]+|[\r\n]|\s+(?!\S)|\s+",
            r"\p{N}",
        ),
    ),
    PreTokenizer(("falcon",), (r"[\p{P}$+<=>^~|`]+", _GPT2, "[0-9][0-9][0-9]")),
    PreTokenizer(("poro-chat", "bloom", "gpt3-finnish"), (_SENTENCE,)),
    PreTokenizer(("viking",), (_SENTENCE, r"\p{N}")),
    PreTokenizer(("gemma4",), (r"[^\n]+|\n+",), whole_newlines=True, always_bos=True, is_byte_level=False),
    PreTokenizer(("sarvam-moe",), (r"[^\n]+|\n+",), is_byte_level=False),
)
_BY_NAME = {name: row for row in _ROWS for name in row.names}

NAMES = tuple(_BY_NAME)


def find_pre_tokenizer(name: str) -> PreTokenizer:
    row = _BY_NAME.get(name)
    if row is None:
        raise UnsupportedError(
            f"tokenizer: tokenizer.ggml.pre is {name!r}, allowed is one of {', '.join(sorted(NAMES))}"
        )
    return row
