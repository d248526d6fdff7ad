#include "cubin/packed_code.h"

#include "images/container.h"

namespace vg::cubin {

Result<std::string> unpack(const PackedCode& code) {
  images::Entry entry;
  entry.kind = images::EntryKind::Cubin;
  entry.compression = images::Compression::Zstd;
  entry.payload = {reinterpret_cast<const char*>(code.words), code.packedBytes};
  entry.unpackedSize = code.bytes;
  return images::unpack(entry);
}

}  // namespace vg::cubin
