#include "images/image_source.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/log.h"
#include "base/memory/safe_read.h"
#include "images/container.h"
#include "images/elf_file.h"
#include "images/provenance.h"
#include "images/read_file.h"
#include "images/stand_ins.h"

namespace vg::images {
namespace {

constexpr unsigned char kWrapperMagic[4] = {0xB1, 0x43, 0x62, 0x46};
constexpr unsigned char kContainerMagic[4] = {0x50, 0xED, 0x55, 0xBA};
constexpr unsigned char kOldContainerMagic[4] = {0x01, 0x5A, 0xE5, 0x1E};
constexpr unsigned char kElfMagic[4] = {0x7F, 'E', 'L', 'F'};
constexpr size_t kContainerHeaderSize = 16, kElfHeaderSize = 64;
constexpr size_t kMaxPrelinked = 1 << 20;  // containers in a wrapper's array

// What nvcc registers; pointers of this process, so only an image in memory has one.
struct Wrapper {
  uint32_t magic;
  uint32_t version;
  const std::byte* container;
  const std::byte* const* prelinked;  // version 2: relocatable containers, ended by null
};
static_assert(sizeof(Wrapper) == 24);

// Reads no further than the first byte that differs.
bool startsWith(const std::byte* bytes, size_t available, const unsigned char (&magic)[4]) {
  for (size_t i = 0; i < sizeof magic; ++i)
    if (i >= available || bytes[i] != std::byte{magic[i]}) return false;
  return true;
}

// Requires: a container that was read before.
bool emptyContainer(const std::byte* bytes) {
  const Result<std::vector<Entry>> entries = readContainer(bytes, containerSize(bytes, kContainerHeaderSize));
  return entries.ok() && entries.value().empty();
}

class Selector {
 public:
  explicit Selector(const SelectOptions& options) : options_(options) {}

  Result<Selected> select(const std::byte* bytes, size_t available);

 private:
  [[gnu::format(printf, 2, 3)]] void note(const char* format, ...);
  CUresult needs(const std::byte* bytes, uint64_t size, size_t available, const char* what);
  Result<Selected> wrapper(const std::byte* bytes, size_t available);
  Result<bool> holdsNative(const Wrapper& wrapper);
  Result<Selected> relocatable(const Wrapper& wrapper);
  Result<Selected> container(const std::byte* bytes, size_t available);
  Result<Selected> cubin(const std::byte* bytes, size_t available);
  Result<Selected> text(const std::byte* bytes, size_t available);
  Result<std::vector<Entry>> entries(const std::byte* bytes, size_t available);
  // What of a container fits the device best; nothing when nothing fits.
  std::optional<Entry> best(const std::vector<Entry>& entries, EntryKind kind);
  std::optional<Entry> bestNative(const std::vector<Entry>& entries);
  // PTX of the folder of stand-ins for native code, if it has any.
  std::optional<Selected> standIn(std::string_view native);
  std::optional<Selected> standIn(const std::vector<Entry>& entries);
  void tellNoPtx(const std::vector<Entry>& entries);

  const SelectOptions& options_;
  const std::byte* image_ = nullptr;  // the container that is looked at
};

void Selector::note(const char* format, ...) {
  if (!options_.log) return;
  char line[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(line, sizeof line, format, args);
  va_end(args);
  *options_.log += line;
  *options_.log += '\n';
}

CUresult Selector::needs(const std::byte* bytes, uint64_t size, size_t available, const char* what) {
  if (available == kUnknownSize ? safe_read::mapped(bytes, size) : size <= available) return CUDA_SUCCESS;
  note("%s is damaged or truncated", what);
  return fail(CUDA_ERROR_INVALID_IMAGE, "%s of %llu bytes is not all there", what,
              static_cast<unsigned long long>(size));
}

Result<Selected> Selector::select(const std::byte* bytes, size_t available) {
  if (startsWith(bytes, available, kWrapperMagic)) return wrapper(bytes, available);
  if (startsWith(bytes, available, kContainerMagic) || startsWith(bytes, available, kOldContainerMagic))
    return container(bytes, available);
  if (startsWith(bytes, available, kElfMagic)) return cubin(bytes, available);
  return text(bytes, available);
}

Result<Selected> Selector::wrapper(const std::byte* bytes, size_t available) {
  if (available != kUnknownSize)
    return fail(CUDA_ERROR_INVALID_IMAGE, "a fat binary wrapper is only valid within its process");
  VG_CHECK(needs(bytes, sizeof(Wrapper), available, "fat binary wrapper"));
  Wrapper wrapper;
  std::memcpy(&wrapper, bytes, sizeof wrapper);
  if (wrapper.version < 1 || wrapper.version > 2)
    return fail(CUDA_ERROR_INVALID_IMAGE, "fat binary wrapper version %u is not known", wrapper.version);
  if (wrapper.version == 2 && wrapper.prelinked) {
    // What has been linked to native code is whole; PTX has to be linked.
    VG_TRY(const bool linked, holdsNative(wrapper));
    if (linked) return container(wrapper.container, kUnknownSize);
    VG_TRY(Selected selected, relocatable(wrapper));
    if (!selected.ptx.empty()) return selected;
  }
  if (!wrapper.container) return fail(CUDA_ERROR_INVALID_IMAGE, "fat binary wrapper without a container");
  auto selected = container(wrapper.container, kUnknownSize);
  // What the driver says of a wrapper around nothing, though it says NO_BINARY_FOR_GPU of nothing itself.
  if (!selected.ok() && selected.error() == CUDA_ERROR_NO_BINARY_FOR_GPU && emptyContainer(wrapper.container))
    return fail(CUDA_ERROR_INVALID_IMAGE, "fat binary wrapper around an empty container");
  return selected;
}

Result<bool> Selector::holdsNative(const Wrapper& wrapper) {
  if (!options_.native || !wrapper.container) return false;
  VG_TRY(const std::vector<Entry> all, entries(wrapper.container, kUnknownSize));
  return bestNative(all).has_value();
}

// Programs of nvcc -rdc=true carry PTX here only. A container without PTX for this device may be one that the program
// does not need (the device runtime's), so it is left out, and linking says what is missing.
Result<Selected> Selector::relocatable(const Wrapper& wrapper) {
  Selected selected;
  for (size_t i = 0;; ++i) {
    const auto* slot = reinterpret_cast<const std::byte*>(wrapper.prelinked + i);
    VG_CHECK(needs(slot, sizeof(void*), kUnknownSize, "array of relocatable containers"));
    const std::byte* bytes = wrapper.prelinked[i];
    if (!bytes) break;
    if (i == kMaxPrelinked) return fail(CUDA_ERROR_INVALID_IMAGE, "array of relocatable containers has no end");
    VG_TRY(const std::vector<Entry> all, entries(bytes, kUnknownSize));
    const std::optional<Entry> entry = best(all, EntryKind::Ptx);
    if (!entry) {
      VG_LOG(Info, "relocatable container %zu holds no PTX for sm_%u", i, options_.capability);
      continue;
    }
    VG_TRY(std::string ptx, unpack(*entry));
    selected.ptx.push_back(std::move(ptx));
    selected.target = std::max(selected.target, entry->target);
  }
  return selected;
}

Result<std::vector<Entry>> Selector::entries(const std::byte* bytes, size_t available) {
  VG_CHECK(needs(bytes, kContainerHeaderSize, available, "fat binary container header"));
  const uint64_t size = containerSize(bytes, kContainerHeaderSize);
  if (!size) return fail(CUDA_ERROR_INVALID_IMAGE, "fat binary container with an unknown header");
  VG_CHECK(needs(bytes, size, available, "fat binary container"));
  return readContainer(bytes, size);
}

// Of two for the same target: PTX that asks for nothing that only one architecture has; native code made for just it.
bool better(const Entry& one, const Entry& than) {
  if (one.target != than.target) return one.target > than.target;
  return one.kind == EntryKind::Ptx ? than.suffix && !one.suffix : one.suffix && !than.suffix;
}

std::optional<Entry> Selector::best(const std::vector<Entry>& entries, EntryKind kind) {
  std::optional<Entry> chosen;
  const bool ptx = kind == EntryKind::Ptx;
  for (const Entry& entry : entries) {
    if (entry.kind != kind) continue;
    const bool fits = (ptx ? targetFits : nativeTargetFits)(entry.target, entry.suffix, options_.capability);
    note("%s for %s: %s", ptx ? "PTX" : "native code", targetName(entry.target, entry.suffix).c_str(),
         fits ? "fits" : "needs another device");
    if (fits && (!chosen || better(entry, *chosen))) chosen = entry;
  }
  return chosen;
}

std::optional<Entry> Selector::bestNative(const std::vector<Entry>& entries) {
  if (!options_.native || options_.forcePtxJit) return std::nullopt;
  return best(entries, EntryKind::Cubin);
}

std::optional<Selected> Selector::standIn(std::string_view native) {
  StandIns* const all = options_.native ? nullptr : standIns();
  std::optional<StandIn> found = all ? all->find(kernelsOfNative(native), options_.capability) : std::nullopt;
  if (!found) return std::nullopt;
  note("%s stands in for native code", found->path.c_str());
  if (found->missing.empty())
    VG_LOG(Info, "%s stands in for native code", found->path.c_str());
  else
    VG_LOG(Warn, "%s stands in for native code, but lacks %zu of its kernels, %s first", found->path.c_str(),
           found->missing.size(), found->missing.front().c_str());
  Selected selected;
  selected.ptx.push_back(std::move(found->text));
  selected.target = found->target;
  return selected;
}

// All native code of a container is of one source, for several devices.
std::optional<Selected> Selector::standIn(const std::vector<Entry>& entries) {
  if (options_.native || !standIns()) return std::nullopt;
  for (const Entry& entry : entries) {
    if (entry.kind != EntryKind::Cubin) continue;
    const Result<std::string> code = unpack(entry);
    if (!code.ok()) continue;
    if (std::optional<Selected> found = standIn(code.value())) return found;
  }
  return std::nullopt;
}

void Selector::tellNoPtx(const std::vector<Entry>& entries) {
  std::string holds;
  for (const Entry& entry : entries)
    holds += std::string(" ") +
             (entry.kind == EntryKind::Ptx     ? "PTX:"
              : entry.kind == EntryKind::Cubin ? "native:"
                                               : "other:") +
             targetName(entry.target, entry.suffix);
  note("no PTX for sm_%u; the fat binary holds only:%s", options_.capability, holds.c_str());
  // What most programs fail of that fail here, and what libraries do not mind that try one image after another: said
  // once for each.
  const std::string file = fileOf(image_), from = file.empty() ? "a fat binary" : "a fat binary of " + file;
  if (firstOf(file))
    VG_LOG(
        Warn,
        "no PTX for sm_%u; %s holds only:%s. Its kernels cannot run here; %s. VERDIGRIS_LOG=info names the others from "
        "there, too",
        options_.capability, from.c_str(), holds.c_str(), wayOut(file).c_str());
  else
    VG_LOG(Info, "no PTX for sm_%u; %s holds only:%s", options_.capability, from.c_str(), holds.c_str());
}

Result<Selected> Selector::container(const std::byte* bytes, size_t available) {
  image_ = bytes;
  VG_TRY(const std::vector<Entry> all, entries(bytes, available));
  Selected selected;
  if (const std::optional<Entry> native = bestNative(all)) {
    VG_TRY(selected.native, unpack(*native));
    return selected;
  }
  const std::optional<Entry> entry = best(all, EntryKind::Ptx);
  if (!entry) {
    if (std::optional<Selected> found = standIn(all)) return *std::move(found);
    tellNoPtx(all);
    return fail(CUDA_ERROR_NO_BINARY_FOR_GPU, "the fat binary has no code for a device of compute capability %u",
                options_.capability);
  }
  VG_TRY(std::string ptx, unpack(*entry));
  selected.ptx.push_back(std::move(ptx));
  selected.target = entry->target;
  return selected;
}

Result<Selected> Selector::cubin(const std::byte* bytes, size_t available) {
  VG_CHECK(needs(bytes, kElfHeaderSize, available, "cubin header"));
  if (!ElfFile::isCubin(bytes, kElfHeaderSize))
    return fail(CUDA_ERROR_INVALID_IMAGE, "ELF file is not native GPU code");
  VG_TRY(size_t size, ElfFile::headerExtent(bytes));
  VG_CHECK(needs(bytes, size, available, "cubin"));
  VG_TRY(size, ElfFile::extent(bytes, size));
  VG_CHECK(needs(bytes, size, available, "cubin"));
  if (std::optional<Selected> found = standIn(std::string_view(reinterpret_cast<const char*>(bytes), size)))
    return *std::move(found);
  if (!options_.native) {
    note("native code of a real GPU: its kernels cannot be launched here");
    VG_LOG(Info, "native code of a real GPU was loaded: its kernels can be described, not launched");
  }
  Selected selected;
  selected.native.assign(reinterpret_cast<const char*>(bytes), size);
  return selected;
}

Result<Selected> Selector::text(const std::byte* bytes, size_t available) {
  const char* begin = reinterpret_cast<const char*>(bytes);
  const size_t length = available == kUnknownSize ? std::strlen(begin) : strnlen(begin, available);
  // PTX begins with white space, a comment, a directive or a preprocessor's line; anything else is no form we know.
  const char* const first = std::find_if(begin, begin + length, [](char c) { return !std::strchr(" \t\r\n\v\f", c); });
  if (first == begin + length || !std::strchr("./#", *first)) {
    note("the image is neither a fat binary, nor a cubin, nor PTX text");
    return fail(CUDA_ERROR_INVALID_IMAGE, "image is neither a fat binary, nor a cubin, nor PTX text");
  }
  Selected selected;
  selected.ptx.emplace_back(begin, length);
  return selected;
}

}  // namespace

Result<Selected> select(const void* image, size_t size, const SelectOptions& options) {
  if (!image) return fail(CUDA_ERROR_INVALID_VALUE, "image is null");
  VG_TRY(Selected selected, Selector(options).select(static_cast<const std::byte*>(image), size));
  if (options.disablePtxJit && !selected.ptx.empty())
    return fail(CUDA_ERROR_JIT_COMPILATION_DISABLED, "CUDA_DISABLE_PTX_JIT forbids to compile PTX");
  return selected;
}

Result<Selected> selectFile(const std::string& path, const SelectOptions& options) {
  VG_TRY(const std::string bytes, readFile(path));
  return select(bytes.data(), bytes.size(), options);
}

}  // namespace vg::images
