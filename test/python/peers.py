"""The comparison with other libraries (hexc_bench/peers.py): a graph of calls over sets of inputs, with nothing
else between its events. Every headline of the list has peers. A failing or missing peer loses only its own
numbers. With torch: shapes and types."""

import os
import types

os.environ["HEXC_BENCH_DEVICE"] = "cuda"
from hexc_bench import cases, items, peer_calls, peers  # noqa: E402


class Event:
    def __init__(self, gpu):
        self.gpu, self.at = gpu, 0.0

    def record(self):
        self.gpu.log.append("event")
        self.at = self.gpu.clock

    def elapsed_time(self, other):
        return other.at - self.at

    def synchronize(self):
        pass


class Scope:
    def __init__(self, enter=lambda: None, leave=lambda: None):
        self.enter, self.leave = enter, leave

    def __enter__(self):
        self.enter()

    def __exit__(self, *_):
        self.leave()
        return False


class Graph:
    def __init__(self, gpu):
        self.gpu, self.calls = gpu, []

    def replay(self):
        self.gpu.log.append("replay")
        for cost in self.calls:
            self.gpu.clock += cost


class Gpu:
    """The part of torch.cuda that peers.py uses, for a GPU with an L2 cache of 1000 bytes; a
    call takes milliseconds."""

    L2 = 1000

    def __init__(self):
        self.clock, self.log, self.taken, self.graph_now = 0.0, [], 0, None
        self.cuda = types.SimpleNamespace(
            Stream=lambda: types.SimpleNamespace(wait_stream=lambda s: None), current_stream=lambda: types.SimpleNamespace(wait_stream=lambda s: None),
            stream=lambda s: Scope(), synchronize=lambda: None, CUDAGraph=lambda: Graph(self), graph=self.capture,
            Event=lambda enable_timing: Event(self), memory_allocated=lambda: self.taken, mem_get_info=lambda: (100000, 100000),
            get_device_properties=lambda i: types.SimpleNamespace(L2_cache_size=self.L2), empty_cache=lambda: None)
        self.uint8 = None

    def capture(self, graph):
        def enter():
            self.graph_now = graph

        def leave():
            self.graph_now = None
        return Scope(enter, leave)

    def empty(self, n, dtype, device):
        return types.SimpleNamespace(zero_=lambda: None)

    def factory(self, ms, size, captured=True):
        def make(i):
            self.taken += size
            ran = []

            def call():
                if not captured and self.graph_now:
                    raise RuntimeError("it asks for the result\nat once")
                ran.append(i)
                self.order.append(i)
                if self.graph_now:
                    self.graph_now.calls.append(ms)
                else:
                    self.clock += ms
            return call
        return make

    order: list = []


def test_graphs():
    peers.WARM = 0.0
    gpu = Gpu()
    gpu.order = []
    found = peers.timed(gpu, gpu.factory(0.25, 600), 20)
    assert found == {"us": 250.0, "us_cold": 250.0, "us_warm": 250.0}, found
    # sets of more than twice the cache, all of them in the graph, in sequence
    assert gpu.taken == 5 * 600 and gpu.order[3:3 + 20] == [0, 1, 2, 3, 4] * 4, (gpu.taken, gpu.order)
    # between two events one replay and nothing else
    text = " ".join(gpu.log)
    assert text == " ".join(["replay"] * 3 + ["event replay event"] * peers.REPLAYS) + " " + " ".join(["replay"] * 3 + ["event replay event"] * peers.REPLAYS), text
    # a set larger than the cache: two of them
    gpu = Gpu()
    gpu.order = []
    peers.timed(gpu, gpu.factory(1.0, 30000), 4)
    assert gpu.taken == 30000 or gpu.taken == 60000, gpu.taken
    # calls that cannot be captured
    gpu = Gpu()
    gpu.order = []
    found = peers.timed(gpu, gpu.factory(2.0, 600, captured=False), 3)
    assert found["us"] == 2000.0 and found["graph"] == "RuntimeError: it asks for the result", found


def test_server():
    server = peers.Server.__new__(peers.Server)
    gpu = Gpu()
    gpu.order = []
    server.torch, server.installed, server.absent, server.late, server.made = gpu, {"torch": "2"}, {"triton": "no"}, {}, {}

    def broken(i):
        raise ValueError("no such type\nand more")

    kinds = {"good": lambda m: {"torch.a": gpu.factory(1.0, 600), "torch.b": broken, "triton.c": broken, "torch.compile": gpu.factory(1.0, 600)}}
    before, peer_calls.KINDS = peer_calls.KINDS, kinds
    try:
        found = server.answer(["good"], 4)
        assert found["torch.a"]["us"] == 1000.0 and found["torch.b"] == {"why": "ValueError: no such type"} and "triton.c" not in found, found
        assert found["torch.compile"]["us"] == 1000.0 and list(server.late) == ['["torch.compile", "good"]'], found
        assert server.answer(["nothing"], 4) == {"torch": {"why": "KeyError: 'nothing'"}}
        peers.COMPILE_LIMIT = 0.05
        kinds["slow"] = lambda m: {"torch.compile": lambda i: __import__("time").sleep(1)}
        said = server.prepare([("slow",)])
        assert said["why"] == {'["torch.compile", "slow"]': "compiling takes more than 0.05 seconds"}, said
    finally:
        peer_calls.KINDS = before


def test_list():
    """Each operator of the list or the suites has a function; it names its required packages."""
    asked = [i.peer for i in items.headlines()] + [c.peer for c in cases.cases(list(cases.SUITES), 1) if c.peer]
    assert all(i.peer for i in items.headlines())
    for kind in {p[0] for p in asked}:
        assert kind in peer_calls.KINDS, kind
    return asked


def test_torch(asked):
    try:
        import torch
    except ImportError:
        print("no torch: shapes and types of its calls are not tried")
        return
    from torch._subclasses.fake_tensor import FakeTensorMode

    shown = 0
    with FakeTensorMode():  # GPU tensors with a shape and a type only
        for peer in {repr(p): p for p in asked}.values():
            for name, make in peer_calls.calls(torch, "cuda", peer[0], list(peer[1:])).items():
                if name.split(".")[0] == "torch" and name not in peer_calls.COMPILED | {"torch.cudnn", "torch.flash"}:  # they query a GPU
                    out = make(0)()
                    shown += 1
                    if peer[0] in ("matmul", "int4", "scaled_mm", "scaled_mm_blocks"):
                        m, n = [x for x in peer[1:] if isinstance(x, int)][:2]
                        assert tuple(out.shape) == (m, n), (peer, name, out.shape)
    assert shown > 100, shown


if __name__ == "__main__":
    test_graphs()
    test_server()
    test_torch(test_list())
