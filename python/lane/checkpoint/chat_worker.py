"""Renders a chat template in a process of its own: a template is a program that came with an untrusted file.

What enters, on standard input, are lines of JSON: first the template and the limits, then for each rendering its
variables and how long the text may be. What leaves, on standard output, is one line for each rendering: the text, that
it is too long, the template's own refusal of the variables, or what went wrong and in which line. jinja2's sandbox
keeps the template from attributes and files; the kernel's limits on processor time and memory bound whatever it
computes.
"""

import json
import resource
import signal
import sys
from datetime import datetime
from functools import cache
from typing import Any

from jinja2 import TemplateSyntaxError, nodes
from jinja2.environment import Template
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

_FILE = "<template>"
_MOST_CHARS = 1000  # of a message: a template makes some of them, of any length


class _Refusal(Exception):
    """Raised by a template that finds fault with the conversation."""


class _Generation(Extension):
    """`{% generation %}`: marks what the model wrote, for training. Here it is its body."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


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


@cache
def _compile(source: str) -> Template:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _Generation]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _strftime_now
    return environment.from_string(source)


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


def _render(source: str, variables: dict[str, Any], max_chars: int) -> dict[str, object]:
    try:
        text = _compile(source).render(**variables)
    except _Refusal as error:
        return {"refusal": str(error)[:_MOST_CHARS]}
    except MemoryError:
        return {"failure": "needs more memory than it is given"}
    except RecursionError:
        return {"failure": "nests deeper than it may"}
    except Exception as error:
        return {"failure": f"{type(error).__name__}: {error}"[:_MOST_CHARS], "line": _line_of(error)}
    return {"text": text} if len(text) <= max_chars else {"too_long": len(text)}


def main() -> None:
    setup = json.loads(sys.stdin.readline())
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (setup["memory_bytes"], setup["memory_bytes"]))
    for line in sys.stdin:
        request = json.loads(line)
        # Of processor time; then the kernel ends the process.
        signal.setitimer(signal.ITIMER_PROF, setup["cpu_seconds"])
        reply = _render(setup["source"], request["variables"], request["max_chars"])
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
