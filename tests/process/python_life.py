"""The library inside an interpreter: loaded, used, forked by subprocess and multiprocessing, left alone at exit."""

import ctypes
import multiprocessing
import os
import subprocess

NOT_INITIALIZED = 3
cuda = ctypes.CDLL("libcuda.so.1")


def count():
    number = ctypes.c_int(-1)
    return cuda.cuDeviceGetCount(ctypes.byref(number)), number.value


def in_child():
    os._exit(0 if count()[0] == NOT_INITIALIZED and cuda.cuInit(0) == NOT_INITIALIZED else 1)


def in_fresh_process(queue):
    queue.put((cuda.cuInit(0), count()))


def main():
    assert count()[0] == NOT_INITIALIZED
    assert cuda.cuInit(0) == 0
    assert count()[0] == 0 and count()[1] >= 1
    context = ctypes.c_void_p()
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    memory = ctypes.c_uint64()
    assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(1 << 20)) == 0
    assert cuda.cuMemsetD8_v2(memory, ctypes.c_ubyte(7), ctypes.c_size_t(1 << 20)) == 0
    bytes_back = ctypes.create_string_buffer(1 << 20)
    assert cuda.cuMemcpyDtoH_v2(bytes_back, memory, ctypes.c_size_t(1 << 20)) == 0
    assert bytes_back.raw == b"\7" * (1 << 20)
    assert subprocess.run(["true"], check=False).returncode == 0
    child = os.fork()
    if child == 0:
        in_child()
    assert os.waitpid(child, 0)[1] == 0
    spawning = multiprocessing.get_context("spawn")
    queue = spawning.Queue()
    process = spawning.Process(target=in_fresh_process, args=(queue,))
    process.start()
    result, (counted, number) = queue.get(timeout=30)
    process.join()
    assert (result, counted) == (0, 0) and number >= 1
    assert cuda.cuMemFree_v2(memory) == 0


if __name__ == "__main__":
    main()
