// Which textures, samplers and surfaces the kernels of a file name.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "cubin/cubin.h"
#include "images/elf_file.h"

namespace vg::cubin {

// All that have a name, read or not, by symbol. `symbols` are those of the file.
std::map<uint32_t, Reference::Kind> namedTextures(const std::vector<images::ElfSymbol>& symbols);

// By kernel's name. `symbols` are those of the file. CUDA_ERROR_INVALID_IMAGE for symbols that the file does not
// have. Whether the places are in bank 0 is the caller's to check.
using References = std::unordered_map<std::string_view, std::vector<Reference>>;
Result<References> readReferences(const images::ElfFile& file, const std::vector<images::ElfSymbol>& symbols);

}  // namespace vg::cubin
