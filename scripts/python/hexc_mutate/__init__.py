"""Mutants of C sources, made from clang's syntax tree (scripts/mutate --auto)."""
