import cupy

x = cupy.arange(1000, dtype=cupy.float32)
assert float((x * 2 + 1).sum()) == 1000 * 1000  # kernels made by NVRTC
print("CuPy", cupy.__version__, "on", cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())
