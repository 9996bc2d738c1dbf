"""The C++ text of the launch records: a struct each that decodes itself from its words.

Enters: the kinds' dataclasses. Leaves: the part of `lane_records.h` that follows from them, as `lane.launch.spec`
writes it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence

from lane.launch.record import Dest, FieldSpec, Launch, Record, field_specs


def camel(name: str) -> str:
    """`gemv_rows` as C++ calls it: `kGemvRows`."""
    return "k" + "".join(part.capitalize() for part in name.lower().split("_"))


def all_records(kinds: Sequence[type[Launch]]) -> list[type[Record]]:
    """The kinds and the records within them, what one holds before it."""
    found: list[type[Record]] = []

    def add(record: type[Record]) -> None:
        for spec in field_specs(record):
            for held in spec.choices or ((spec.type,) if spec.is_record else ()):
                add(held)
        if record not in found:
            found.append(record)

    for kind in kinds:
        add(kind)
    return found


def all_enums(kinds: Sequence[type[Launch]]) -> list[type[enum.Enum]]:
    """The enumerations that fields have."""
    specs = (spec for record in all_records(kinds) for spec in field_specs(record))
    return list(dict.fromkeys(spec.type for spec in specs if spec.is_enum))


def record_texts(kinds: Sequence[type[Launch]]) -> Iterator[str]:
    """What the records are made of, then each."""
    yield _PREAMBLE
    for record in all_records(kinds):
        yield _record_text(record, kinds)


_C_TYPES = {str: "Ref", float: "double", bool: "bool", int: "std::int64_t"}


def _value_type(spec: FieldSpec) -> str:
    if spec.choices:
        return f"std::variant<{', '.join(choice.__name__ for choice in spec.choices)}>"
    return _C_TYPES[spec.type] if spec.type in _C_TYPES else str(spec.type.__name__)


def _c_type(spec: FieldSpec) -> str:
    if spec.repeated:
        return f"std::vector<{_value_type(spec)}>"
    return f"std::optional<{_value_type(spec)}>" if spec.optional and spec.type is not str else _value_type(spec)


def _read_value(spec: FieldSpec) -> str:
    if spec.choices:
        return f'w.one_of<{", ".join(choice.__name__ for choice in spec.choices)}>("{spec.name}")'
    if spec.is_record:
        return f"{spec.type.__name__}::decode(w)"
    if spec.is_enum:
        return f'w.choice<{spec.type.__name__}>("{spec.name}", {len(spec.type)})'
    return {str: "w.ref()", float: "w.real()", bool: "w.flag()", int: "w.next()"}[spec.type]


def _c_decode(spec: FieldSpec) -> str:
    if spec.repeated:
        return f"w.list<{_value_type(spec)}>()"
    if spec.optional and spec.type is not str:
        return f"w.flag() ? {_c_type(spec)}({_read_value(spec)}) : std::nullopt"
    return _read_value(spec)


def _c_literal(value: object) -> str:
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}::{camel(value.name)}"
    return str(value).lower()


def _is_used(spec: FieldSpec) -> str | None:
    """Whether a launch makes use of an option; of a destination, of being another than a whole buffer."""
    if spec.type is Dest and not spec.repeated:
        value = f"{spec.name}->mode" if spec.optional else f"{spec.name}.mode"
        return f"{spec.name}.has_value()" if spec.optional else f"{value} != DestMode::kWhole"
    if not spec.option:
        return None
    if spec.optional:
        return f"{spec.name} != kNone" if spec.type is str else f"{spec.name}.has_value()"
    return f"{spec.name} != {_c_literal(spec.default)}"


def _record_text(record: type[Record], kinds: Sequence[type[Launch]]) -> str:
    name, specs = record.__name__, field_specs(record)
    lines = [f"struct {name} {{\n"]
    if issubclass(record, Launch):
        lines.append(f'  static constexpr const char* kName = "{record.kind}";\n')
        lines.append(f"  static constexpr std::int64_t kKind = {kinds.index(record)};\n")
    lines += [f"  {_c_type(spec)} {spec.name};\n" for spec in specs]
    lines += [f"  static {name} decode(Words& w) {{\n    return {{\n"]
    lines += [f"        .{spec.name} = {_c_decode(spec)},\n" for spec in specs]
    lines += ["    };\n  }\n"]
    if issubclass(record, Launch):
        lines += ["  // f(name, whether the launch makes use of it) of each field that a launch may do without.\n"]
        lines += ["  template <class F>\n  void each_option([[maybe_unused]] F f) const {\n"]
        lines += [f'    f("{spec.name}", {used});\n' for spec in specs if (used := _is_used(spec)) is not None]
        lines += ["  }\n"]
    return "".join([*lines, "};\n"])


_PREAMBLE = """\
// Index of a buffer in the form's table; kNone: the launch has no such operand.
using Ref = std::int32_t;
inline constexpr Ref kNone = -1;
// The words of a record, taken one after the other. Past the end they are 0 and `whole` is false; an ordinal or a count
// outside its range is 0 too, and the first such is noted.
struct Words {
  const std::int64_t* at;
  const std::int64_t* end;
  bool whole = true;
  const char* odd = nullptr;
  std::int64_t odd_value = 0, odd_limit = 0;
  std::int64_t next() { return at == end ? (whole = false, 0) : *at++; }
  bool flag() { return next() != 0; }
  double real() { return std::bit_cast<double>(next()); }
  Ref ref() { return static_cast<Ref>(next()); }
  std::int64_t below(const char* field, std::int64_t limit) {
    const std::int64_t value = next();
    if (value >= 0 && value < limit) return value;
    if (odd == nullptr) odd = field, odd_value = value, odd_limit = limit;
    return 0;
  }
  template <class T>
  T choice(const char* field, std::int64_t count) {
    return static_cast<T>(below(field, count));
  }
  template <class T>
  std::vector<T> list() {
    std::vector<T> items;
    for (std::int64_t left = below("length", end - at); left > 0; --left) items.push_back(T::decode(*this));
    return items;
  }
  template <class... T>
  std::variant<T...> one_of(const char* field) {
    using Decode = std::variant<T...> (*)(Words&);
    constexpr Decode kDecode[] = {[](Words& w) { return std::variant<T...>(T::decode(w)); }...};
    return kDecode[below(field, sizeof...(T))](*this);
  }
};
"""
