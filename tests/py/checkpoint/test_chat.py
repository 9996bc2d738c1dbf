"""Chat templates: what they render, and what the ones that go wrong or astray are refused with."""

import os
import subprocess
import sys
import time

import pytest

from lane.checkpoint.chat import ChatLimits, ChatTemplate, _Worker
from lane.errors import CapacityError, LaneError, UnsupportedError, UsageError
from tests.py.checkpoint.tokenizer_cases import load

HI = [{"role": "user", "content": "hi"}]

# SmolLM2's, as its checkpoint has it.
SMOL = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n"
    "You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def render(source: str, limits: ChatLimits | None = None) -> str:
    return ChatTemplate(source, limits=limits).render(HI).text


def test_conversations_render_as_stored() -> None:
    template = ChatTemplate.from_metadata({"tokenizer.chat_template": SMOL})
    template.start()
    for case in load("real/chat.smol.json"):
        said = template.render(case["messages"], add_generation_prompt=case["add_generation_prompt"])
        assert said.text == case["text"]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        # Blocks leave no trace of the lines that they stand on.
        ("a\n  {% if true %}\nb\n  {% endif %}\nc", "a\nb\nc"),
        ("{{ {'a': '<b>&é\\''} | tojson }}", '{"a": "<b>&é\'"}'),
        ("{{ [1, 2] | tojson(indent=1) }}", "[\n 1,\n 2\n]"),
        ("{% for i in [1, 2, 3] %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "1"),
        ("{% generation %}{{ messages[0].content }}{% endgeneration %}", "hi"),
        ("{{ strftime_now('%Y') | length }}", "4"),
        ("{{ tools is none }} {{ documents is none }} {{ missing is defined }}", "True True False"),
        ("{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}", "1"),
    ],
)
def test_what_templates_use(source: str, text: str) -> None:
    assert render(source) == text


def test_variables_and_tools() -> None:
    template = ChatTemplate("{{ tools[0].name }} {{ enable_thinking }}")
    assert template.render(HI, tools=[{"name": "f"}], variables={"enable_thinking": False}).text == "f False"


def test_special_tokens_are_those_of_the_vocabulary() -> None:
    metadata = {
        "tokenizer.chat_template": "{{ bos_token }}|{{ eos_token }}|{{ pad_token }}",
        "tokenizer.chat_template.tool_use": "tools",
        "tokenizer.ggml.tokens": ["<s>", "</s>"],
        "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": 1,
        "tokenizer.ggml.padding_token_id": 2,
    }
    assert ChatTemplate.from_metadata(metadata).render(HI).text == "<s>|</s>|"
    assert ChatTemplate.from_metadata(metadata, "tool_use").render(HI).text == "tools"


@pytest.mark.parametrize("metadata", [{}, {"tokenizer.chat_template": 5}])
def test_no_template(metadata: dict[str, object]) -> None:
    template = ChatTemplate.from_metadata(metadata)
    with pytest.raises(UnsupportedError, match=r"tokenizer\.chat_template is missing or no string"):
        template.render(HI)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a\n{% if %}", "line 2: TemplateSyntaxError: Expected an expression"),
        ("{% nonsense %}", "line 1: TemplateSyntaxError: Encountered unknown tag 'nonsense'"),
        ("a\n\n{{ missing.name }}", "line 3: UndefinedError: 'missing' is undefined"),
        ("{{ messages[0].content | nofilter }}", "line 1: TemplateAssertionError: No filter named 'nofilter'"),
        ("a\n{{ 1 / 0 }}", "line 2: ZeroDivisionError"),
        ("{{ 'a' + 1 }}", "line 1: TypeError"),
        ("{{ messages.__class__.__mro__ }}", "line 1: SecurityError: access to attribute '__class__'"),
        ("{{ messages.append(1) }}", "line 1: SecurityError"),
        ("{{ cycler.__init__.__globals__ }}", "line 1: SecurityError"),
        ("{% include 'other' %}", "line 1: TypeError: no loader for this environment"),
    ],
)
def test_templates_that_fail(source: str, message: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        render(source)
    assert str(caught.value).startswith(f"chat template, {message}")


def test_a_check_parses_and_renders_nothing() -> None:
    ChatTemplate("{{ raise_exception('never') }}{{ messages[5].content }}").check()
    with pytest.raises(UnsupportedError, match="line 2: TemplateSyntaxError"):
        ChatTemplate("a\n{% if %}").check()
    with pytest.raises(UnsupportedError, match="is missing"):
        ChatTemplate(None).check()


def test_a_call_of_tools_needs_no_content() -> None:
    said = [{"role": "assistant", "tool_calls": [{"name": "f"}]}]
    assert ChatTemplate("{{ messages[0].tool_calls[0].name }}").render(said).text == "f"


def test_a_template_may_refuse() -> None:
    with pytest.raises(UsageError, match="refuses the conversation: roles must alternate"):
        render("{{ raise_exception('roles must alternate') }}")


@pytest.mark.parametrize("source", ["{{ raise_exception('x' * 10**7) }}", "{{ {}['x' * 10**7].y }}"])
def test_a_message_is_as_long_as_one_reads(source: str) -> None:
    with pytest.raises(LaneError) as caught:
        render(source)
    assert "xxx" in str(caught.value)
    assert len(str(caught.value)) < 1100


def test_conversations_are_json() -> None:
    with pytest.raises(UsageError, match="not made of JSON's values: Object of type bytes"):
        ChatTemplate("x").render([{"role": "user", "content": "", "image": b"hi"}])


# 128 MB are little over what the interpreter itself maps.
LIMITS = ChatLimits(cpu_seconds=1, wall_seconds=60, memory_bytes=128 << 20, max_chars=1 << 16)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{% for i in range(10**9) %}x{% endfor %}", "Range too big"),
        ("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "processor time"),
        ("{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
         "processor time"),
        ("{{ (10**9)**(10**9) > 1 }}", "processor time"),
        ("{% set ns = namespace(x=[]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}"
         "{% set old = ns.x %}{% set ns.x = [] %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}"
         "{{ ns.x == old }}", "processor time"),
        ("{{ 'x' * 10**9 }}", "more memory"),
        ("{{ 'x'.center(10**9) }}", "more memory"),
        ("{{ '%1000000000d' % 1 }}", "more memory"),
        ("{{ '{:1000000000d}'.format(1) }}", "more memory"),
        ("{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
         "more memory"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "nests deeper"),
        ("{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}", "nests deeper"),
    ],
)  # fmt: skip
def test_templates_that_go_astray(source: str, message: str) -> None:
    template = ChatTemplate(source, limits=LIMITS)
    start = time.monotonic()
    with pytest.raises(UnsupportedError, match=message):
        template.render(HI)
    assert time.monotonic() - start < LIMITS.wall_seconds


def test_a_template_works_again_after_it_went_astray() -> None:
    source = (
        "{% if messages[0].role == 'system' %}{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}"
        "{% endfor %}{% endif %}fine"
    )
    template = ChatTemplate(source, limits=LIMITS)
    assert template.render(HI).text == "fine"
    with pytest.raises(UnsupportedError, match="processor time"):
        template.render([{"role": "system", "content": ""}])
    assert template.render(HI).text == "fine"


def test_waiting_ends() -> None:
    limits = ChatLimits(cpu_seconds=60, wall_seconds=1)
    with pytest.raises(UnsupportedError, match="takes more than 1 s"):
        render("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", limits)


def test_a_text_that_is_too_long() -> None:
    source = "{% for i in range(65537) %}x{% endfor %}"
    with pytest.raises(CapacityError, match="gives 65537 characters, allowed are 65536"):
        render(source, LIMITS)
    template = ChatTemplate("{{ messages[0].content }}")
    assert template.render(HI, max_chars=2).text == "hi"
    with pytest.raises(CapacityError, match="gives 2 characters, allowed are 1"):
        template.render(HI, max_chars=1)


@pytest.mark.parametrize(
    "messages",
    ["hi", {}, [], None, ["hi"], [{"content": "hi"}], [{"role": "user", "content": 1}], [{"role": "user"}]],
)
def test_what_is_no_conversation(messages: list[dict[str, object]]) -> None:
    with pytest.raises(UsageError, match=r"chat: .*, allowed "):
        ChatTemplate("x").render(messages)


def test_a_rendering_cut_short_leaves_nothing_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    template = ChatTemplate("{{ messages[0].content }}")
    assert template.render(HI).text == "hi"

    def interrupted(worker: _Worker, request: bytes) -> bytes:
        assert worker._process.stdin is not None
        os.write(worker._process.stdin.fileno(), request)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(_Worker, "_exchange", interrupted)
        with pytest.raises(KeyboardInterrupt):
            template.render([{"role": "user", "content": "first"}])
    assert template.render([{"role": "user", "content": "second"}]).text == "second"


FORKING = """
import os, sys
from lane.checkpoint.chat import ChatTemplate
template = ChatTemplate("{{ messages[0].content }}")
ask = lambda text: template.render([{"role": "user", "content": text}]).text
ask("before")
held = sys.argv[1] == "held" and template._lock.acquire()
child = os.fork()
if child == 0:
    if sys.argv[1] != "idle":
        for i in range(20):
            assert ask(f"child {i}") == f"child {i}"
    sys.exit(0)  # as any program ends: with its finalizers
held and template._lock.release()
for i in range(20):
    assert ask(f"parent {i}") == f"parent {i}"
assert os.waitpid(child, 0)[1] == 0
assert ask("after") == "after"
"""


@pytest.mark.parametrize("how", ["idle", "asking", "held"])
def test_a_forked_child_leaves_its_parent_s_process_alone(how: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", FORKING, how], check=True, env=environment, timeout=600)
