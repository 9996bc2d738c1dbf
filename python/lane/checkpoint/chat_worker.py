"""Renders a chat template in a process of its own: a template is a program that came with an untrusted file.

What enters, on standard input, are lines of JSON: first the template and the limits, then for each rendering its
variables, those that the template may write as its own apart from those that came with the conversation, and how long
the text may be; or null, to be told whether the template parses. What leaves, on standard output, is one line for each:
the text and which characters of it came with the conversation, that it is too long, the template's own refusal of the
variables, or what went wrong and in which line. jinja2's sandbox keeps the template from attributes and files; the
kernel's limits on processor time and memory bound whatever it computes.
"""

import json
import resource
import signal
import sys
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache, partial, wraps
from typing import Any

from jinja2 import TemplateSyntaxError, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.environment import Template
from jinja2.ext import Extension
from jinja2.filters import do_map
from jinja2.parser import Parser
from jinja2.runtime import Context, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import pass_context

from lane.checkpoint.given_text import as_given, following, following_call, joined, mixing, spans_of, text_of

_FILE = "<template>"
_MOST_CHARS = 1000  # of a message: a template makes some of them, of any length

# The roles that a template may make a control token of. Any other is text, as whatever else the conversation says.
_ROLES = frozenset({"assistant", "developer", "function", "model", "system", "tool", "user"})


# The filters that pass their values on, or do nothing to text but what `Given` does itself.
_FOLLOWED = frozenset(
    {
        *(
            "attr",
            "batch",
            "d",
            "default",
            "dictsort",
            "first",
            "groupby",
            "items",
            "last",
            "list",
            "map",
            "max",
            "min",
        ),
        *("random", "reject", "rejectattr", "select", "selectattr", "slice", "sort", "sum", "unique"),
        *("capitalize", "join", "lower", "replace", "reverse", "string", "trim", "upper"),
    }
)


class _Refusal(Exception):
    """Raised by a template that finds fault with the conversation."""


class _Generation(Extension):
    """`{% generation %}`: marks what the model wrote, for training. Here it is its body."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


class _Generator(CodeGenerator):
    """`~` joins as the environment does."""

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        self.write("environment.concat(map(environment.finalize, (")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write(")))")


class _Environment(ImmutableSandboxedEnvironment):
    """Templates whose text knows which of its characters came with the conversation."""

    code_generator_class = _Generator
    concat = staticmethod(joined)
    intercepted_binops = frozenset({"%"})

    def __init__(self) -> None:
        extensions = ["jinja2.ext.loopcontrols", _Generation]
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=extensions, finalize=text_of)
        self.filters["tojson"] = _tojson
        self.filters["join"] = _join
        self.filters = {name: _filter(name, made) for name, made in self.filters.items()}
        self.globals["raise_exception"] = _raise_exception
        self.globals["strftime_now"] = _strftime_now

    def call(self, context: Context, called: Any, /, *args: Any, **kwargs: Any) -> Any:
        if isinstance(called, Macro):  # its text was joined here
            return super().call(context, called, *args, **kwargs)
        return following_call(partial(super().call, context), called, *args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        return following(partial(super().call_binop, context, operator), left, right)


def _raise_exception(message: str) -> None:
    raise _Refusal(message)


def _strftime_now(pattern: str) -> str:
    return datetime.now().strftime(pattern)


def _tojson(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON as models were trained on it: jinja2's own filter escapes <, >, & and ' for HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


@pass_context
def _join(context: Context, values: Iterable[object], d: str = "", attribute: str | None = None) -> str:
    """jinja2's own goes through str.join, which follows nothing."""
    parts = values if attribute is None else do_map(context, values, attribute=attribute)
    return joined(map(text_of, parts), str(d))


def _filter(name: str, made: Callable[..., Any]) -> Callable[..., Any]:
    """A filter whose text is followed. What jinja2 is to pass it first is told by attributes, which are kept."""
    follow = following if name in _FOLLOWED else mixing

    @wraps(made)
    def filtered(*args: Any, **kwargs: Any) -> Any:
        return follow(made, *args, **kwargs)

    return filtered


@cache
def _compile(source: str) -> Template:
    return _Environment().from_string(source)


def _line_of(error: BaseException) -> int | None:
    """The line of the template that was running when the error came up."""
    if isinstance(error, TemplateSyntaxError):
        return error.lineno
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _FILE:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _attempt(work: Callable[[], dict[str, object]]) -> dict[str, object]:
    """What the work gives, or why it does not."""
    try:
        return work()
    except _Refusal as error:
        return {"refusal": str(error)[:_MOST_CHARS]}
    except MemoryError:
        return {"failure": "needs more memory than it is given"}
    except RecursionError:
        return {"failure": "nests deeper than it may"}
    except Exception as error:
        return {"failure": f"{type(error).__name__}: {error}"[:_MOST_CHARS], "line": _line_of(error)}


def _parse(source: str) -> dict[str, object]:
    _compile(source)
    return {"text": "", "given": []}


def _render(source: str, request: dict[str, Any]) -> dict[str, object]:
    text = _compile(source).render({**_given(request["given"]), **request["own"]})
    if len(text) > request["max_chars"]:
        return {"too_long": len(text)}
    return {"text": text, "given": spans_of(text)}


def _given(variables: dict[str, Any]) -> dict[str, Any]:
    """The variables as what came with the conversation, but for the roles."""
    roles = [message["role"] for message in variables["messages"]]
    marked = {name: as_given(value) for name, value in variables.items()}
    for message, role in zip(marked["messages"], roles, strict=True):
        if role in _ROLES:
            message["role"] = role
    return marked


def main() -> None:
    setup = json.loads(sys.stdin.readline())
    source = setup["source"]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (setup["memory_bytes"], setup["memory_bytes"]))
    for line in sys.stdin:
        request = json.loads(line)
        # Of processor time; then the kernel ends the process.
        signal.setitimer(signal.ITIMER_PROF, setup["cpu_seconds"])
        reply = _attempt(partial(_parse, source) if request is None else partial(_render, source, request))
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
