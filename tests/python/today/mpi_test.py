"""MPI and UCX with device pointers: Open MPI's processes over UCX, which recognises device memory, replaces the driver's
entry points to hear of allocations, and opens other processes' memory (`cuda_ipc`). `mpi_test.py PROGRAM` is one process.

Open MPI's package has a UCX without CUDA; the one of the package libucx-cu13 is put before it.
"""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

SECONDS = int(os.environ.get("MPI_TEST_SECONDS", "600"))
SIZES = [1, 1000, 300_000, 4_000_000]  # doubles: messages that are sent at once, and those that the receiver fetches


def values(kind, count, value):
    """An array of `count` doubles in memory of a kind."""
    import cupy
    import numpy
    if kind == "host":
        return numpy.full(count, value, numpy.float64)
    if kind == "pinned":
        memory = cupy.cuda.alloc_pinned_memory(8 * count)
        array = numpy.frombuffer(memory, numpy.float64, count)
        array[:] = value
        return array
    allocators = {"device": None, "managed": cupy.cuda.malloc_managed, "ordered": cupy.cuda.malloc_async}
    with cupy.cuda.using_allocator(allocators[kind]):
        array = cupy.full(count, value, cupy.float64)
    cupy.cuda.get_current_stream().synchronize()
    return array


def start():
    import cupy
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    cupy.cuda.Device(world.rank % cupy.cuda.runtime.getDeviceCount()).use()
    return world, (world.rank + 1) % world.size, (world.rank - 1) % world.size


def kinds(_):
    """Each kind of memory to each other kind."""
    world, right, left = start()
    names = ["device", "managed", "ordered", "pinned", "host"]
    for count in SIZES:
        for source in names:
            for target in names:
                mine, theirs = values(source, count, world.rank + 1), values(target, count, -1)
                request = world.Isend(mine, right)
                world.Recv(theirs, left)
                request.wait()
                assert (theirs == left + 1).all(), (count, source, target)


def collectives(_):
    import cupy
    world, right, left = start()
    for count in SIZES:
        mine, theirs = values("device", count, world.rank + 1), values("device", count, -1)
        world.Sendrecv(mine, right, recvbuf=theirs, source=left)
        assert (theirs == left + 1).all(), count
        world.Bcast(mine if world.rank == 1 else theirs, 1)
        assert ((mine if world.rank == 1 else theirs) == 2).all(), count
        mine = values("device", count, world.rank + 1)
        gathered, exchanged = (values("device", count * world.size, -1) for _ in range(2))
        world.Allgather(mine, gathered)
        expected = cupy.repeat(cupy.arange(1, world.size + 1, dtype=cupy.float64), count)
        assert (gathered == expected).all(), count
        world.Alltoall(gathered, exchanged)
        assert (exchanged == world.rank + 1).all(), count
        scattered = values("device", count, -1)
        world.Scatter(gathered if world.rank == 0 else None, scattered, 0)
        assert (scattered == world.rank + 1).all(), count


def reused(_):
    """Memory is freed and its addresses are used again: nothing may be sent from what UCX remembers of them."""
    import cupy
    world, right, left = start()
    pool = cupy.get_default_memory_pool()
    for turn in range(30):
        kind = ["device", "managed", "ordered"][turn % 3]
        count = SIZES[2] + turn % 2
        mine, theirs = values(kind, count, 100 * turn + world.rank), values(kind, count, -1)
        request = world.Isend(mine, right)
        world.Recv(theirs, left)
        request.wait()
        assert (theirs == 100 * turn + left).all(), turn
        del mine, theirs
        pool.free_all_blocks()


def endpoints(_):
    """UCX's own Python interface: arrays on the device go to and fro between endpoints of a process."""
    import asyncio
    import cupy
    import numpy
    import ucxx

    async def run():
        async def twice(endpoint):
            count = numpy.empty(1, numpy.uint64)
            await endpoint.recv(count)
            array = values("device", int(count[0]), -1)
            await endpoint.recv(array)
            array *= 2
            cupy.cuda.get_current_stream().synchronize()
            await endpoint.send(array)
        listener = ucxx.create_listener(twice)
        for count in SIZES:
            endpoint = await ucxx.create_endpoint("127.0.0.1", listener.port)
            sent, back = values("device", count, 21), values("device", count, -1)
            await endpoint.send(numpy.array([count], numpy.uint64))
            await endpoint.send(sent)
            await endpoint.recv(back)
            assert (back == 42).all(), count
    asyncio.run(run())


PROGRAMS = {"kinds": kinds, "collectives": collectives, "reused": reused, "endpoints": endpoints}


def ucx_folder():
    return str(pathlib.Path(importlib.util.find_spec("libucx").origin).parent / "lib")


def run(program, processes):
    environment = dict(os.environ, UCX_LOG_LEVEL="info", UCX_MEM_LOG_LEVEL="info")
    command = [sys.executable, __file__, program]
    if processes:
        environment["LD_LIBRARY_PATH"] = ucx_folder() + ":" + environment.get("LD_LIBRARY_PATH", "")
        mpirun = str(pathlib.Path(sys.executable).parent / "mpirun")
        command = [mpirun, "--allow-run-as-root", "--oversubscribe", "-n", str(processes), "--mca", "pml", "ucx"] + command
    ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS)
    text = ran.stdout.decode(errors="replace")
    assert ran.returncode == 0, text
    assert text.count("done: " + program) == max(processes, 1), text
    return text


@pytest.mark.parametrize("program,processes", [("kinds", 2), ("collectives", 2), ("collectives", 4), ("reused", 2)])
def test_processes(program, processes):
    text = run(program, processes)
    assert re.search(r"intra-node .*cuda_ipc/cuda", text), text  # the other process's memory is opened
    assert re.search(r"installed [1-9]\d* on driver API", text), text  # the entry points were replaced
    assert "Unsupported operation" not in text, text


def test_endpoints():
    run("endpoints", 0)


if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](sys.argv)
    print("done:", sys.argv[1], flush=True)
