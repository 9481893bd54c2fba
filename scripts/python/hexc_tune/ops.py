"""Operators of lib/ops: parses their files (hexc-op(5)), for sweeps over their kernels and for tables of
hexc_op_plan (`families` of hexc_op_opts)."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import TuneError
from .expr import evaluate


@dataclass(frozen=True)
class Stage:
    """A kernel of an entry with its constants ("BM=16 BN=64")."""

    kernel: str
    define: str


@dataclass(frozen=True)
class Line:
    """One entry of a table: its text after `take`, its chain of kernels, the sizes that it computes, its guard."""

    text: str
    stages: tuple[Stage, ...]
    sizes: tuple[tuple[str, str], ...]
    guard: str

    def with_candidates(self) -> str:
        """The text with explicit candidates: entries without one get their default, because
        other entries name theirs."""
        stages = " then ".join(" ".join([s.kernel, *s.define.split(), "candidate=0"]) for s in self.stages)
        sizes = " with " + ", ".join(f"{n}={v}" for n, v in self.sizes) if self.sizes else ""
        return f"{stages}{sizes} when {self.guard}"

    def extended(self, sizes: Mapping[str, int]) -> dict[str, int] | None:
        """The sizes with those that the entry computes; None if it does not apply."""
        if not evaluate(self.guard, sizes):
            return None
        out = dict(sizes)
        constants = {n: int(v) for s in self.stages for n, v in (d.split("=") for d in s.define.split()) if v.isdigit()}
        for name, text in self.sizes:
            value = evaluate(text, {**constants, **sizes})
            if value is None:
                return None
            out[name] = value
        return out


@dataclass(frozen=True)
class Operator:
    """A file of lib/ops: its table, and the file of each kernel."""

    name: str
    path: str
    lines: tuple[Line, ...]
    files: Mapping[str, str]

    def kernel(self) -> str:
        """The kernel for most sizes: of the last entry with a single kernel."""
        alone = [line.stages[0].kernel for line in self.lines if len(line.stages) == 1]
        return alone[-1] if alone else self.lines[-1].stages[0].kernel

    def values(self, kernel: str) -> dict[str, list[str]]:
        """The table's values of each constant of a kernel, in the table's order."""
        out: dict[str, list[str]] = {}
        for stage in (s for line in self.lines for s in line.stages if s.kernel == kernel):
            for name, value in (d.split("=") for d in stage.define.split()):
                if value not in out.setdefault(name, []):
                    out[name].append(value)
        return out

    def chains(self) -> list[Line]:
        """Entries with several kernels."""
        return [line for line in self.lines if len(line.stages) > 1]

    def declared(self, kernel: str) -> str:
        """The source text of a kernel."""
        text = Path(self.files[kernel]).read_text(encoding="utf-8")
        found = re.search(rf"^kernel {kernel}\b.*?(?=^kernel |\Z)", text, re.M | re.S)
        return found.group() if found else ""

    def has(self, kernel: str, constant: str) -> bool:
        """Does the kernel have a constant or tunable of this name?"""
        said = "\n".join(re.findall(r"^\s*(?:tune|const)\b(.*)", self.declared(kernel), re.M))
        return bool(re.search(rf"\b{constant}\b\s*=", said))


def folder() -> Path:
    """lib/ops of the checkout that contains this package, or of the current directory."""
    at = Path(__file__).resolve().parents[3] / "lib/ops"
    return at if at.is_dir() and not Path("lib/ops").is_dir() else Path("lib/ops")


def directives(text: str, word: str, holes: Container[str] = ()) -> list[str]:
    """What follows `//: WORD` in the lines that an operator's text has if the host sets these holes."""
    found = []
    for line in text.splitlines():
        with_hole = re.match(r"//\+ ([\w|]+) (?=//:)", line)
        if with_hole and not any(h in holes for h in with_hole[1].split("|")):
            continue
        said = re.match(rf"//: {word} (.*?)\s*(?://- ([\w|]+))?$", line[with_hole.end() if with_hole else 0:])
        if said and not any(h in holes for h in (said[2] or "").split("|") if h):
            found.append(said[1])
    return found


def read(name: str, holes: Container[str] = ()) -> Operator:
    """The operator as it is for a host that sets these holes; :class:`TuneError` names the existing ones."""
    path = folder() / f"{name}.hexc"
    if not name.isidentifier() or not path.exists():
        known = " ".join(sorted(p.stem for p in folder().glob("*.hexc")))
        raise TuneError(f"there is no operator {name}; there are {known}")
    text = path.read_text(encoding="utf-8")
    use = [w for line in directives(text, "use", holes) for w in line.split()]
    files = {k: str(p) for p in [*(folder() / f"{u}.hexc" for u in use), path]
             for k in re.findall(r"^kernel (\w+)", p.read_text(encoding="utf-8"), re.M)}
    first = re.search(r"^kernel (\w+)", text, re.M)
    table = directives(text, "take", holes) or [f"{first.group(1) if first else name} when 1"]
    # entries after the first that always holds are for sizes that its kernel rejects: other
    # alignments and multiples
    always = next((i for i, t in enumerate(table) if t.endswith(" when 1")), len(table))
    return Operator(name, str(path), tuple(line_of(t, name) for t in table[: always + 1]), files)


def line_of(text: str, family: str) -> Line:
    """Parses `take TEXT`."""
    head, _, guard = text.partition(" when ") if " when " in text else ("", "", text.removeprefix("when "))
    stages, _, sizes = head.partition(" with ")
    made = []
    for stage in stages.split(" then "):
        words = stage.split()
        kernel = words.pop(0) if words and "=" not in words[0] else family
        made.append(Stage(kernel, " ".join(w for w in words if not w.startswith("candidate="))))
    named = re.findall(r"(\w+)=(.*?)(?=, \w+=(?!=)|$)", sizes)
    return Line(text, tuple(made), tuple(named), guard.strip())


def settings(operator: Operator, kernel: str, sweep: Sequence[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    """From -D: the host's settings of the operator, which its table does not mention; one value each."""
    mine = [(n, v) for n, v in sweep if n not in operator.values(kernel) and not v[0].lstrip("-").isdigit()]
    for name, values in mine:
        if len(values) > 1:
            raise TuneError(f"-D {name}: that is the host's to say of {operator.name}; sweep one value at a time")
    return mine
