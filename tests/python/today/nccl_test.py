"""NCCL between emulated devices: every collective, types and operations, 2 to 8 devices of one process, one process a
device, and over sockets between two network namespaces. What comes out is compared with what NumPy makes of the inputs.

`nccl_test.py worker RANK RANKS DEVICE FILE` is one process of several; FILE is where the first one leaves its address.
"""
import ctypes
import glob
import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest

COUNT = 777
SUM, PRODUCT, MAX, MIN, AVERAGE = range(5)
TYPES = {np.int8: 0, np.uint8: 1, np.int32: 2, np.uint32: 3, np.int64: 4, np.uint64: 5, np.float16: 6, np.float32: 7,
         np.float64: 8}
SECONDS = int(os.environ.get("NCCL_TEST_SECONDS", "900"))  # that processes of several may take


def library():
    import nvidia.nccl
    [path] = glob.glob(os.path.join(list(nvidia.nccl.__path__)[0], "lib", "libnccl.so.2"))
    return ctypes.CDLL(path)


nccl, cuda = library(), ctypes.CDLL("libcuda.so.1")
nccl.ncclGetErrorString.restype = ctypes.c_char_p


def check(result, what):
    assert result == 0, f"{what}: {result}"


def call(name, *arguments):
    result = getattr(nccl, name)(*arguments)
    assert result == 0, f"{name}: {nccl.ncclGetErrorString(result).decode()}"


class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]


class Rank:
    """A device with its stream and its place in a communicator."""

    def __init__(self, device):
        check(cuda.cuInit(0), "cuInit")
        self.device, self.context, self.stream, self.comm = device, ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), device), "primary context")
        self.use()
        check(cuda.cuStreamCreate(ctypes.byref(self.stream), 1), "cuStreamCreate")

    def use(self):
        check(cuda.cuCtxSetCurrent(self.context), "cuCtxSetCurrent")

    def put(self, array):
        self.use()
        pointer = ctypes.c_uint64()
        check(cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(max(array.nbytes, 1))), "cuMemAlloc")
        check(cuda.cuMemcpyHtoD_v2(pointer, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes)), "copy")
        return pointer

    def get(self, pointer, like):
        self.use()
        check(cuda.cuStreamSynchronize(self.stream), "cuStreamSynchronize")
        array = np.empty_like(like)
        check(cuda.cuMemcpyDtoH_v2(array.ctypes.data_as(ctypes.c_void_p), pointer, ctypes.c_size_t(array.nbytes)), "copy")
        check(cuda.cuMemFree_v2(pointer), "cuMemFree")
        return array


def group(ranks, operation):
    call("ncclGroupStart")
    for rank in ranks:
        rank.use()
        operation(rank)
    call("ncclGroupEnd")


def given(rank, count, dtype):
    """What a rank puts in: small numbers, so that sums and products of all types are exact."""
    return ((np.arange(count) * 7 + rank * 3) % 3 + 1).astype(dtype)


def size(count):
    return ctypes.c_size_t(count)


class Collectives:
    """Each makes the call of a rank, and says what every rank has then."""

    def __init__(self, ranks, dtype=np.float32, operation=SUM):
        self.ranks, self.dtype, self.operation = ranks, dtype, operation
        self.type = TYPES[dtype]

    def combined(self, count):
        all_of = np.stack([given(r, count, self.dtype) for r in range(self.ranks)])
        return {SUM: lambda a: a.sum(0, dtype=self.dtype), PRODUCT: lambda a: a.prod(0, dtype=self.dtype),
                MAX: lambda a: a.max(0), MIN: lambda a: a.min(0),
                AVERAGE: lambda a: (a.sum(0, dtype=self.dtype) / self.dtype(self.ranks)).astype(self.dtype)
                if np.issubdtype(self.dtype, np.floating) else a.sum(0, dtype=self.dtype) // self.dtype(self.ranks)
                }[self.operation](all_of)

    def gathered(self):
        return np.concatenate([given(r, COUNT, self.dtype) for r in range(self.ranks)])

    # Each: what goes in at a rank, what is there before, the call, what comes out (None: nothing is promised).
    def all_reduce(self, r):
        return (given(r, COUNT, self.dtype), COUNT, lambda s, d, rank: call(
            "ncclAllReduce", s, d, size(COUNT), self.type, self.operation, rank.comm, rank.stream), self.combined(COUNT))

    def reduce(self, r):
        root = self.ranks - 1
        return (given(r, COUNT, self.dtype), COUNT, lambda s, d, rank: call(
            "ncclReduce", s, d, size(COUNT), self.type, self.operation, root, rank.comm, rank.stream),
            self.combined(COUNT) if r == root else None)

    def broadcast(self, r):
        return (given(r, COUNT, self.dtype), COUNT, lambda s, d, rank: call(
            "ncclBroadcast", s, d, size(COUNT), self.type, 1, rank.comm, rank.stream), given(1, COUNT, self.dtype))

    def all_gather(self, r):
        return (given(r, COUNT, self.dtype), COUNT * self.ranks, lambda s, d, rank: call(
            "ncclAllGather", s, d, size(COUNT), self.type, rank.comm, rank.stream), self.gathered())

    def reduce_scatter(self, r):
        return (given(r, COUNT * self.ranks, self.dtype), COUNT, lambda s, d, rank: call(
            "ncclReduceScatter", s, d, size(COUNT), self.type, self.operation, rank.comm, rank.stream),
            self.combined(COUNT * self.ranks)[COUNT * r:COUNT * (r + 1)])

    def send_receive(self, r):
        def exchange(s, d, rank):
            call("ncclSend", s, size(COUNT), self.type, (r + 1) % self.ranks, rank.comm, rank.stream)
            call("ncclRecv", d, size(COUNT), self.type, (r - 1) % self.ranks, rank.comm, rank.stream)
        return given(r, COUNT, self.dtype), COUNT, exchange, given((r - 1) % self.ranks, COUNT, self.dtype)

    def all_to_all(self, r):
        return (given(r, COUNT * self.ranks, self.dtype), COUNT * self.ranks, lambda s, d, rank: call(
            "ncclAlltoAll", s, d, size(COUNT), self.type, rank.comm, rank.stream),
            np.concatenate([given(other, COUNT * self.ranks, self.dtype)[COUNT * r:COUNT * (r + 1)]
                            for other in range(self.ranks)]))

    NAMES = ["all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter", "send_receive", "all_to_all"]

    def run(self, name, mine):
        """`mine`: number and Rank of those in this process."""
        parts = {number: getattr(self, name)(number) for number, _ in mine}
        sources = {number: rank.put(parts[number][0]) for number, rank in mine}
        results = {number: rank.put(np.zeros(parts[number][1], self.dtype)) for number, rank in mine}
        numbers = {id(rank): number for number, rank in mine}
        group([rank for _, rank in mine],
              lambda rank: parts[numbers[id(rank)]][2](sources[numbers[id(rank)]], results[numbers[id(rank)]], rank))
        for number, rank in mine:
            out = rank.get(results[number], np.empty(parts[number][1], self.dtype))
            same = rank.get(sources[number], parts[number][0])
            np.testing.assert_array_equal(same, parts[number][0], f"{name}: input of rank {number}")
            if parts[number][3] is not None:
                np.testing.assert_array_equal(out, parts[number][3], f"{name}: rank {number}")


@pytest.fixture(scope="module")
def devices():
    """Ranks of this process, a communicator for each number of devices."""
    made = {}

    def of(count):
        check(cuda.cuInit(0), "cuInit")
        present = ctypes.c_int()
        check(cuda.cuDeviceGetCount(ctypes.byref(present)), "cuDeviceGetCount")
        if present.value < count:
            pytest.skip(f"{present.value} devices")
        if count not in made:
            ranks = [Rank(device) for device in range(count)]
            comms = (ctypes.c_void_p * count)()
            call("ncclCommInitAll", comms, count, None)
            for rank, comm in zip(ranks, comms):
                rank.comm = ctypes.c_void_p(comm)
            made[count] = list(enumerate(ranks))
        return made[count]
    yield of
    for ranks in made.values():
        for _, rank in ranks:
            call("ncclCommDestroy", rank.comm)


@pytest.mark.parametrize("name", Collectives.NAMES)
@pytest.mark.parametrize("count", [2, 4, 8])
def test_of_one_process(devices, count, name):
    Collectives(count).run(name, devices(count))


@pytest.mark.parametrize("dtype", [t for t in TYPES if t != np.float32], ids=lambda t: t.__name__)
def test_types(devices, dtype):
    Collectives(2, dtype).run("all_reduce", devices(2))


@pytest.mark.parametrize("operation", [PRODUCT, MAX, MIN, AVERAGE], ids=["product", "max", "min", "average"])
@pytest.mark.parametrize("dtype", [np.int32, np.float16, np.float32], ids=lambda t: t.__name__)
def test_operations(devices, dtype, operation):
    Collectives(2, dtype, operation).run("all_reduce", devices(2))


@pytest.mark.parametrize("protocol", ["LL", "LL128", "Simple"])
@pytest.mark.parametrize("algorithm", ["Ring", "Tree"])
def test_protocols(tmp_path, algorithm, protocol):
    run_processes(2, tmp_path, {"NCCL_ALGO": algorithm, "NCCL_PROTO": protocol}, names="all_reduce")


def worker(number, ranks, device, place, names):
    rank, unique, file = Rank(device), UniqueId(), pathlib.Path(place)
    if number == 0:
        call("ncclGetUniqueId", ctypes.byref(unique))
        (file.parent / "id.new").write_bytes(bytes(unique))
        (file.parent / "id.new").rename(file)
    while not file.exists():
        time.sleep(0.02)
    ctypes.memmove(ctypes.byref(unique), file.read_bytes(), 128)
    rank.use()
    call("ncclCommInitRank", ctypes.byref(rank.comm), ranks, unique, number)
    for name in names:
        Collectives(ranks).run(name, [(number, rank)])
        print(name, "ok", flush=True)
    call("ncclCommDestroy", rank.comm)


def run_processes(ranks, folder, environment, prefixes=None, device=lambda number: number, names=None):
    wanted = names or ",".join(Collectives.NAMES)
    logs = [open(folder / f"rank{number}.log", "w+") for number in range(ranks)]
    processes = [
        subprocess.Popen([*(prefixes[number] if prefixes else []), sys.executable, __file__, "worker", str(number),
                          str(ranks), str(device(number)), str(folder / "id"), wanted], stdout=log, stderr=log,
                         env={**os.environ, **environment, "NCCL_HOSTID": environment.get("hosts", "one") +
                              (str(number) if "hosts" in environment else "")})
        for number, log in enumerate(logs)]
    end = time.time() + SECONDS
    try:
        for process in processes:
            process.wait(max(1, end - time.time()))
    finally:
        for process in processes:
            process.kill()
    for process, log in zip(processes, logs):
        log.seek(0)
        text = log.read()
        assert process.returncode == 0 and text.count(" ok") == wanted.count(",") + 1, text


def test_one_process_a_device(tmp_path):
    run_processes(2, tmp_path, {})


def test_sockets_on_one_machine(tmp_path):
    run_processes(2, tmp_path, {"hosts": "host", "NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1"})


@pytest.fixture
def namespaces():
    names = [f"vg{os.getpid()}{end}" for end in "ab"]

    def ip(*words):
        return subprocess.run(["ip", *words], stderr=subprocess.PIPE, text=True)
    try:
        made = [ip("netns", "add", name) for name in names]
        made.append(ip("link", "add", names[0], "type", "veth", "peer", "name", names[1]))
        for number, name in enumerate(names):
            made.append(ip("link", "set", name, "netns", name))
            made.append(ip("-n", name, "addr", "add", f"10.77.0.{number + 1}/24", "dev", name))
            made.append(ip("-n", name, "link", "set", name, "up"))
            made.append(ip("-n", name, "link", "set", "lo", "up"))
        refused = [one.stderr.strip() for one in made if one.returncode]
        if refused:
            pytest.skip("no network namespaces: " + refused[0])
        yield names
    except FileNotFoundError:
        pytest.skip("there is no ip")
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL)


def test_two_hosts(tmp_path, namespaces):
    run_processes(2, tmp_path, {"hosts": "host", "NCCL_SOCKET_IFNAME": "vg", "NCCL_IB_DISABLE": "1"},
                  prefixes=[["ip", "netns", "exec", name] for name in namespaces])


if __name__ == "__main__":
    worker(int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5], sys.argv[6].split(","))
