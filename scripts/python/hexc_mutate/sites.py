"""Where a C file can be mutated: clang's syntax tree to mutants, and to one text that contains all of them.

A mutant is a small edit of one expression or statement. All mutants of a file are in the same program: each site
tests at run time whether its mutant is selected, so that one build serves for all (mutant schemata: Untch, Offutt,
Harrold, ISSTA 1993). `text` inserts these tests; `HEXC_MUT(n)` is true if mutant n is selected."""
from __future__ import annotations

import hashlib
import json
import re
import subprocess
from dataclasses import dataclass, field
from typing import Any

Node = dict[str, Any]

SWAPPED = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",),
           "+": ("-",), "-": ("+",), "*": ("+",), "/": ("*",), "%": ("*",), "&": ("|",), "|": ("&",), "^": ("|",),
           "<<": (">>",), ">>": ("<<",)}
COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}
WHOLE = {"%", "&", "|", "^", "<<", ">>"}
NUMBER = re.compile(r"(?:unsigned |long )*(?:int|char|long|unsigned|size_t|u?int\d+_t|float|double)")
STATEMENT_PARENTS = {"CompoundStmt", "IfStmt", "ForStmt", "WhileStmt", "DoStmt", "CaseStmt", "DefaultStmt",
                     "LabelStmt"}
# Their parts are constants, or are not evaluated.
CLOSED = {"UnaryExprOrTypeTraitExpr", "OffsetOfExpr", "StaticAssertDecl", "RecordDecl", "EnumDecl", "TypedefDecl",
          "ConstantExpr", "GenericSelectionExpr"}


@dataclass
class Mutant:
    file: str
    line: int
    function: str
    was: str  # the text of the expression or statement, its spaces collapsed
    now: str
    nth: int  # among the equal edits of the function
    body: str  # the digest of the function's text

    def key(self) -> str:
        return "\t".join((self.file, self.function, self.was, self.now, str(self.nth)))


@dataclass
class File:
    path: str
    source: bytes
    mutants: list[Mutant] = field(default_factory=list)
    edits: list[tuple[int, int, int, bytes]] = field(default_factory=list)  # offset, order, length, text


def digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:16]


def tree(path: str, flags: list[str]) -> Node:
    out = subprocess.run(["clang", *flags, "-w", "-fsyntax-only", "-Xclang", "-ast-dump=json", path], check=True,
                         capture_output=True)
    found: Node = json.loads(out.stdout)
    return found


class Places:
    """Offsets in the main file. clang prints a location's file only if it differs from the last one printed."""

    def __init__(self, path: str, source: bytes) -> None:
        self.path, self.source, self.last = path, source, ""

    def see(self, node: Any) -> None:
        """Gives each location its file: in the order in which clang printed them."""
        if isinstance(node, list):
            for n in node:
                self.see(n)
        elif isinstance(node, dict):
            if "offset" in node and "tokLen" in node:
                self.last = node.get("file", self.last)
                node["in"] = self.last
            for n in node.values():
                if isinstance(n, (dict, list)):
                    self.see(n)

    def at(self, loc: Node) -> tuple[int, int] | None:
        """Begin and end of a token, or of a macro with its arguments; None: elsewhere, or within an argument."""
        whole = "expansionLoc" in loc
        if whole:
            loc = loc["expansionLoc"]
            if loc.get("isMacroArgExpansion"):
                return None
        if "offset" not in loc or loc["in"] != self.path:
            return None
        begin, end = loc["offset"], loc["offset"] + loc["tokLen"]
        if whole and self.source[end:end + 1] == b"(":
            depth = 0
            for end in range(end, len(self.source)):
                depth += {b"(": 1, b")": -1}.get(self.source[end:end + 1], 0)
                if not depth:
                    end += 1
                    break
        return begin, end

    def span(self, node: Node) -> tuple[int, int] | None:
        r = node.get("range", {})
        a, b = self.at(r.get("begin", {})), self.at(r.get("end", {}))
        return (a[0], b[1]) if a and b and a[0] < b[1] else None


def kind(node: Node) -> str:
    return str(node.get("kind", ""))


def parts(node: Node) -> list[Node]:
    return [n for n in node.get("inner", []) if n]


def type_of(node: Node) -> str:
    t = node.get("type", {})
    return str(t.get("desugaredQualType", t.get("qualType", "")))


def arithmetic(node: Node) -> bool:
    t = type_of(node)
    return not re.search(r"[*\[(]|\bstruct\b|\bunion\b|\bvoid\b", t)


def inexact(node: Node) -> bool:
    return bool(re.search(r"\b(float|double)\b", type_of(node)))


class Finder:
    def __init__(self, path: str, flags: list[str]) -> None:
        with open(path, "rb") as f:
            self.file = File(path, f.read())
        self.places = Places(path, self.file.source)
        self.function, self.result, self.body = "", "", ""
        self.declared = False  # in the initial value of a variable
        self.seen: set[tuple[int, int, str]] = set()
        self.equal: dict[tuple[str, str, str], int] = {}
        self.order = 0
        root = tree(path, flags)
        self.places.see(root)
        for node in parts(root):
            if kind(node) == "FunctionDecl":
                self.visit_function(node)

    # edits: of two at one offset, the outer expression's prefix is first, and its suffix last

    def prefix(self, at: int, text: str) -> None:
        self.order += 1
        self.file.edits.append((at, self.order, 0, text.encode()))

    def suffix(self, at: int, text: str) -> None:
        self.order += 1
        self.file.edits.append((at, -self.order, 0, text.encode()))

    def replace(self, begin: int, end: int, text: str) -> None:
        self.file.edits.append((begin, 0, end - begin, text.encode()))

    def around(self, span: tuple[int, int], before: str, after: str) -> None:
        self.prefix(span[0], before)
        self.suffix(span[1], after)

    def text(self, span: tuple[int, int]) -> str:
        return " ".join(self.file.source[span[0]:span[1]].decode(errors="replace").split())

    def mutant(self, span: tuple[int, int], now: str) -> str:
        """The test whether this new mutant is selected."""
        was = self.text(span)
        line = self.file.source[:span[0]].count(b"\n") + 1
        equal = (self.function, was, now)
        self.equal[equal] = self.equal.get(equal, -1) + 1
        self.file.mutants.append(Mutant(self.file.path, line, self.function, was, now, self.equal[equal], self.body))
        return f"HEXC_MUT(@{len(self.file.mutants) - 1}@)"

    def once(self, span: tuple[int, int] | None, what: str) -> bool:
        """Not seen before: initializers occur in the tree in two forms, and all parts of a macro at its place."""
        if not span or (*span, what) in self.seen:
            return False
        self.seen.add((*span, what))
        return True

    def operator(self, left: tuple[int, int], right: tuple[int, int], op: str) -> tuple[int, int] | None:
        """Between the operands, possibly behind brackets."""
        gap = self.file.source[left[1]:right[0]]
        m = re.fullmatch(rb"[\s)]*(" + re.escape(op.encode()) + rb")[\s(]*", gap)
        return (left[1] + m.start(1), left[1] + m.end(1)) if m else None

    def visit_function(self, node: Node) -> None:
        body = [n for n in parts(node) if kind(n) == "CompoundStmt"]
        span = self.places.span(body[0]) if body else None
        if not span:
            return
        self.function = str(node["name"])
        self.body = digest(self.file.source[slice(*span)])
        self.result = str(node["type"]["qualType"]).split("(")[0].strip()
        early = {"void": "return"}.get(self.result, "return 0" if NUMBER.fullmatch(self.result) else "")
        if early:
            tested = self.mutant((span[0], span[0] + 1), early)
            self.suffix(span[0] + 1, f" if ({tested}) {early};")
        self.visit(body[0], node)

    def visit(self, node: Node, parent: Node) -> None:
        k = kind(node)
        if k in CLOSED or (k == "VarDecl" and node.get("storageClass") in ("static", "extern")):
            return
        span = self.places.span(node)
        if span and "expansionLoc" in node["range"]["begin"] and not self.once(span, "macro"):
            span = None  # of what a macro expands to, only all together is one text
        method = getattr(self, "on_" + k, None)
        if span and method:
            method(node, span, parent)
        if span and kind(parent) in STATEMENT_PARENTS:
            self.statement(node, span, parent)
        outer, self.declared = self.declared, self.declared or k == "VarDecl"
        for n in parts(node):
            self.visit(n, node)
        self.declared = outer

    def statement(self, node: Node, span: tuple[int, int], parent: Node) -> None:
        """An expression whose value is not used: its effect can be left out."""
        k = kind(node)
        dropped = k == "CallExpr" or k == "CompoundAssignOperator" or (k == "BinaryOperator" and node["opcode"] == "=")
        dropped = dropped or (k == "UnaryOperator" and node["opcode"] in ("++", "--"))
        if not dropped or (kind(parent) != "CompoundStmt" and node is not parts(parent)[-1]
                           and not (kind(parent) == "IfStmt" and node is not parts(parent)[0])):
            return
        if kind(parent) == "ForStmt" and k != "CallExpr" and node is not parts(parent)[-1]:
            return
        if self.once(span, "drop"):
            self.around(span, f"(void)({self.mutant(span, '/* dropped */')} || ((", "), 0))")

    def jump(self, node: Node, span: tuple[int, int]) -> None:
        end = span[1]
        if self.file.source[end:end + 1] == b";" and self.once(span, "drop"):
            self.around((span[0], end + 1), f"{{ if (!{self.mutant(span, '/* dropped */')}) ", " }")

    def on_BreakStmt(self, node: Node, span: tuple[int, int], parent: Node) -> None:
        if kind(parent) not in ("CaseStmt", "DefaultStmt"):
            self.jump(node, span)

    def on_ContinueStmt(self, node: Node, span: tuple[int, int], parent: Node) -> None:
        self.jump(node, span)

    def condition(self, node: Node) -> None:
        span = self.places.span(node)
        if span and self.once(span, "not"):
            self.around(span, f"({self.mutant(span, '!(' + self.text(span) + ')')} != !!(", "))")

    def on_IfStmt(self, node: Node, span: tuple[int, int], parent: Node) -> None:
        self.condition(parts(node)[0])

    def on_ConditionalOperator(self, node: Node, span: tuple[int, int], parent: Node) -> None:
        self.condition(parts(node)[0])

    def on_ReturnStmt(self, node: Node, span: tuple[int, int], parent: Node) -> None:
        if self.result in ("_Bool", "bool") and parts(node):
            self.condition(parts(node)[0])

    def on_UnaryOperator(self, node: Node, span: tuple[int, int], parent: Node) -> None:
        op = node["opcode"]
        if op == "!" and kind(parent) not in ("IfStmt", "ReturnStmt") and self.once(span, "not"):
            tested = self.mutant(span, self.text(span)[1:].strip())
            self.around(span, f"({tested} != (", "))")
        elif op == "-" and arithmetic(node) and self.once(span, "sign"):
            tested = self.mutant(span, self.text(span)[1:].strip())
            self.around(span, f"(({tested} ? -1 : 1) * (", "))")

    def on_IntegerLiteral(self, node: Node, span: tuple[int, int], parent: Node) -> None:
        if parent.get("castKind") == "NullToPointer" or not self.once(span, "number"):
            return
        was = self.text(span)
        up = self.mutant(span, was + " + 1")
        # a loop over an array from -1 has no defined effect
        down = " - " + self.mutant(span, was + " - 1") if was != "0" or not self.declared else ""
        self.around(span, "(", f" + {up}{down})")

    def on_FloatingLiteral(self, node: Node, span: tuple[int, int], parent: Node) -> None:
        if not self.once(span, "number"):
            return
        was = self.text(span)
        up, down = self.mutant(span, was + " * 2"), self.mutant(span, was + " / 2")
        self.around(span, "(", f" * (1 + {up}) / (1 + {down}))")

    def on_CompoundAssignOperator(self, node: Node, span: tuple[int, int], parent: Node) -> None:
        left, right = (self.places.span(n) for n in parts(node))
        op = node["opcode"]
        if op not in ("+=", "-=") or not left or not right or not self.once(span, "assign"):
            return
        was = self.text(span)
        self.around(right, f"({self.mutant(span, was.replace(op, '-=' if op == '+=' else '+=', 1))} ? -1 : 1) * (", ")")

    def on_BinaryOperator(self, node: Node, span: tuple[int, int], parent: Node) -> None:
        op = node["opcode"]
        a, b = parts(node)
        left, right = self.places.span(a), self.places.span(b)
        if not left or not right:
            return
        place = self.operator(left, right, op)
        if not place or op not in (*SWAPPED, "&&", "||") or not self.once(span, "binary"):
            return
        # operands may be in brackets, which belong to their text
        lead, trail = (span[0], place[0]), (place[1], span[1])
        x, y = self.text(lead), self.text(trail)
        n = len(self.file.mutants)
        if op in ("&&", "||"):
            other = "||" if op == "&&" else "&&"
            tested = self.mutant(span, f"{x} {other} {y}")
            taken = "!=" if op == "&&" else "=="
            self.prefix(span[0], f"({{ _Bool hm_a{n} = !!(")
            self.replace(*place, f"), hm_k{n} = hm_a{n}; if (hm_a{n} {taken} {tested}) hm_k{n} = !!(")
            self.suffix(span[1], f"); (int)hm_k{n}; }})")
            return
        numbers = arithmetic(a) and arithmetic(b)
        if not numbers and op not in COMPARISONS:
            return
        sign = "+" if numbers else ""
        chosen = ""
        for now in SWAPPED[op]:
            if not numbers and now not in COMPARISONS:
                continue
            if now in WHOLE and (inexact(a) or inexact(b)):
                continue
            chosen += f"{self.mutant(span, f'{x} {now} {y}')} ? hm_a{n} {now} hm_b{n} : "
        self.prefix(span[0], f"({{ __auto_type hm_a{n} = {sign}(")
        self.replace(*place, f"); __auto_type hm_b{n} = {sign}(")
        self.suffix(span[1], f"); {chosen}hm_a{n} {op} hm_b{n}; }})")


def find(path: str, flags: list[str]) -> File:
    """The mutants of a file, with the edits that put all of them into its text."""
    return Finder(path, flags).file


def text(file: File, first: int, header: str) -> bytes:
    """The file's text with all its mutants, the first of which has the number `first`."""
    out, at = [f'#include "{header}"\n#line 1 "{file.path}"\n'.encode()], 0
    # at one offset: ends of inner expressions before those of outer ones, then an operator, then beginnings
    for offset, _, length, inserted in sorted(file.edits, key=lambda e: (e[0], e[1])):
        out.append(file.source[at:offset])
        out.append(re.sub(rb"@(\d+)@", lambda m: str(first + int(m[1])).encode(), inserted))
        at = offset + length
    out.append(file.source[at:])
    return b"".join(out)
