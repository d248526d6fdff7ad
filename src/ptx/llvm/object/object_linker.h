// Turns the relocatable ELF object of one kernel into a piece of bytes that runs at any address: text and constants
// laid out together, references among them resolved. The object must not need anything from outside.
#pragma once

#include <string>

#include "ptx/abi/kernel_blob.h"

namespace vg::ptx::gen {

// Fills code, textSize, entryOffset, lines and traits.stackPerWarp. False: `error` says what the object needs that a
// kernel cannot have.
bool linkObject(const char* object, size_t size, const char* entry, KernelBlob& blob, std::string& error);

}  // namespace vg::ptx::gen
