"""The database of a sweep: results are stored, however the sweep ends, and are not measured again.

One SQLite file. A row of ``sweep`` describes what its results are valid for: the program's text
(SHA-256), kernel, fixed options, arguments, arch, GPU, driver, build of hexc, and method of timing.
Everything else belongs to a sweep:

    list    a combination of constants ("BM=64 BN=128"): its candidates as JSON, or the reason for its rejection
    trial   a candidate of one for a shape ("K=512 M=64 N=128"): the prediction, and whether and why it is skipped
    sample  the result of one timing of a trial: round 0, 1, ..., microseconds as a JSON array, statistics, clocks
    log     when, where and for how long samples were taken; it decides nothing

For equal sweeps all tables but ``log`` are equal, row by row, however often they were interrupted (``dump``).
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator
from typing import Any

from .errors import TuneError
from .space import Choice

VERSION = 1
KEY = ("program", "kernel", "options", "args", "arch", "gpu", "driver", "build", "judge")
_TABLES = f"""
create table if not exists sweep (id integer primary key, {", ".join(f"{k} text not null" for k in KEY)},
    name text not null, unique ({", ".join(KEY)}));
create table if not exists list (sweep integer not null references sweep, define text not null, why text not null,
    found text not null, primary key (sweep, define)) without rowid;
create table if not exists trial (sweep integer not null references sweep, shape text not null, define text not null,
    candidate integer not null, cycles real not null, alone real not null, together integer not null, text text not null,
    predicted real not null, pruned text not null, primary key (sweep, shape, define, candidate)) without rowid;
create table if not exists sample (sweep integer not null references sweep, shape text not null, define text not null,
    candidate integer not null, round integer not null, state text not null, why text not null, us text not null,
    stats text not null, clocks text not null,
    primary key (sweep, shape, define, candidate, round)) without rowid;
create table if not exists log (sweep integer not null references sweep, shape text not null, define text not null,
    candidate integer not null, round integer not null, host text not null, began real not null, seconds real not null,
    kept integer not null);
"""
Key = tuple[str, str, int]


class Store:
    """The database in ``path`` (":memory:" is not stored)."""

    def __init__(self, path: str) -> None:
        try:
            self._db = sqlite3.connect(path, timeout=60, isolation_level=None)
            self._db.execute("pragma synchronous = normal")
            (version,) = self._db.execute("pragma user_version").fetchone()
            if version not in (0, VERSION):
                raise TuneError(f"{path} is of another version of tune ({version}, not {VERSION}): name another file")
            self._db.executescript(_TABLES)
            self._db.execute(f"pragma user_version = {VERSION}")
        except sqlite3.Error as error:
            raise TuneError(f"{path}: {error}") from None

    def close(self) -> None:
        self._db.close()

    def sweep(self, key: dict[str, str], name: str) -> int:
        """The id of the sweep with this key; ``name`` is the program's path, for display."""
        with self._db:
            self._db.execute(f"insert or ignore into sweep ({', '.join(KEY)}, name) values ({'?, ' * len(KEY)}?)",
                             [*(key[k] for k in KEY), name])
        where = " and ".join(f"{k} = ?" for k in KEY)
        (found,) = self._db.execute(f"select id from sweep where {where}", [key[k] for k in KEY]).fetchone()
        return int(found)

    def sweeps(self) -> list[dict[str, Any]]:
        """All, each with its ``id`` and ``name``."""
        names = ("id", *KEY, "name")
        return [dict(zip(names, row)) for row in self._db.execute(f"select {', '.join(names)} from sweep order by id")]

    # ---- lists -------------------------------------------------------------------------------------------------------

    def add_list(self, sweep: int, define: str, why: str, found: dict[str, Any]) -> None:
        self._db.execute("insert or ignore into list values (?, ?, ?, ?)", (sweep, define, why, _json(found)))

    def lists(self, sweep: int) -> dict[str, tuple[str, dict[str, Any]]]:
        """By constants: the reason for rejection, or "", and the candidates."""
        rows = self._db.execute("select define, why, found from list where sweep = ? order by define", (sweep,))
        return {define: (why, json.loads(found)) for define, why, found in rows}

    # ---- trials ------------------------------------------------------------------------------------------------------

    def add_trials(self, sweep: int, choices: Iterable[Choice]) -> None:
        """Stores a sweep's candidates; a later selection (another --within) replaces what was pruned."""
        rows = [(sweep, c.shape, c.define, c.candidate, c.cycles, c.alone, c.together, c.text, c.predicted, c.pruned)
                for c in choices]
        self._db.execute("begin")
        self._db.executemany("insert or replace into trial values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        self._db.execute("commit")

    def trials(self, sweep: int) -> list[Choice]:
        rows = self._db.execute("""select shape, define, candidate, cycles, alone, together, text, predicted, pruned
            from trial where sweep = ? order by shape, predicted, define, candidate""", (sweep,))
        return [Choice(*row) for row in rows]

    # ---- samples -----------------------------------------------------------------------------------------------------

    def add_sample(self, sweep: int, key: Key, number: int, found: dict[str, Any], host: str, began: float) -> bool:
        """Stores one result; returns False if there is one already: the first counts. An error of the machine is
        replaced by a later result."""
        self._db.execute("begin immediate")
        self._db.execute("""delete from sample where sweep = ? and shape = ? and define = ? and candidate = ? and round = ?
            and state = 'trouble'""", (sweep, *key, number))
        row = (sweep, *key, number, found["state"], found.get("why", ""), _json(found.get("us", [])),
               _json(found.get("stats", {})), _json(found.get("clocks", {})))
        done = self._db.execute("insert or ignore into sample values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row).rowcount
        self._db.execute("insert into log values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                         (sweep, *key, number, host, began, time.time() - began, done))
        self._db.execute("commit")
        return bool(done)

    def samples(self, sweep: int) -> Iterator[tuple[Key, int, dict[str, Any]]]:
        """Trial, round and result, rounds in order."""
        for shape, define, candidate, number, state, why, us, stats, clocks in self._db.execute(
            """select shape, define, candidate, round, state, why, us, stats, clocks from sample where sweep = ?
            order by shape, define, candidate, round""", (sweep,)):
            found = {"state": state, "why": why, "us": json.loads(us), "stats": json.loads(stats),
                     "clocks": json.loads(clocks)}
            yield (shape, define, candidate), number, found

    def log(self, sweep: int) -> list[tuple[Key, str, float, float]]:
        """For each stored result: the trial, the host, its start time and its seconds, in chronological order."""
        rows = self._db.execute("""select shape, define, candidate, host, began, seconds from log
            where sweep = ? and kept order by began""", (sweep,))
        return [((s, d, c), host, began, seconds) for s, d, c, host, began, seconds in rows]

    def dump(self) -> Iterator[str]:
        """All but the log, one line per row, in a canonical order."""
        for s in self.sweeps():
            yield "\t".join(["sweep", *(s[k] for k in KEY)])
            for table in ("list", "trial", "sample"):
                lines = self._db.execute(f"select * from {table} where sweep = ?", (s["id"],)).fetchall()
                for row in sorted(lines):
                    yield "\t".join([table, *map(str, row[1:])])


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
