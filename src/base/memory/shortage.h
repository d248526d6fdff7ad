// What ran out. A program that is refused something it could have had elsewhere learns why on the default level of the
// log, once for each thing; later ones are details.
#pragma once

namespace vg {

enum class Shortage { DeviceMemory, HostMemory, AddressSpace, Threads, Descriptors, Disk };

namespace shortage {

// "out of THING: REASON". Level warn the first time for this thing in the process, info afterwards.
[[gnu::cold, gnu::format(printf, 2, 3)]] void tell(Shortage what, const char* reason, ...) noexcept;
// What a failed system call's errno says has run out; memory, where it does not say.
Shortage ofError(int error) noexcept;

}  // namespace shortage
}  // namespace vg
