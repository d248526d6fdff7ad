"""cuda-python on the emulated device: the bindings of the driver and of NVRTC, and cuda.core above them."""

import numpy as np
from cuda.bindings import driver, nvrtc
from cuda.core import Device, LaunchConfig, Linker, LinkerOptions, Program, ProgramOptions, launch

SOURCE = r"""
extern "C" __global__ void saxpy(float a, const float* x, float* y, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
"""


def checked(answer):
    result, *values = answer
    assert int(result) == 0, result
    return values[0] if len(values) == 1 else values


def compiled(real_architecture):
    program = checked(nvrtc.nvrtcCreateProgram(SOURCE.encode(), b"saxpy.cu", 0, [], []))
    kind = b"sm" if real_architecture else b"compute"
    checked(nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=" + kind + b"_90"]))
    size, get = (
        (nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN) if real_architecture else (nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
    )
    image = b" " * checked(size(program))
    checked(get(program, image))
    return image


def run(image):
    checked(driver.cuInit(0))
    context = checked(driver.cuDevicePrimaryCtxRetain(checked(driver.cuDeviceGet(0))))
    checked(driver.cuCtxSetCurrent(context))
    kernel = checked(driver.cuModuleGetFunction(checked(driver.cuModuleLoadData(image)), b"saxpy"))
    n = 1000
    x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    on_device = [checked(driver.cuMemAlloc(x.nbytes)) for _ in range(2)]
    for address, values in zip(on_device, (x, y)):
        checked(driver.cuMemcpyHtoD(address, values.ctypes.data, values.nbytes))
    arguments = [np.array([2], np.float32), *(np.array([int(a)], np.uint64) for a in on_device), np.array([n], np.uint64)]
    pointers = np.array([argument.ctypes.data for argument in arguments], np.uint64)
    checked(driver.cuLaunchKernel(kernel, 8, 1, 1, 128, 1, 1, 0, 0, pointers.ctypes.data, 0))
    back = np.empty_like(y)
    checked(driver.cuMemcpyDtoH(back.ctypes.data, on_device[1], back.nbytes))
    np.testing.assert_array_equal(back, 2 * x + 1)


def test_driver_with_ptx():
    run(compiled(real_architecture=False))


def test_driver_with_native_code():
    run(compiled(real_architecture=True))


def launch_doubled(kernel, device):
    stream = device.create_stream()
    buffer = device.allocate(400, stream=stream)
    values = np.arange(100, dtype=np.float32)
    stream.sync()
    checked(driver.cuMemcpyHtoD(int(buffer.handle), values.ctypes.data, 400))
    launch(stream, LaunchConfig(grid=1, block=128), kernel, np.float32(2), int(buffer.handle), int(buffer.handle), np.uint64(100))
    stream.sync()
    checked(driver.cuMemcpyDtoH(values.ctypes.data, int(buffer.handle), 400))
    np.testing.assert_array_equal(values, 3 * np.arange(100, dtype=np.float32))


def test_core_programs():
    device = Device()
    device.set_current()
    architecture = "sm_" + "".join(map(str, device.compute_capability))
    for kind in ("cubin", "ptx"):
        code = Program(SOURCE, "c++", ProgramOptions(std="c++17", arch=architecture)).compile(kind)
        launch_doubled(code.get_kernel("saxpy"), device)


def test_core_links():
    device = Device()
    device.set_current()
    architecture = "sm_" + "".join(map(str, device.compute_capability))
    twice = 'extern "C" __device__ float twice(float x) { return 2 * x; }'
    caller = """extern "C" __device__ float twice(float);
      extern "C" __global__ void saxpy(float a, const float* x, float* y, size_t n) {
        if (threadIdx.x < n) y[threadIdx.x] = twice(x[threadIdx.x]) + y[threadIdx.x];
      }"""
    options = ProgramOptions(relocatable_device_code=True, arch=architecture)
    parts = [Program(source, "c++", options).compile("ptx") for source in (twice, caller)]
    linked = Linker(*parts, options=LinkerOptions(arch=architecture)).link("cubin")
    launch_doubled(linked.get_kernel("saxpy"), device)
