// CUDA's device runtime: the functions by which kernels launch kernels, as PTX of our own.
//
// A program declares them and expects them of libcudadevrt, whose code is for newer devices as a rule, and native. Each
// is a small function here that lays its arguments out as C would and hands them to one system call
// (SystemCall::DeviceRuntime), with the number of the function. Names of CUDA 12 and later (__cudaCDP2...) and older
// ones (cuda...) are the same functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vg::ptx {

enum class DeviceCall : uint32_t {
#define VG_DEVICE_CALL(name, ...) name,
#include "ptx/abi/device_runtime.inc"
#undef VG_DEVICE_CALL
};

// The function that a program means by a symbol. Nothing for other symbols.
std::optional<DeviceCall> deviceCallNamed(std::string_view symbol);

// The system call: .func (.b64 result) name (.b32 function, .b64 arguments).
inline constexpr char kDeviceRuntimeCall[] = "verdigris_device_runtime";

// The texts of a program with one more, of what they name of the device runtime. The vendor's own, which newer devices
// find among them, goes: it is made for a driver that knows it. Functions of grids (grid_functions.h) are a text apart.
std::vector<std::string> withDeviceRuntime(std::vector<std::string> texts);
// The same for what becomes native code: the functions are there by name only, for a linker, and stop whoever calls
// them. Whoever places the code puts others in their place.
std::vector<std::string> withDeviceRuntimeNames(std::vector<std::string> texts);

}  // namespace vg::ptx
