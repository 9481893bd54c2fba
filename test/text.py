#!/usr/bin/env python3
"""text.py [-v] FILE|FOLDER... - runs text tests: programs and tile IR with commands and expected output in comments.

// RUN: hexc ir %s --passes fold       a shell command. %s: the program; %t: a scratch file; %i: the IR of FROM.
// RUN=1 NAME: ...                     expects exit status 1, and checks lines NAME for CHECK; no lines: no output
// CHECK: text {{regex}} [[x:regex]]   the output has this, after what the previous line matched; [[x]] refers back
// CHECK-NEXT: CHECK-NOT: CHECK-DAG:   on the next line; not before the next match; in any order
// CHECK-COUNT-2: PATTERN              in exactly so many lines of the rest; a word alone counts ops
// FROM: hexc ..                       prints IR, from which all edits of the case start
// TO: hexc ir %i --passes validate    accepts that IR, and judges each edited copy of it
// BAD: EDIT; EDIT :: message          TO fails, and its first error contains the message; "..." repeats the last one
// GOOD: EDIT; EDIT                    TO accepts the copy, too
// EACH: EDIT :: message               like BAD, for every line that `*` in the edit selects; EACH=2: accepts two

An edit is a line and an action. `copy#1` is the second line of op copy, `copy#*` each, /regex/#1 the second line that
matches. Actions: s/regex/text/; d deletes the line; < OP and > OP insert a line before or after it; ^ LINE moves it
before another one; + NAME adds 1 to an immediate. Every edit must change the text. Without a message, BAD and EACH
accept any message of a validator or of the verifier. A line `// DEF NAME: text` defines %{NAME}; the last one counts.
%{=2 * (M + N) // 8} is a number that is computed from such names.
%{PARSED} and %{INFERRED} write the program's IR after that pass to %t, with the command line's %{OPTIONS};
%{CANDIDATES} proves all candidates, and writes their IR to %t.0, %t.1, ..

A line `//- TEXT :: CHECK :: 2 x CHECK :: ! CHECK :: & CHECK` is a case, too: TEXT (with ; for line ends in IR), and
what the output of RUN has in this order, in how many lines, has not, and has in any order. TEXT like NAME=text;
NAME=text (or ;; if a text has semicolons) defines these. A line of comment that ends in \\ goes on in the next.

A line `//--- NAME` starts a case. Each case is a test of its own: its text replaces the line @ of the text before
the first case, or follows that text (a line @ in the case separates the text for a second @). Comments there are for
every case. -v prints commands and errors.

A file without RUN or FROM may have `// error: TEXT` at the end of lines (all errors of the program), or `// ir: TEXT`
(in the IR before all passes; `// ir! TEXT`: nowhere), without the numbers of values. Other files are no tests.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

HEXC = os.environ.get("HEXC", "build/hexc")
ENV = os.environ | {"PATH": os.path.abspath(os.path.dirname(HEXC)) + ":" + os.environ["PATH"]}
LINE = re.compile(r"^\s*// ([A-Z][A-Z0-9_]*)(-[A-Z]+(?:-\d+)?)?(?:=(\d+))?(?: ([A-Z][A-Z0-9_]*))?: ?(.*)$", re.M)
DUMPED = "hexc --emit-ptx %s %{OPTIONS} --stop PASS --dump PASS 2>&1 | sed -n '/^kernel/,/^}/p' >%t"
BUILT_IN = {"PARSED": DUMPED.replace("PASS", "parse"), "INFERRED": DUMPED.replace("PASS", "infer"), "OPTIONS": "",
            "CANDIDATES": "n=$(hexc candidates %s %{OPTIONS} | grep -c cycles); while [ $((n -= 1)) -ge 0 ]; do "
                          "hexc --emit-ptx %s %{OPTIONS} --candidate $n --prove --dump infer --stop validate_barriers "
                          "2>%t.$n || { cat %t.$n; exit 1; }; done"}
COMMANDS = ("RUN", "FROM", "TO", "BAD", "GOOD", "EACH", "DEF")
verbose = False


class Failure(Exception):
    pass


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def squeeze(text):
    return re.sub(r"[ \t]+", " ", text)


def pattern(text, known):
    """The regex of a CHECK line; `known`: variables of preceding lines, {} to define none."""
    out, here = "", set()
    for part in re.split(r"(\{\{.*?\}\}|\[\[\w+(?::.*?)?\]\](?!\]))", squeeze(text.strip())):
        name = re.match(r"\[\[(\w+)(?::(.*))?\]\]$", part)
        if part.startswith("{{"):
            out += f"(?:{part[2:-2]})"
        elif name and name[2] is not None:
            out += f"(?P<{name[1]}>{name[2]})"
            here.add(name[1])
        elif name and name[1] in here:
            out += f"(?P={name[1]})"
        elif name:
            out += re.escape(known[name[1]]) + r"(?!\w)"
        else:
            out += re.escape(part)
    return re.compile(out)


def check(lines, output):
    """lines: (kind, text) of one prefix, in order."""
    text, at, known, absent = squeeze(output), 0, {}, []
    for kind, want in lines + [(None, "")]:
        if kind == "-NOT":
            absent.append(want)
            continue
        if kind and kind.startswith("-COUNT-"):
            rest = text[at:].split("\n")
            n = ([op_of(one) for one in rest].count(want) if re.fullmatch(r"\w+", want) else
                 sum(bool(pattern(want, known).search(one)) for one in rest))
            if n != int(kind[7:]):
                raise Failure(f"'{want}' is in {n} lines\n{output}")
            continue
        start = at if kind != "-DAG" else 0
        m = pattern(want, known).search(text, start) if kind is not None or want else None
        if kind is not None and not m:
            raise Failure(f"no '{want}' after {text[:at].count(chr(10)) + 1} lines of\n{output}")
        end = m.start() if m else len(text)
        for one in absent:
            if pattern(one, known).search(text, at, end):
                raise Failure(f"'{one}' in\n{output}")
        absent = []
        if not m:
            continue
        if kind == "-NEXT" and text[at:end].count("\n") != 1:
            raise Failure(f"'{want}' is not on the next line\n{output}")
        known.update(m.groupdict())
        at = max(at, m.end())


def op_of(line):
    m = re.match(r"\s*(?:%[\w., %]*= )?(\w+)", line)
    return m[1] if m else ""


def chosen(lines, target):
    """Indices of the lines that `target` selects."""
    m = re.match(r"/(.*)/(?:#(\d+|\*))?$|(\w+)(?:#(\d+|\*))?$", target)
    if not m:
        raise Failure(f"no line is called {target}")
    at = [i for i, line in enumerate(lines) if (re.search(m[1], line) if m[3] is None else op_of(line) == m[3])]
    n = (m[2] if m[3] is None else m[4]) or "0"
    if n != "*" and int(n) >= len(at):
        raise Failure(f"{len(at)} lines {target}")
    return at if n == "*" else [at[int(n)]]


def edits(text):
    """Parses "LINE ACTION; LINE ACTION"."""
    word = r"(/(?:[^/\\]|\\.)*/(?:#(?:\d+|\*))?|\w+(?:#(?:\d+|\*))?)"
    rule = re.compile(rf"\s*{word}\s+(s/((?:[^/\\]|\\.)*)/((?:[^/\\]|\\.)*)/|d(?=;|$)|([<>]) ([^;]*)|\^ {word}|"
                      r"\+ (\w+))\s*(?:;|$)")
    at, found = 0, []
    while at < len(text.rstrip()):
        m = rule.match(text, at)
        if not m:
            raise Failure(f"no edit: {text[at:]}")
        found.append(m)
        at = m.end()
    return found


def edited(ir, text, nth):
    """ir after the edits; nth: which of the lines of `*`, None behind the last."""
    lines, more = ir.split("\n"), True
    for m in edits(text):
        at = chosen(lines, m[1])
        if "#*" in m[1]:
            more = nth < len(at)
            if not more:
                return None
            at = [at[nth]]
        i, was = at[0], list(lines)
        if m[2].startswith("s/"):
            lines[i] = re.sub(m[3], m[4], lines[i], count=1)
        elif m[2] == "d":
            del lines[i]
        elif m[5]:
            lines.insert(i + (m[5] == ">"), m[6])
        elif m[8]:
            n = re.search(rf" {m[8]} (\d+)", lines[i])
            after = n.span() if n else (re.match(r"\s*\w+", lines[i]).end(),) * 2
            lines[i] = f"{lines[i][:after[0]]} {m[8]} {int(n[1]) + 1 if n else 1}{lines[i][after[1]:]}"
        else:
            to = chosen(lines, m[7])[0]
            line = lines.pop(i)
            lines.insert(to - (to > i), line)
        if lines == was:
            raise Failure(f"'{m[0].strip()}' changes nothing in {was[i]}")
    return "\n".join(lines)


class Case:
    def __init__(self, name, text, scratch):
        self.name, self.scratch, self.message = name, scratch, ""
        self.file = scratch + ("/program.ir" if name.split(" ")[0].endswith(".ir") else "/program.hexc")
        text = re.sub(r" \\\n\s*// ?", " ", text)
        names = BUILT_IN | {m[4]: m[5] for m in LINE.finditer(text) if m[1] == "DEF"}
        for _ in range(3):
            text = re.sub(r"%\{(\w+)\}", lambda name: names[name[1]], text)
        text = re.sub(r"%\{=([^}]*)\}", lambda m: str(eval(re.sub("[A-Z]\\w*", lambda n: names[n[0]], m[1]))), text)
        with open(self.file, "w") as f:
            f.write(LINE.sub(lambda m: m[0] if m[1] not in COMMANDS and not m[2] else "//", text))
        self.lines = [(m[1], m[2] or "", m[3], m[4], m[5]) for m in LINE.finditer(text)]

    @staticmethod
    def run_in_scratch(name, text):
        with tempfile.TemporaryDirectory() as scratch:
            Case(name, text, scratch).test()

    def run(self, command):
        for name, path in (("%s", self.file), ("%i", self.scratch + "/from.ir"), ("%t", self.scratch + "/scratch")):
            command = command.replace(name, path)
        p = subprocess.run(command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                           stderr=subprocess.STDOUT, errors="replace", env=ENV | {"TMPDIR": self.scratch})
        return p.returncode, p.stdout

    def judge(self, ir, to):
        with open(self.scratch + "/edited.ir", "w") as f:
            f.write(ir)
        status, out = self.run(to.replace("%i", self.scratch + "/edited.ir"))
        errors = re.findall(r"^.*error: (.*)$", out, re.M)
        if verbose:
            print(f"   {status}: {errors}")
        if (status == 0) == bool(errors) or status > 5:
            raise Failure(f"exit status {status}\n{out}")
        return errors

    def edit(self, kind, spare, text, ir, to):
        words, _, message = text.partition(" :: ")
        message = self.message = self.message if message.strip() == "..." else message
        n = accepted = 0
        while n == 0 or kind == "EACH":
            copy = edited(ir, words, n)
            if copy is None:
                break
            n += 1
            errors = self.judge(copy, to)
            accepted += not errors
            if kind == "GOOD" and errors:
                raise Failure(f"{words}: {errors[0]}")
            if errors and not (message in errors[0] if message else re.match("internal: |invalid IR: ", errors[0])):
                raise Failure(f"{words}, {n}: {errors[0]}")
        if n == 0 or (kind != "GOOD" and accepted != int(spare or 0)):
            raise Failure(f"{words}: {n} copies, {accepted} of them accepted")

    def test(self):
        ir = to = None
        used = {prefix or "CHECK" for word, kind, _, prefix, _ in self.lines if word == "RUN"}
        for word, kind, _, _, text in self.lines:
            if (kind or word == "CHECK") and word not in used:
                raise Failure(f"no RUN has the prefix of '{word}{kind}: {text}'")
        order = sorted(self.lines, key=lambda line: (line[0] != "FROM", line[0] != "TO"))
        for word, kind, number, prefix, text in order:
            if kind or word not in COMMANDS[:-1]:
                continue
            if verbose:
                print(f"  {word}: {text}")
            if word == "RUN":
                status, out = self.run(text)
                if status != int(number or 0):
                    raise Failure(f"exit status {status}: {text}\n{out}")
                wanted = [(k, t) for w, k, _, _, t in self.lines if w == (prefix or "CHECK")]
                if not wanted and out:
                    raise Failure(f"{text}: no line {prefix or 'CHECK'} for this output\n{out}")
                check(wanted, out)
            elif word == "FROM":
                status, out = self.run(text)
                found = re.search(r"^kernel .*?^}\n", out, re.M | re.S)
                if status or not found:
                    raise Failure(f"exit status {status}: {text}\n{out}")
                ir, to = found[0], None
                with open(self.scratch + "/from.ir", "w") as f:
                    f.write(ir)
            elif word == "TO" and ir:
                to = text
                if self.judge(ir, to):
                    raise Failure(f"{text}: not accepted as it is: {self.judge(ir, to)}")
            elif word in ("BAD", "GOOD", "EACH"):
                self.edit(word, number, text, ir, to)


def row_case(path, row):
    """The text of a case for TEXT :: CHECK :: .."""
    text, *checks = (" " + row.replace("\\\n// ", "")).split(" :: ")
    text = text.strip()
    lines = re.sub(r"; *", "\n", text) + "\n" if path.endswith(".ir") else text + "\n"
    if re.match(r"[A-Z]\w*=", text):
        defs = re.split(r" ;; " if ";;" in text else r"; *", text)
        lines = "".join(re.sub(r"^(\w+)=(.*)", r"// DEF \1: \2\n", one) for one in defs)
    for one in checks:
        count = re.match(r"(\d+) x (.*)", one)
        kind = f"-COUNT-{count[1]}" if count else {"! ": "-NOT", "& ": "-DAG"}.get(one[:2], "")
        lines += f"// CHECK{kind}: {count[2] if count else one[2:] if kind else one}\n"
    return f"//--- {text}\n{lines}"


def cases(path):
    text = re.sub(r"^//- ((?:.*\\\n)*.*)\n", lambda m: row_case(path, m[1]), read(path), flags=re.M)
    parts = re.split(r"^//--- ?(.*)\n", text, flags=re.M)
    if len(parts) == 1:
        yield path, parts[0]
    for name, text in zip(parts[1::2], parts[2::2]):
        pieces, frame = re.split(r"^@\n", text, flags=re.M), re.split(r"^@\n", parts[0], flags=re.M)
        if len(frame) > 1:
            pieces += [""] * (len(frame) - 1 - len(pieces))
            text = "".join(a + b for a, b in zip(frame, pieces + [""]))
        else:
            text = parts[0] + text
        yield f"{path} {name}", text


def announced(path):
    """Tests `// error: text` at the end of lines: these are all errors, and each marks a place in its line."""
    lines = read(path).split("\n")
    p = subprocess.run(["hexc", "--emit-ptx", path, "-o", "/dev/null", "--diag", "json"], env=ENV, text=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    errors = [e for e in map(json.loads, p.stdout.splitlines()) if e["severity"] == "error"]
    for n, line in enumerate(lines, 1):
        for want in line.split("// error: ")[1:]:
            met = [e for e in errors if e["line"] == n and want in e["text"]]
            if not met:
                raise Failure(f"no error in line {n}: {want}\n{p.stdout}")
            errors.remove(met[0])
            if met[0]["col"] < 1 or met[0]["len"] < 1 or met[0]["col"] + met[0]["len"] - 2 > len(line.encode()):
                raise Failure(f"the error in line {n} marks a place outside of it: {want}")
    if errors or p.returncode != 1:
        raise Failure(f"more errors, or exit status {p.returncode}\n{p.stdout}")


def lowered(path):
    """Tests `// ir: text` in order, and `// ir! text` nowhere, in the IR before all passes."""
    marks = re.findall(r"// ir([:!]) (.*)", read(path))
    p = subprocess.run(["hexc", "--emit-ptx", path, *"--stop parse --dump parse --paranoid -o /dev/null".split()],
                       env=ENV, text=True, errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT)
    ir = re.sub(r" ![\d:+]+", "", re.sub(r"%\d+(?:\.(\w+))?", lambda m: "%" + (m[1] or ""), p.stdout))
    at = 0
    for kind, want in marks:
        found = ir.find(want, at if kind == ":" else 0)
        if p.returncode or (found < 0) != (kind == "!"):
            raise Failure(f"ir{kind} {want}\n{ir[at if kind == ':' else 0:]}")
        at = max(at, found + len(want)) if kind == ":" else at


def main():
    global verbose
    verbose = "-v" in sys.argv[1:]
    files, bad, n = [], 0, 0
    for path in [p for p in sys.argv[1:] if p != "-v"]:
        files += sorted(glob.glob(path + "/*.ir") + glob.glob(path + "/*.hexc")) if os.path.isdir(path) else [path]
    for path in files:
        text = read(path)
        if re.search(r"^\s*// (RUN|FROM)\b", text, re.M):
            tests = [(name, Case.run_in_scratch, (name, text)) for name, text in cases(path)]
        else:
            marked = ("// error: ", announced), ("// ir", lowered)
            tests = [(path, test, (path,)) for mark, test in marked if mark in text]
        for name, test, arguments in tests:
            n += 1
            try:
                test(*arguments)
            except Failure as e:
                bad += 1
                print(f"{name}:", *[line[:200] for line in str(e).split("\n")[:40]], sep="\n  ")
    print(f"{n} text tests, {bad} failed")
    return bad > 0 or n == 0


if __name__ == "__main__":
    sys.exit(main())
