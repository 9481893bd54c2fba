"""Workers of a sweep on this host: threads that wait for hexc's processes, one per core; and one thread for
measurements on the GPU, which nothing else uses meanwhile."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol

from .compiler import Compiler
from .judge import Job, Outcome, perform


@dataclass(frozen=True)
class Finished:
    """A finished job: its tag, result, host, and start time."""

    tag: Hashable
    outcome: Outcome
    host: str
    began: float


class Crew(Protocol):
    """Executes jobs, in any order."""

    def submit(self, tag: Hashable, job: Job) -> None:
        """Submits a job; the tag identifies it."""

    def next(self) -> Finished:
        """Waits for one."""

    def close(self) -> None:
        """Stops running jobs."""


class Local:
    """This host's cores and GPU."""

    def __init__(self, compiler: Compiler, threads: int) -> None:
        self._compiler = compiler
        self._done: queue.SimpleQueue[Finished | BaseException] = queue.SimpleQueue()
        self._any: queue.SimpleQueue[tuple[Hashable, Job]] = queue.SimpleQueue()
        self._gpu: queue.SimpleQueue[tuple[Hashable, Job]] = queue.SimpleQueue()
        for todo in [self._any] * threads + [self._gpu]:
            threading.Thread(target=self._work, args=(todo,), daemon=True).start()

    def submit(self, tag: Hashable, job: Job) -> None:
        (self._gpu if job.judge == "gpu" else self._any).put((tag, job))

    def next(self) -> Finished:
        found = self._done.get()
        if isinstance(found, BaseException):
            raise found
        return found

    def close(self) -> None:
        self._compiler.end()

    def _work(self, todo: queue.SimpleQueue[tuple[Hashable, Job]]) -> None:
        while True:
            tag, job = todo.get()
            began = time.time()
            try:
                self._done.put(Finished(tag, perform(job, self._compiler), os.uname().nodename, began))
            except BaseException as error:  # the main thread reports it
                self._done.put(error)
