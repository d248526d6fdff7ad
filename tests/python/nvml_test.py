"""nvidia-ml-py on the emulated device: the monitoring library by its usual Python package."""

import os

import pynvml
import pytest
from cuda.bindings import driver


@pytest.fixture(scope="module", autouse=True)
def library():
    pynvml.nvmlInit()
    yield
    pynvml.nvmlShutdown()


@pytest.fixture
def device():
    return pynvml.nvmlDeviceGetHandleByIndex(0)


def test_a_device_says_what_it_is(device):
    assert pynvml.nvmlDeviceGetCount() >= 1
    assert pynvml.nvmlDeviceGetName(device)
    uuid = pynvml.nvmlDeviceGetUUID(device)
    assert pynvml.nvmlDeviceGetIndex(pynvml.nvmlDeviceGetHandleByUUID(uuid)) == 0
    bus = pynvml.nvmlDeviceGetPciInfo(device).busId
    assert pynvml.nvmlDeviceGetIndex(pynvml.nvmlDeviceGetHandleByPciBusId(bus)) == 0
    major, minor = pynvml.nvmlDeviceGetCudaComputeCapability(device)
    assert major >= 5 and minor >= 0
    assert pynvml.nvmlSystemGetDriverVersion()


def test_memory_and_processes_follow_the_program(device):
    before = pynvml.nvmlDeviceGetMemoryInfo(device)
    assert driver.cuInit(0)[0] == 0
    context = driver.cuDevicePrimaryCtxRetain(0)[1]
    driver.cuCtxSetCurrent(context)
    memory = driver.cuMemAlloc(1 << 26)[1]
    during = pynvml.nvmlDeviceGetMemoryInfo(device)
    assert during.used >= before.used + (1 << 26)
    assert during.used + during.free == during.total
    assert pynvml.nvmlDeviceGetMemoryInfo(device, version=pynvml.nvmlMemory_v2).used == during.used
    assert [process.pid for process in pynvml.nvmlDeviceGetComputeRunningProcesses(device)] == [os.getpid()]
    driver.cuMemFree(memory)


def test_rates_are_percentages(device):
    rates = pynvml.nvmlDeviceGetUtilizationRates(device)
    assert 0 <= rates.gpu <= 100 and 0 <= rates.memory <= 100


def test_what_an_emulated_device_lacks_is_not_supported(device):
    for question in (pynvml.nvmlDeviceGetPowerUsage, pynvml.nvmlDeviceGetFanSpeed, pynvml.nvmlDeviceGetSerial):
        with pytest.raises(pynvml.NVMLError_NotSupported):
            question(device)
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlDeviceGetHandleByIndex(99)
