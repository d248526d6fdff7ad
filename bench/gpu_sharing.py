#!/usr/bin/env python3
"""How several processes share one GPU: lines of name, value and unit, for bench/run gpu.

Each scene starts processes at the same time, which wait for each other before they begin: some run one long grid, one runs
rounds of a small kernel and a small copy and takes the time of each. Uses the libcuda.so.1 that the dynamic linker finds.
"""

import ctypes
import multiprocessing
import statistics
import time

PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry spin(.param .u64 nanoseconds)  // every block lasts so long
{
  .reg .u64 %d<4>;
  .reg .pred %p;
  ld.param.u64 %d0, [nanoseconds];
  mov.u64 %d1, %globaltimer;
  add.u64 %d1, %d1, %d0;
again:
  mov.u64 %d2, %globaltimer;
  setp.lt.u64 %p, %d2, %d1;
  @%p bra again;
  ret;
}
.visible .entry work(.param .u64 steps)  // every block does so much
{
  .reg .u64 %d<4>;
  .reg .pred %p;
  ld.param.u64 %d0, [steps];
  mov.u64 %d1, 1;
again:
  mad.lo.u64 %d1, %d1, 6364136223846793005, 1442695040888963407;
  sub.u64 %d0, %d0, 1;
  setp.ne.u64 %p, %d0, 0;
  @%p bra again;
  setp.ne.u64 %p, %d1, 0;
  @%p ret;
  st.global.u64 [%d1], %d1;
  ret;
}
\0"""


class Gpu:
    """The first GPU of this process."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        context, module = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)
        self.call("cuModuleLoadData", ctypes.byref(module), PTX)
        self.kernels = {}
        for name in (b"spin", b"work"):
            self.kernels[name] = ctypes.c_void_p()
            self.call("cuModuleGetFunction", ctypes.byref(self.kernels[name]), module, name)
        self.memory = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(self.memory), ctypes.c_size_t(4096))

    def call(self, name, *arguments):
        error = getattr(self.cuda, name)(*arguments)
        if error:
            raise RuntimeError(f"{name} returned {error}")

    def launch(self, kernel, blocks, amount):
        value = ctypes.c_uint64(amount)
        parameters = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(value), ctypes.c_void_p))
        self.call("cuLaunchKernel", self.kernels[kernel], blocks, 1, 1, 256, 1, 1, 0, None, parameters, None)

    def wait(self):
        self.call("cuCtxSynchronize")


def long_grid(start, kernel, blocks, amount):
    """The seconds until the grid has ended."""
    gpu = Gpu()
    gpu.launch(kernel, 1, 1)
    gpu.wait()
    start.wait()
    begin = time.monotonic()
    gpu.launch(kernel, blocks, amount)
    gpu.wait()
    return time.monotonic() - begin


def small_work(start, seconds):
    """The seconds of each round that it made in that time."""
    gpu, rounds, host = Gpu(), [], ctypes.create_string_buffer(64)
    gpu.launch(b"spin", 1, 1)
    gpu.wait()
    start.wait()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.monotonic()
        gpu.launch(b"spin", 1, 1000)
        gpu.call("cuMemcpyDtoH_v2", host, gpu.memory, ctypes.c_size_t(64))
        rounds.append(time.monotonic() - begin)
    return rounds


def play(part, start, answers, arguments):
    """A process of a scene: answers what its part returns, or in words why it failed; then nobody waits for it."""
    try:
        answers.put(part(start, *arguments))
    except Exception as error:
        start.abort()
        answers.put(f"{part.__name__}: {str(error) or type(error).__name__}")


def scene(grids, small_seconds=0):
    """Runs long grids, and small work beside them; the last one's end, and the rounds of the small work."""
    parts = [(long_grid, grid) for grid in grids] + ([(small_work, (small_seconds,))] if small_seconds else [])
    several = multiprocessing.get_context("spawn")
    start, answers = several.Barrier(len(parts)), [several.Queue() for _ in parts]
    processes = [several.Process(target=play, args=(part, start, answer, arguments), daemon=True)
                 for (part, arguments), answer in zip(parts, answers)]
    for process in processes:
        process.start()
    told = [answer.get(timeout=60) for answer in answers]
    for process in processes:
        process.join()
    if failed := [each for each in told if isinstance(each, str)]:
        raise SystemExit("gpu_sharing: " + "; ".join(failed))
    return max(told[: len(grids)]), told[-1] if small_seconds else []


def main():
    steps = 120_000  # of a block: a few milliseconds
    end, rounds = scene([(b"work", 60_000, steps)] * 2, small_seconds=3)
    print(f"two processes, 60000 short blocks each: until both ended\t{end * 1e3}\tms")
    print(f"small work beside them: a round\t{statistics.median(rounds) * 1e6}\tus")
    print(f"small work beside them: the slowest round\t{max(rounds) * 1e3}\tms")
    end, _ = scene([(b"spin", 2112, 1_000_000_000)] * 2)
    print(f"two processes, full grids of blocks of 1 s: until both ended\t{end * 1e3}\tms")
    end, _ = scene([(b"spin", 1, 500_000_000)] * 4)
    print(f"four processes, one block of 0.5 s each: until all ended\t{end * 1e3}\tms")


if __name__ == "__main__":
    main()
