"""Workers on many hosts, by Ray: one per GPU, or one per core for the simulator and the static model.

The head has the database and decides; workers store nothing. The job of a lost worker is given to another, and a
new worker is requested. While no other jobs are left, a job that takes much longer than others is also given to
a second worker; the first result counts. Excluded and reported are workers with another build of hexc, another
GPU or driver than most, or without the tools of the static model. This package is sent to workers by value, so
that all run the head's version.
"""

from __future__ import annotations

import collections
import importlib
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Hashable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import clock, gpu
from .compiler import Compiler
from .crew import Finished
from .errors import TuneError
from .judge import Job, Outcome, perform

PATIENCE = 120  # seconds to wait for a worker if there is none
SLOW = 4  # times the median, and at least SLOW_SECONDS: then a second worker gets the job
SLOW_SECONDS = 30


class Worker:
    """The code of an actor: jobs, in a private directory with the program under its name on the head."""

    def __init__(self, path: str, program: str, text: bytes) -> None:
        here = next((p for p in (path, os.environ.get("HEXC", ""), "hexc") if p and shutil.which(p)), path)
        self._folder = tempfile.TemporaryDirectory()
        self._compiler = Compiler(here if os.sep not in here else os.path.abspath(here), self._folder.name)
        self._name, self._local = program, local_name(program)
        at = Path(self._folder.name, self._local)
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_bytes(text)

    def hello(self) -> dict[str, Any]:
        """Properties that must be the same for all workers."""
        try:
            build = self._compiler.build()
        except TuneError as error:
            build = str(error)
        return {"build": build, "clock": clock.ready(), "gpu": gpu.find(), "host": self.host()}

    def host(self) -> str:
        return f"{os.uname().nodename}:{os.getpid()}"

    def perform(self, job: Job) -> tuple[Outcome, str, float]:
        """The result, the worker, and the start time."""
        began = time.time()
        found = perform(replace(job, program=self._local), self._compiler)
        if "why" in found:
            found["why"] = found["why"].replace(self._local, self._name)
        return found, self.host(), began


def local_name(program: str) -> str:
    """A relative path that stays inside the directory."""
    name = os.path.normpath(program).lstrip(os.sep)
    return os.path.basename(name) if name.startswith("..") else name


@dataclass
class _Flight:
    """A job in flight."""

    number: int
    worker: Any
    since: float


class Hosts:
    """The workers; ``address`` is that of a Ray cluster, or "local": starts one on this
    host, for 127.0.0.1 only."""

    def __init__(self, address: str, compiler: Compiler, program: str, jobs: int) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if address == "local":  # read on import: without it Ray uses the host's address, and listens on all interfaces
            os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
        try:
            ray: Any = importlib.import_module("ray")
        except ImportError:
            raise TuneError("--ray: Python has no ray here; pip install ray") from None
        self._ray = ray
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "ignore_reinit_error": False}
        try:
            if address == "local":
                count = jobs or len(os.sched_getaffinity(0))
                ray.init(num_cpus=count, include_dashboard=False, _node_ip_address="127.0.0.1", **quiet)
            else:
                ray.init(address=address, **quiet)
        except Exception as error:  # Ray has many exceptions
            raise TuneError(f"--ray {address}: {error}") from None
        if address == "local" and (at := ray.nodes()[0]["NodeManagerAddress"]) != "127.0.0.1":
            ray.shutdown()
            raise TuneError(f"--ray local: this version of Ray is at {at}, which others may reach; start a cluster by hand")
        ray.cloudpickle.register_pickle_by_value(sys.modules[__package__])
        self._compiler, self._program = compiler, program
        self._text = Path(program).read_bytes()
        self._path = shutil.which(compiler.path) or compiler.path
        self._path = os.path.abspath(self._path) if os.sep in self._path else self._path
        self._build = compiler.build()
        self._jobs: dict[int, tuple[Hashable, Job]] = {}
        self._todo: collections.deque[int] = collections.deque()
        self._flights: dict[Any, _Flight] = {}
        self._idle: list[Any] = []
        self._new: dict[Any, Any] = {}  # replies to hello: workers
        self._said: set[str] = set()
        self._took: list[float] = []
        self._number, self._judge, self._count, self._alone = 0, "", jobs, time.monotonic()
        self._gpu: gpu.Gpu | None = None

    def has_gpu(self) -> bool:
        """Does the cluster have a GPU?"""
        return bool(self._ray.cluster_resources().get("GPU", 0))

    def start(self, judge: str) -> gpu.Gpu | None:
        """Starts workers; returns the GPU that most of them have."""
        self._judge = judge
        kind = "GPU" if judge == "gpu" else "CPU"
        count = int(self._ray.cluster_resources().get(kind, 0))
        count = min(count, self._count) if self._count else count
        if not count:
            raise TuneError(f"the Ray cluster has no {kind}")
        for _ in range(count):
            self._hire()
        if judge == "gpu":
            ready, _ = self._ray.wait(list(self._new), num_returns=count, timeout=PATIENCE)
            kinds = collections.Counter(h["gpu"] and replace(h["gpu"], bus="") for h in map(self._answer, ready) if h)
            kinds.pop(None, None)
            if not kinds:
                raise TuneError("no worker has a GPU that can be asked")
            self._gpu = kinds.most_common(1)[0][0]
        return self._gpu

    def submit(self, tag: Hashable, job: Job) -> None:
        files = tuple(self._absolute(a) for a in job.args)
        self._jobs[self._number] = tag, replace(job, args=files)
        self._todo.append(self._number)
        self._number += 1

    def next(self) -> Finished:
        while True:
            self._send()
            waiting = [*self._flights, *self._new]
            if not self._flights and not self._idle and time.monotonic() - self._alone > PATIENCE:
                raise TuneError("all workers are lost, and none comes; the same command with --db goes on")
            ready, _ = self._ray.wait(waiting, timeout=1) if waiting else ([], [])
            for ref in ready:
                if ref in self._new:
                    self._greet(ref)
                elif found := self._land(ref):
                    return found
            if not waiting:
                time.sleep(0.2)
                self._hire()

    def close(self) -> None:
        self._ray.shutdown()

    # ---- workers -----------------------------------------------------------------------------------------------------

    def _hire(self) -> None:
        needs: dict[str, Any] = {"num_gpus": 1, "num_cpus": 0} if self._judge == "gpu" else {"num_cpus": 1}
        actor = self._ray.remote(Worker).options(max_restarts=0, **needs)
        worker = actor.remote(self._path, self._program, self._text)
        self._new[worker.hello.remote()] = worker

    def _answer(self, ref: Any) -> dict[str, Any] | None:
        try:
            told: dict[str, Any] = self._ray.get(ref)
            return told
        except self._ray.exceptions.RayError:
            return None

    def _greet(self, ref: Any) -> None:
        """Accepts a new worker, or reports the reason for its exclusion."""
        worker, told = self._new.pop(ref), self._answer(ref)
        if told is None:
            self._say("a worker died before it began")
            return
        why = ""
        if told["build"] != self._build:
            why = f"its hexc is {told['build']}, not {self._build}"
        elif self._judge == "clock" and not told["clock"]:
            why = "it has no ptxas and nvdisasm"
        elif self._judge == "gpu" and (not told["gpu"] or replace(told["gpu"], bus="") != self._gpu):
            why = f"its GPU is {told['gpu']}, not {self._gpu}"
        if why:
            self._say(f"worker {told['host']} is left out: {why}")
            self._ray.kill(worker)
        else:
            self._idle.append(worker)
            self._alone = time.monotonic()

    def _say(self, text: str) -> None:
        if text not in self._said:
            print("tune:", text, file=sys.stderr)
        self._said.add(text)

    # ---- jobs --------------------------------------------------------------------------------------------------------

    def _send(self) -> None:
        """Gives jobs to idle workers; at the end slow jobs a second time. On a cluster with GPUs, jobs without a
        GPU run as tasks on any host."""
        if self._judge == "gpu":
            for n in [n for n in self._todo if self._jobs[n][1].judge != "gpu"]:
                self._todo.remove(n)
                ref = self._ray.remote(num_cpus=1, max_retries=3)(_anywhere).remote(
                    self._path, self._program, self._text, self._jobs[n][1])
                self._flights[ref] = _Flight(n, None, time.monotonic())
        while self._idle:
            number = self._todo.popleft() if self._todo else self._slow()
            if number is None:
                break
            if number not in self._jobs:
                continue
            worker = self._idle.pop()
            self._flights[worker.perform.remote(self._jobs[number][1])] = _Flight(number, worker, time.monotonic())

    def _slow(self) -> int | None:
        """The job that has taken one worker much longer than others, if no second worker has it."""
        if len(self._took) < 5:
            return None
        most = max(SLOW_SECONDS, SLOW * statistics.median(self._took))
        tries = collections.Counter(f.number for f in self._flights.values())
        late = [f for f in self._flights.values() if tries[f.number] == 1 and time.monotonic() - f.since > most]
        return min(late, key=lambda f: f.since).number if late else None

    def _land(self, ref: Any) -> Finished | None:
        """Takes a result, unless it is the second; requeues the job of a lost worker."""
        flight = self._flights.pop(ref)
        try:
            outcome, host, began = self._ray.get(ref)
        except self._ray.exceptions.RayTaskError as error:
            raise TuneError(f"a worker: {error}") from None
        except self._ray.exceptions.RayError:
            if flight.number in self._jobs and all(f.number != flight.number for f in self._flights.values()):
                self._todo.appendleft(flight.number)
            if flight.worker is not None:
                self._say("a worker is lost; its job goes to another")
                self._alone = time.monotonic()
                self._hire()
            return None
        if flight.worker is not None:
            self._idle.append(flight.worker)
        if flight.number not in self._jobs:
            return None
        tag, _ = self._jobs.pop(flight.number)
        self._took.append(time.monotonic() - flight.since)
        return Finished(tag, outcome, host, began)

    @staticmethod
    def _absolute(arg: str) -> str:
        """Makes file names absolute, so that every host sharing the files finds them."""
        name, eq, value = arg.partition("=@")
        if not eq:
            return arg
        path, colon, rest = value.partition(":")
        return f"{name}=@{os.path.abspath(path)}{colon}{rest}"


def _anywhere(path: str, program: str, text: bytes, job: Job) -> tuple[Outcome, str, float]:
    """A job that needs no dedicated worker."""
    return Worker(path, program, text).perform(job)
