"""The few functions of the driver library that this package calls, by ctypes.

`python -m verdigris._driver LIBRARY` prints its devices as JSON.
"""

import ctypes
import json
import sys

TABLE_ID = b"verdigris-table1"
ATTRIBUTE_MAJOR, ATTRIBUTE_MINOR, ATTRIBUTE_MULTIPROCESSORS = 75, 76, 16

FaultVisitor = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint64)


class PrivateTable(ctypes.Structure):
    """src/api/tables/private_table.h"""

    _fields_ = [("size", ctypes.c_size_t), ("version", ctypes.c_char_p)] + [
        (name, ctypes.c_void_p) for name in ("coverage", "entry_points", "settings", "host_locking", "device",
                                             "take_new_faults")]


def private_table(driver):
    """The table of Verdigris's library; None for another driver."""
    table = ctypes.POINTER(PrivateTable)()
    if driver.cuGetExportTable(ctypes.byref(table), TABLE_ID) != 0:
        return None
    return table.contents


def take_new_faults(driver):
    """(tool, text, times) of each fault of checked mode since the last call."""
    found = []
    table = private_table(driver)
    if table is not None and table.size >= ctypes.sizeof(PrivateTable):
        visitor = FaultVisitor(lambda _, tool, text, times: found.append((tool.decode(), text.decode(), times)))
        ctypes.CFUNCTYPE(None, FaultVisitor, ctypes.c_void_p)(table.take_new_faults)(visitor, None)
    return found


def devices(driver):
    """What each visible device says of itself. Starts CUDA in this process."""
    count = ctypes.c_int()
    result = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    return [_device(driver, number) for number in range(count.value if result == 0 else 0)]


def _device(driver, number):
    name, memory = ctypes.create_string_buffer(256), ctypes.c_size_t()
    driver.cuDeviceGetName(name, len(name), number)
    driver.cuDeviceTotalMem_v2(ctypes.byref(memory), number)

    def attribute(which):
        value = ctypes.c_int()
        driver.cuDeviceGetAttribute(ctypes.byref(value), which, number)
        return value.value

    return {"name": name.value.decode(), "memory": memory.value,
            "capability": f"{attribute(ATTRIBUTE_MAJOR)}.{attribute(ATTRIBUTE_MINOR)}",
            "multiprocessors": attribute(ATTRIBUTE_MULTIPROCESSORS)}


if __name__ == "__main__":
    print(json.dumps(devices(ctypes.CDLL(sys.argv[1]))))
