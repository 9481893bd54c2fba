"""Makes a program that differs smaller while it still differs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

import tree
from tree import Node, Program


def replace_uses(p: Program, old: int, new: int) -> None:
    for n in p.every():
        n.args = [new if a == old else a for a in n.args]
        for key in ("y", "a", "b"):
            if key in ("a", "b") and n.op != "if":
                continue
            if key == "y" and n.op != "loop":
                continue
            if n.at.get(key) == old:
                n.at[key] = new
    for s in p.sinks:
        s.node = new if s.node == old else s.node
        s.index = new if s.index == old else s.index


def order(p: Program) -> dict[int, int]:
    return {n.id: i for i, n in enumerate(p.every())}


def plain_load(p: Program, n: Node) -> Node:
    name = f"X{1 + max((int(t.name[1:]) for t in p.tensors), default=0)}"
    t = tree.Tensor(name, n.dtype, list(n.shape), [False] * len(n.shape), (1, 5), 1)
    p.tensors.append(t)
    dims = [{"start": {"": 0}, "extent": k, "step": 1} for k in n.shape]
    return Node(
        1 + max(m.id for m in p.every()),
        "load",
        [],
        {"tensor": name, "dims": dims, "space": "register"},
        n.dtype,
        n.shape,
    )


def put_first(p: Program, n: Node) -> None:
    p.nodes.insert(0, n)


def smaller(p: Program) -> Iterator[Callable[[Program], None]]:
    """Changes to try, the largest first."""
    if p.blocks > 1:
        yield lambda q: setattr(q, "blocks", 1)
    if len(p.sinks) > 1:
        for i in range(len(p.sinks)):
            yield lambda q, i=i: q.sinks.pop(i)
    top = [n for n in p.nodes if n.op != "iota"]
    for s in range(len(p.sinks)):
        if p.sinks[s].kind == "store":
            for n in top:
                if n.id != p.sinks[s].node:
                    yield lambda q, s=s, i=n.id: setattr(q.sinks[s], "node", i)
    numbers = {
        s: int(next(t for t in p.tensors if t.name == tensor).values[0]) for s, (tensor, *_) in p.lets.items()
    }
    every = p.every()
    for n in reversed(every):
        if n.op == "carried":
            continue
        for a in n.args:
            m = p.node()[a]
            if m.dtype == n.dtype and m.shape == n.shape:
                yield lambda q, n=n.id, a=a: replace_uses(q, n, a)
    for n in reversed(every):
        if n.op in ("loop", "if"):
            for key in ("y", "a", "b"):
                if n.op == ("loop" if key == "y" else "if") and n.at.get(key) is not None:
                    for m in p.node().values():
                        if m.id != n.at[key] and m.dtype == n.dtype and m.shape == n.shape:
                            yield lambda q, n=n.id, key=key, m=m.id: q.node()[n].at.__setitem__(key, m)
        if n.op == "if" and n.at["b"] is not None:
            yield lambda q, n=n.id: (
                q.node()[n].at.__setitem__("b", None),
                q.node()[n].at.__setitem__("else", []),
            )
        if n.op == "loop" and n.at["turns"] != {"": 1}:
            yield lambda q, n=n.id: q.node()[n].at.__setitem__("turns", {"": 1})
    for n in reversed(every):
        if (n.op not in ("load", "carried", "iota") or "as" in n.at) and n.dtype in ("f32", "i32"):

            def as_load(q: Program, i: int = n.id) -> None:
                fresh = plain_load(q, q.node()[i])
                put_first(q, fresh)
                replace_uses(q, i, fresh.id)

            yield as_load
        if n.op == "load":
            for m in every:
                if m.op == "load" and m.id < n.id and m.shape == n.shape and m.dtype == n.dtype:
                    yield lambda q, n=n.id, m=m.id: replace_uses(q, n, m)
            at = n.at
            for d, dim in enumerate(at["dims"]):
                for other in (
                    {"start": {"": 0}, "extent": dim["extent"], "step": 1},
                    {**dim, "step": 1},
                    {**dim, "start": {"": 0}},
                ):
                    if other != dim:
                        yield (
                            lambda q, n=n.id, d=d, other=other: (
                                q.node()[n].at["dims"].__setitem__(d, copy.deepcopy(other))
                            )
                        )
                for key in ("lo", "hi"):
                    if key in dim:
                        yield lambda q, n=n.id, d=d, key=key: q.node()[n].at["dims"][d].pop(key)
                if dim["start"] != {"": 0}:
                    v = sum(
                        k * ({**p.scalars, **numbers}.get(s, 0) if s else 1) for s, k in dim["start"].items()
                    )
                    if dim["start"] != {"": v}:
                        yield (
                            lambda q, n=n.id, d=d, v=v: (
                                q.node()[n].at["dims"][d].__setitem__("start", {"": v})
                            )
                        )
            if at["space"] != "register":
                yield lambda q, n=n.id: q.node()[n].at.__setitem__("space", "register")
    for i, t in enumerate(p.tensors):
        if t.pad:
            yield lambda q, i=i: setattr(q.tensors[i], "pad", 0)
        for d in range(len(t.size)):
            if t.named[d] and t.size[d]:
                yield lambda q, i=i, d=d: q.tensors[i].named.__setitem__(d, False)
            user = [n.at["dims"][d] for n in every if n.op == "load" and n.at["tensor"] == t.name]
            if len(user) == 1 and user[0]["extent"]:

                def fit(q: Program, i: int = i, d: int = d, k: int = user[0]["extent"]) -> None:
                    q.tensors[i].size[d] = k
                    q.tensors[i].keep[d : d + 1] = [(0, k)] if q.tensors[i].keep else []

                if t.size[d] != user[0]["extent"]:
                    yield fit
        if t.values != (1, 1) and t.name not in {tensor for tensor, *_ in p.lets.values()}:
            yield lambda q, i=i: setattr(q.tensors[i], "values", (1, 1))


def shrink(p: Program, differs: Callable[[Program], bool], most: int = 600) -> Program:
    tries = 0
    again = True
    while again and tries < most:
        again = False
        for change in smaller(p):
            q = copy.deepcopy(p)
            tries += 1
            if tries > most:
                break
            try:
                change(q)
                tree.prune(q)
                ok = differs(q)
            except Exception:  # noqa: BLE001 a change that makes no program
                continue
            if ok:
                p, again = q, True
                break
    return p
