"""Runs the programs of a file and prints those that fail; their number is the exit status."""

import os

QUICK, FULL = bool(os.environ.get("QUICK")), bool(os.environ.get("FULL"))


def judge(programs, names, check, sizes, quick_sizes, more_sizes=()):
    """check(program, n) returns the first problem at size n, or None; a program's name is its first field. FULL=1: also
    more_sizes."""
    passed = failed = 0
    for p in programs:
        if names and p[0] not in names:
            continue
        problem = None
        for n in quick_sizes if QUICK else (*sizes, *more_sizes) if FULL else sizes:
            problem = problem or check(p, n)
        passed += not problem
        failed += bool(problem)
        if problem:
            print(f"{p[0]}: {problem}")
    print(f"{passed} passed, {failed} failed")
    return failed
