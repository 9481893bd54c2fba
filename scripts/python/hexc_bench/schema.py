"""Validates JSON against a schema: the part of JSON Schema (2020-12) that the files in schemas/ use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent / "schemas"
TYPES: dict[str, tuple[type, ...]] = {"object": (dict,), "array": (list,), "string": (str,), "integer": (int,),
                                      "number": (int, float), "boolean": (bool,), "null": (type(None),)}
KNOWN = {"$schema", "$id", "$defs", "$ref", "title", "description", "type", "const", "enum", "properties", "required",
         "additionalProperties", "items", "minimum", "exclusiveMinimum", "minItems", "oneOf"}


def load(name: str) -> dict[str, Any]:
    """The schema file of that name."""
    found: dict[str, Any] = json.loads((HERE / f"{name}.schema.json").read_text(encoding="utf-8"))
    return found


def check(value: Any, root: dict[str, Any], part: str | None = None) -> list[str]:
    """Violations of the schema in value, each with its path; part: the definition to check against."""
    return _check(value, root["$defs"][part] if part else root, root, "$")


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name]) or name == "integer" and isinstance(value, float) and value.is_integer()


def _check(value: Any, rule: dict[str, Any], root: dict[str, Any], at: str) -> list[str]:
    unknown = set(rule) - KNOWN
    if unknown:
        raise ValueError(f"the schema says {sorted(unknown)}, which is not checked here")
    if "$ref" in rule:
        return _check(value, root["$defs"][rule["$ref"].removeprefix("#/$defs/")], root, at)
    if "oneOf" in rule:
        tries = [_check(value, r, root, at) for r in rule["oneOf"]]
        if [] not in tries:
            return min(tries, key=len)
        return [] if tries.count([]) == 1 else [f"{at}: fits more than one of the choices"]
    types = rule.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(_is(value, t) for t in types):
        return [f"{at}: {type(value).__name__}, not {' or '.join(types)}"]
    bad = []
    if "const" in rule and value != rule["const"] or "enum" in rule and value not in rule["enum"]:
        bad.append(f"{at}: {value!r} is not {rule.get('const', rule.get('enum'))!r}")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if value < rule.get("minimum", value) or "exclusiveMinimum" in rule and value <= rule["exclusiveMinimum"]:
            bad.append(f"{at}: {value} is too small")
    if isinstance(value, list):
        bad += [f"{at}: fewer than {rule['minItems']}"] if len(value) < rule.get("minItems", 0) else []
        bad += [e for i, v in enumerate(value) for e in _check(v, rule.get("items", {}), root, f"{at}[{i}]")]
    if isinstance(value, dict):
        bad += _members(value, rule, root, at)
    return bad


def _members(value: dict[str, Any], rule: dict[str, Any], root: dict[str, Any], at: str) -> list[str]:
    rules, others = rule.get("properties", {}), rule.get("additionalProperties", True)
    bad = [f"{at}.{name}: is missing" for name in rule.get("required", []) if name not in value]
    for name, member in value.items():
        if name in rules:
            bad += _check(member, rules[name], root, f"{at}.{name}")
        elif isinstance(others, dict):
            bad += _check(member, others, root, f"{at}.{name}")
        elif not others:
            bad.append(f"{at}.{name}: is not known")
    return bad
