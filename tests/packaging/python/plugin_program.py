"""Tests that wheel_test.py has pytest run, of any version: their kernels are PTX. Of test_put one of two writes elsewhere."""

import ctypes
import pytest

PTX = b"""
.version 7.0
.target sm_50
.address_size 64
.visible .entry put(.param .u64 where) {
  .reg .b64 %a;
  ld.param.u64 %a, [where];
  st.global.u32 [%a], 1;
  ret;
}
"""


@pytest.fixture(scope="module")
def driver():
    driver = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    assert driver.cuInit(0) == 0 and driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert driver.cuCtxSetCurrent(context) == 0
    return driver


@pytest.mark.parametrize("offset", [0, 4096])
def test_put(driver, offset):
    module, function, memory = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
    assert driver.cuModuleLoadData(ctypes.byref(module), PTX) == 0
    assert driver.cuModuleGetFunction(ctypes.byref(function), module, b"put") == 0
    assert driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(64)) == 0
    where = ctypes.c_uint64(memory.value + offset)
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(where))
    assert driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, arguments, None) == 0


def test_output_is_captured_after_a_fault(capsys):
    print("said")
    assert capsys.readouterr().out == "said\n"
