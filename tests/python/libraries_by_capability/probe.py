#!/usr/bin/env python3
"""Calls a CUDA library's functions on a small example with a known result: probe.py LIBRARY FILE

A line for each function: its name and "works", "wrong", or the library's status. Knows cublas, cusparse, curand, cufft and cusolver.
Needs nothing but the library and what it loads; memory of the emulated device is read as the process's own.
"""

import ctypes
import sys

N = 64
F32, F64, F16, BF16 = 0, 1, 2, 14  # cudaDataType
ONES = {F32: b"\0\0\x80\x3f", F64: b"\0\0\0\0\0\0\xf0\x3f", F16: b"\0\x3c", BF16: b"\x80\x3f"}
driver = ctypes.CDLL("libcuda.so.1")


class Memory:
    """Device memory: `count` numbers of a kind, all of them 1, or bytes."""

    def __init__(self, content):
        self.address, self.size = ctypes.c_uint64(), len(content)
        assert driver.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(max(len(content), 1))) == 0
        assert driver.cuMemcpyHtoD_v2(self.address, content, ctypes.c_size_t(len(content))) == 0

    @classmethod
    def ones(cls, kind, count):
        return cls(ONES[kind] * count)

    @property
    def pointer(self):
        return ctypes.c_void_p(self.address.value)

    def read(self):
        content = ctypes.create_string_buffer(self.size)
        return content.raw if driver.cuMemcpyDtoH_v2(content, self.address, ctypes.c_size_t(self.size)) == 0 else b""


def number(kind, value):
    """`value`, a power of two, as bytes of a kind."""
    if kind in (F32, F64):
        return bytes((ctypes.c_float if kind == F32 else ctypes.c_double)(value))
    half = bytes(ctypes.c_float(value))[2:]
    if kind == BF16:
        return half
    exponent = value.bit_length() - 1
    return ((exponent + 15) << 10).to_bytes(2, "little")


def verdict(status, good):
    error = driver.cuCtxSynchronize()
    if status or error:
        return f"status {status}" if status else f"error {error}"
    return "works" if good() else "wrong"


def all_are(memory, kind, value):
    one = number(kind, value)
    return memory.read() == one * (memory.size // len(one))


def cublas(library):
    handle = ctypes.c_void_p()
    status = library.cublasCreate_v2(ctypes.byref(handle))
    if status:
        yield "create", f"status {status}"
        return
    one, zero = {F32: ctypes.c_float(1), F64: ctypes.c_double(1)}, {F32: ctypes.c_float(0), F64: ctypes.c_double(0)}
    for name, kind, compute in (("gemm f32", F32, 68), ("gemm f64", F64, 70), ("gemm f16", F16, 68), ("gemm bf16", BF16, 68)):
        a, b, c = (Memory.ones(kind, N * N) for _ in range(3))
        scale = F64 if kind == F64 else F32
        status = library.cublasGemmEx(handle, 0, 0, N, N, N, ctypes.byref(one[scale]), a.pointer, kind, N, b.pointer, kind, N,
                                      ctypes.byref(zero[scale]), c.pointer, kind, N, compute, -1)
        yield name, verdict(status, lambda: all_are(c, kind, N))
    for letter, kind in (("S", F32), ("D", F64)):
        a, x, y = Memory.ones(kind, N * N), Memory.ones(kind, N), Memory.ones(kind, N)
        status = getattr(library, f"cublas{letter}gemv_v2")(handle, 0, N, N, ctypes.byref(one[kind]), a.pointer, N, x.pointer, 1,
                                                            ctypes.byref(zero[kind]), y.pointer, 1)
        yield f"gemv f{32 if kind == F32 else 64}", verdict(status, lambda: all_are(y, kind, N))
    x, out = Memory.ones(F32, N), Memory.ones(F32, 1)
    library.cublasSetPointerMode_v2(handle, 1)
    status = library.cublasSdot_v2(handle, N, x.pointer, 1, x.pointer, 1, out.pointer)
    yield "dot f32", verdict(status, lambda: all_are(out, F32, N))


def cusparse(library):
    handle = ctypes.c_void_p()
    status = library.cusparseCreate(ctypes.byref(handle))
    if status:
        yield "create", f"status {status}"
        return
    # The identity.
    offsets = Memory(b"".join(i.to_bytes(4, "little") for i in range(N + 1)))
    columns = Memory(b"".join(i.to_bytes(4, "little") for i in range(N)))
    values, one, zero = Memory.ones(F32, N), ctypes.c_float(1), ctypes.c_float(0)
    matrix, size = ctypes.c_void_p(), ctypes.c_size_t()
    big = ctypes.c_int64
    library.cusparseCreateCsr(ctypes.byref(matrix), big(N), big(N), big(N), offsets.pointer, columns.pointer, values.pointer, 2, 2,
                              0, F32)
    for name, dense, width in (("spmv", False, 1), ("spmm", True, 8)):
        x, y = Memory.ones(F32, N * width), Memory(b"\0" * 4 * N * width)
        x_is, y_is = ctypes.c_void_p(), ctypes.c_void_p()
        for what, memory in ((x_is, x), (y_is, y)):
            if dense:
                library.cusparseCreateDnMat(ctypes.byref(what), big(N), big(width), big(N), memory.pointer, F32, 1)
            else:
                library.cusparseCreateDnVec(ctypes.byref(what), big(N), memory.pointer, F32)
        call = (handle, 0, *([0] if dense else []), ctypes.byref(one), matrix, x_is, ctypes.byref(zero), y_is, F32, 0)
        function = "SpMM" if dense else "SpMV"
        status = getattr(library, f"cusparse{function}_bufferSize")(*call, ctypes.byref(size))
        if not status:
            buffer = Memory(b"\0" * size.value)
            status = getattr(library, f"cusparse{function}")(*call, buffer.pointer)
        yield name, verdict(status, lambda: all_are(y, F32, 1))


def curand(library):
    kinds = {"xorwow": 101, "mrg32k3a": 121, "mtgp32": 141, "philox": 161, "sobol": 201}
    for name, kind in kinds.items():
        generator, out = ctypes.c_void_p(), Memory(b"\xff" * 4 * 4096)
        status = library.curandCreateGenerator(ctypes.byref(generator), kind)
        if not status:
            status = library.curandGenerateUniform(generator, out.pointer, ctypes.c_size_t(4096))

        def good():
            numbers = (ctypes.c_float * 4096).from_buffer_copy(out.read())
            return all(0 <= each <= 1 for each in numbers) and 0.4 < sum(numbers) / 4096 < 0.6

        yield name, verdict(status, good)


def cufft(library):
    for name, length, kind, function in (("c2c 64", 64, 0x29, "C2C"), ("z2z 100", 100, 0x69, "Z2Z"), ("c2c 997", 997, 0x29, "C2C")):
        double = function == "Z2Z"
        plan, width = ctypes.c_int(), 16 if double else 8
        one = bytes((ctypes.c_double if double else ctypes.c_float)(1))
        data = Memory(one + b"\0" * (width * length - len(one)))  # an impulse, whose transform is 1 everywhere
        status = library.cufftPlan1d(ctypes.byref(plan), length, kind, 1)
        if not status:
            status = getattr(library, f"cufftExec{function}")(plan, data.pointer, data.pointer, -1)

        def good():
            numbers = ((ctypes.c_double if double else ctypes.c_float) * (2 * length)).from_buffer_copy(data.read())
            return all(abs(each - (i % 2 == 0)) < 1e-4 for i, each in enumerate(numbers))

        yield name, verdict(status, good)


def cusolver(library):
    handle = ctypes.c_void_p()
    status = library.cusolverDnCreate(ctypes.byref(handle))
    if status:
        yield "create", f"status {status}"
        return
    identity = b"".join(ONES[F64] if i % (N + 1) == 0 else b"\0" * 8 for i in range(N * N))
    for name, function, extra in (("potrf f64", "Dpotrf", [0]), ("getrf f64", "Dgetrf", [])):
        a, size, info, pivots = Memory(identity), ctypes.c_int(), Memory(b"\xff" * 4), Memory(b"\0" * 4 * N)
        shape = extra + [N] if extra else [N, N]
        status = getattr(library, f"cusolverDn{function}_bufferSize")(handle, *shape, a.pointer, N, ctypes.byref(size))
        if not status:
            work = Memory(b"\0" * 8 * max(size.value, 1))
            rest = [work.pointer, size, info.pointer] if extra else [work.pointer, pivots.pointer, info.pointer]
            status = getattr(library, f"cusolverDn{function}")(handle, *shape, a.pointer, N, *rest)
        yield name, verdict(status, lambda: a.read() == identity and info.read() == b"\0" * 4)


def main():
    library, file = sys.argv[1:]
    context = ctypes.c_void_p()
    assert driver.cuInit(0) == 0
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and driver.cuCtxSetCurrent(context) == 0
    for name, said in globals()[library](ctypes.CDLL(file)):
        print(f"{name}\t{said}", flush=True)


if __name__ == "__main__":
    main()
