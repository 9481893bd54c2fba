"""changes.py OLD.abi NEW.abi: print the differences for a host compiled with the old library, one per line.

    grown: ...      a struct that starts with its own size has additional members at its end: old hosts still run
    broken: ...     a function, an argument's type, a member's offset or an enumeration's value was removed or
                    changed: old hosts do not run

The files are what abidw (abigail-tools) writes.
"""

import sys
import xml.etree.ElementTree as xml


class Dump:
    """Types and functions of one file."""

    def __init__(self, path):
        self.types, self.functions, self.structs, self.enums = {}, {}, {}, {}
        for e in xml.parse(path).getroot().iter():
            if "id" in e.attrib:
                self.types[e.attrib["id"]] = e
            name = e.get("name", "")
            if e.tag == "function-decl" and "elf-symbol-id" in e.attrib:
                self.functions[name] = e
            elif e.tag in ("class-decl", "union-decl") and e.get("is-declaration-only") != "yes":
                self.structs[name] = e
            elif e.tag == "enum-decl":
                self.enums[name or e.get("id")] = e

    def text(self, i, depth=0):
        """The text of a type; structs, and typedefs of them, by their names."""
        e = self.types.get(i)
        if e is None or depth > 8:
            return "?"
        inner = e.get("type-id")
        if e.tag == "pointer-type-def":
            return self.text(inner, depth + 1) + " *"
        if e.tag == "qualified-type-def":
            return "const " * (e.get("const") == "yes") + self.text(inner, depth + 1)
        if e.tag == "array-type-def":
            return self.text(inner, depth + 1) + f" [{e.get('size-in-bits')} bits]"
        if e.tag == "function-type":
            return self.signature(e, depth + 1)
        return e.get("name") or f"{e.tag} of {e.get('size-in-bits')} bits"

    def signature(self, e, depth=0):
        types = [("..." if p.get("is-variadic") else self.text(p.get("type-id"), depth)) for p in e.findall("parameter")]
        back = e.find("return")
        return f"{self.text(back.get('type-id'), depth) if back is not None else 'void'} ({', '.join(types)})"

    def members(self, e):
        """For a struct: name, offset in bits, type."""
        out = []
        for m in e.findall("data-member"):
            v = m.find("var-decl")
            out.append((v.get("name"), m.get("layout-offset-in-bits", "0"), self.text(v.get("type-id"))))
        return out


def enumerators(e):
    return {x.get("name"): x.get("value") for x in e.findall("enumerator")}


def changes(old, new):
    for name, e in sorted(old.functions.items()):
        if name not in new.functions:
            yield f"broken: function {name} is gone"
        elif old.signature(e) != new.signature(new.functions[name]):
            yield f"broken: {name} was {old.signature(e)}, is {new.signature(new.functions[name])}"
    for name, e in sorted(old.structs.items()):
        if name not in new.structs:
            yield f"broken: struct {name} is gone"
            continue
        had, has = old.members(e), new.members(new.structs[name])
        sizes = e.get("size-in-bits"), new.structs[name].get("size-in-bits")
        if has[: len(had)] != had:
            at = next((a for a, b in zip(had, has + [("nothing", "-", "-")] * len(had)) if a != b), None)
            yield f"broken: struct {name} has not its member {at[0]} ({at[2]}) at bit {at[1]}"
        elif sizes[0] != sizes[1] or len(has) != len(had):
            sized = had and had[0][:2] == ("size", "0")
            yield f"{'grown' if sized else 'broken'}: struct {name} had {sizes[0]} bits, has {sizes[1]}"
    values = {}
    for e in new.enums.values():
        values.update(enumerators(e))
    for name, e in sorted(old.enums.items()):
        for word, value in enumerators(e).items():
            if values.get(word) != value:
                yield f"broken: {word} was {value}, is {values.get(word, 'gone')}"


if __name__ == "__main__":
    for line in changes(Dump(sys.argv[1]), Dump(sys.argv[2])):
        print(line)
