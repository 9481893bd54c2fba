"""tokens.py - classify each token of tile programs by the grammar of hexc/LANGUAGE.md: the
reference for the editors' files.

    tokens.py FILE...             prints FILE, line, column (from 1, of bytes), class for each token of the programs
    tokens.py --textmate FILE...  the same by a TextMate engine (textmate-grammar-python) and its grammar
"""

import json
import re
import sys

IN_PLACE = {'roles', 'await', 'arrive', 'producer', 'consumer', 'copy', 'store', 'dots', 'stores', 'warps', 'teams',
            'registers', 'layout', 'packed', 'mbarrier', 'reshape', 'unroll'}
TOKEN = re.compile(r'(?P<Comment>//.*)|(?P<String>"[^"]*")|(?P<Number>0[xX][\da-fA-F_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][-+]?\d+)?)'
                   r'|(?P<Name>[A-Za-z_]\w*)|(?P<Operator>:\+|\.\.|[-+*/%&|^]=|<<=?|>>=?|&&|\|\||[<>=!]=|[-+*/%&|^!~<>=])|(?P<Other>\S)')
SCOPES = {'comment.line.double-slash': 'Comment', 'string.quoted.double': 'String', 'constant.numeric': 'Number',
          'constant.numeric.hex': 'Number', 'keyword.operator': 'Operator', 'variable.other.member': 'Member',
          'keyword.control': 'Control', 'keyword.declaration': 'Declaration', 'storage.modifier': 'Modifier',
          'constant.language': 'Constant', 'storage.type': 'Type', 'support.function': 'Function',
          'entity.name.function': 'Name'}


def words():
    """Terminals of the grammar, and its element types."""
    with open('hexc/LANGUAGE.md', encoding='utf-8') as f:
        grammar = re.search(r'```ebnf\n(.*?)```', f.read(), re.S)[1]
    rules, dtypes = grammar.split('DTYPE      =')
    return set(re.findall(r'"([a-z_]\w*)"', rules)) - IN_PLACE, set(re.findall(r'"(\w+)"', dtypes))


def place(text, before, after):
    """Classifies a contextual keyword by the tokens next to it."""
    operand = re.match(r'[\w(]', after)
    if text == 'roles' and after == '{' or text in ('await', 'arrive') and re.match(r'[A-Za-z_]', after):
        return 'Control'
    if text == 'unroll' and after == 'for':
        return 'Control'
    if text in ('producer', 'consumer') and after in ('{', 'warps', 'teams', 'registers'):
        return 'Control'
    if text in ('copy', 'store') and before == 'async' or text in ('dots', 'stores') and before == 'wait':
        return 'Control'
    if text in ('warps', 'teams', 'registers') and operand or text == 'layout' and after.startswith('"'):
        return 'Modifier'
    if text == 'packed' and before in (':', 'out', 'inout') and operand:
        return 'Modifier'
    return 'Type' if text == 'mbarrier' and after == '[' else ''


def name(text, before, after, own, terminals, dtypes):
    if before in ('kernel', 'fn'):
        return 'Name'
    if text in dtypes:
        return 'Type'
    if text in ('block', 'inf', 'newaxis', 'true', 'false'):
        return 'Constant'
    if text in terminals:
        if text in 'kernel fn assume const tune default let var static_assert'.split():
            return 'Declaration'
        return 'Modifier' if text in ('shared', 'register', 'out', 'inout', 'strides') else 'Control'
    there = place(text, before, after)
    # a called function that the program does not define is built in, because it compiles
    return there or ('Function' if after == '(' and text not in own else '')


def judge(path):
    with open(path, encoding='utf-8') as f:
        lines = f.read().split('\n')
    tokens = [(n + 1, len(l[:m.start()].encode()) + 1, m.lastgroup, m[0])
              for n, l in enumerate(lines) for m in TOKEN.finditer(l)]
    code = [t for t in tokens if t[2] != 'Comment']
    text = [''] + [t[3] for t in code] + ['', '']
    own = {b for a, b in zip(text, text[1:]) if a == 'fn'}
    with open('hexc/prelude/prelude.def', encoding='utf-8') as f:  # programs may define functions with these names
        own -= set(re.findall(r'^FN\((\w+), \d+, (?!help)', f.read(), re.M))
    own |= {a for f in re.findall(r'^fn \w+\(([^)]*)\)', '\n'.join(lines), re.M) for a in f.split(', ')}
    own |= {a for a, b in zip(text, text[1:]) if b == '=' and a.isupper()}  # types that are constants
    terminals, dtypes = words()
    kind = {}
    for i, (line, col, group, s) in enumerate(code, 1):
        if group == 'Name':
            kind[line, col] = name(s, text[i - 1], text[i + 1], own, terminals, dtypes)
            if text[i - 1] == '.' and (s == 'T' or s in 'xyz' and text[i - 2] == 'block'):
                kind[line, col] = 'Member'
        elif group != 'Other':
            kind[line, col] = group
    for t in tokens:
        if t[2] == 'Comment':
            kind[t[:2]] = 'Comment'
    return sorted((*at, k) for at, k in kind.items())


def textmate(path):
    from textmate_grammar.parsers.base import LanguageParser

    with open('scripts/editors/hexc.tmLanguage.json', encoding='utf-8') as f:
        grammar = json.load(f)
    with open(path, encoding='utf-8') as f:
        source = f.read()
    lines = source.split('\n')
    is_at = {}
    for (line, col), text, scopes in LanguageParser(grammar).parse_string(source).flatten():
        for i in range(len(text)):
            is_at[line, col + i] = SCOPES.get(scopes[-1].removesuffix('.hexc'), '')
    return [(line, col, is_at.get((line - 1, len(lines[line - 1].encode()[:col - 1].decode())), ''))
            for line, col, _ in judge(path)]


def main(args):
    by = textmate if args[0] == '--textmate' else judge
    for path in args[by is textmate:]:
        for line, col, kind in by(path):
            print(path, line, col, kind or '-', sep='\t')


main(sys.argv[1:])
