"""Fuzzes chat templates: each renders a conversation or is refused.

    python -m tests.fuzz.template_fuzz CORPUS [libFuzzer options]

Needs the `atheris` package. An input is a template's text. It is parsed here, which is what guides the fuzzer, and
rendered as any template is: in a process of its own, under limits.
"""

import atheris

with atheris.instrument_imports(include=["jinja2"]):
    from jinja2 import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    from lane.checkpoint.chat import ChatLimits, ChatTemplate
    from tests.fuzz.reached import render
from tests.fuzz.start_fuzz import start

LIMITS = ChatLimits(cpu_seconds=2, wall_seconds=1800.0, memory_bytes=256 << 20, max_chars=1 << 20)
ENVIRONMENT = ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
)


def test_one_input(data: bytes) -> None:
    source = data.decode(errors="replace")
    try:
        ENVIRONMENT.parse(source)
    except (TemplateError, RecursionError):
        # Most inputs are no template: of these the process would say the same, and a start costs a tenth of a second.
        return
    render(source, ChatTemplate(source, limits=LIMITS))


if __name__ == "__main__":
    start("tests.fuzz.template_fuzz", test_one_input)
