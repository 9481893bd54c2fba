"""The single process that owns the GPU: `hexc measure` runs the commands it receives, line by line, so that no
launch waits for the creation of a context, a compiler or the driver. A kernel that corrupts the context, or
takes too long, ends the process; the next job starts a new one."""

from __future__ import annotations

import os
import re
import select
import subprocess
import tempfile
import time
from collections.abc import Sequence

_ANSWER = re.compile(rb"\x04(\d+)\n$")


class Measurer:
    """``words`` start the process, with the first job and whenever it has ended."""

    def __init__(self, words: Sequence[str], cwd: str | None) -> None:
        self._words, self._cwd = list(words), cwd
        self._child: subprocess.Popen[bytes] | None = None
        self._said = tempfile.TemporaryFile()
        self.begun = 0  # processes started so far

    def run(self, words: Sequence[str], limit: float | None) -> tuple[int, str, str]:
        """Exit status (124: timeout, -9: the process died), its output, and its error output. OSError if
        the program does not exist."""
        for _ in range(2):
            fresh = self._child is None or self._child.poll() is not None
            child = self._begin() if fresh else self._child
            assert child
            self._said.seek(0, os.SEEK_END)
            before = self._said.tell()
            status, out = self._ask(child, "\t".join(words), limit)
            self._said.seek(before)
            err = self._said.read().decode(errors="replace")
            if status != -9 or fresh or out or err:
                break  # otherwise it had ended after the previous job
        if status == -9 and not err:
            err = "the process that measures died"
        if status == 124:
            err = f"it took more than {limit:g} seconds"
        return status, out.decode(errors="replace"), err

    def end(self) -> None:
        """Kills it."""
        if self._child and self._child.poll() is None:
            self._child.kill()
            self._child.wait()

    def _begin(self) -> subprocess.Popen[bytes]:
        self.begun += 1
        self._child = subprocess.Popen(self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said,
                                       cwd=self._cwd, start_new_session=True)
        return self._child

    def _ask(self, child: subprocess.Popen[bytes], line: str, limit: float | None) -> tuple[int, bytes]:
        assert child.stdin and child.stdout
        out, end = b"", time.monotonic() + limit if limit else None
        try:
            child.stdin.write(line.encode() + b"\n")
            child.stdin.flush()
        except OSError:
            self.end()
            return -9, b""
        while not (answer := _ANSWER.search(out)):
            left = max(0.0, end - time.monotonic()) if end else None
            if not select.select([child.stdout], [], [], left)[0]:
                self.end()
                return 124, out
            more = os.read(child.stdout.fileno(), 65536)
            if not more:
                child.wait()
                return -9, out
            out += more
        return int(answer.group(1)), out[: answer.start()]
