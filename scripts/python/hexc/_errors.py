"""Errors as exceptions, with the compiler's messages."""

from __future__ import annotations

from dataclasses import dataclass

SEVERITIES = ("note", "warning", "error", "remark")


@dataclass(frozen=True)
class Diagnostic:
    """One message of the compiler.

    Lines and columns start at 1, columns count bytes; line 0: the message has no location. ``warning`` is the
    name of the warning or remark (``hexc --warnings``), or None.
    """

    severity: str
    file: str
    line: int
    column: int
    length: int
    text: str
    warning: str | None

    def render(self, source: bytes) -> str:
        """The message with its line of the source and a caret, as the command line writes it.

        >>> print(Diagnostic("error", "p", 1, 3, 2, "what is it?", None).render(b"a bc"))
        p:1:3: error: what is it?
          a bc
            ^~
        """
        at = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        head = f"{at}: {self.severity}: {self.text}" + (f" [-W no-{self.warning}]" if self.warning else "")
        lines = source.split(b"\n")
        if not 0 < self.line <= len(lines) or not 0 < self.column <= len(lines[self.line - 1]) + 1:
            return head
        line = lines[self.line - 1].replace(b"\t", b" ")
        before = line[: self.column - 1].decode(errors="replace")
        tildes = "~" * (min(self.length, len(line) - self.column + 1) - 1)
        return f"{head}\n  {line.decode(errors='replace')}\n  {' ' * len(before)}^{tildes}"


class HexcError(Exception):
    """The base class of all errors of this package; ``code`` is the name in hexc.h, such as ``E_LIMIT``."""

    def __init__(self, message: str, code: str = "E_INVALID") -> None:
        super().__init__(message)
        self.code = code


class LibraryError(HexcError, ImportError):
    """A shared library is missing, or lacks a required function."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "E_FILE")


class CompileError(HexcError):
    """The program is wrong, has no layouts, or reached a limit; the text shows each location with a caret."""

    def __init__(self, code: str, diagnostics: tuple[Diagnostic, ...], source: bytes) -> None:
        super().__init__("\n".join(d.render(source) for d in diagnostics), code)
        self.diagnostics = diagnostics


class ArgumentError(HexcError, ValueError):
    """Invalid arguments of a kernel, or of a function of this package."""


class DeviceError(HexcError):
    """No GPU, or its driver failed."""


class FaultError(HexcError):
    """A kernel failed; the text is the simulator's or the driver's."""
