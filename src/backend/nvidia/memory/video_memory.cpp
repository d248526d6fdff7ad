#include "backend/nvidia/memory/video_memory.h"

#include <cstring>

namespace vg::backend::nvidia {
namespace {

// Memory with a label says that; a part of an object says which. Counted in pages of 64 KiB.
struct Note {
  static constexpr uint32_t kLabelled = 0x4c566756, kPart = 0x50566756;
  uint32_t magic;
  uint32_t objectPages;
  union {
    char label[alloc::kMostLabel + 1];
    struct {
      uint32_t first, pages;
    } part;
  };
};
static_assert(sizeof(Note) <= sizeof(ExportNote));

Note read(const ExportNote& bytes) {
  Note note;
  std::memcpy(&note, bytes.bytes, sizeof note);
  return note;
}

uint32_t pagesOf(size_t bytes) { return static_cast<uint32_t>(bytes / kBigPage); }

// Whether what another process wrote makes sense.
bool holds(const Note& note) {
  if (note.magic == Note::kLabelled) return note.objectPages && std::memchr(note.label, 0, sizeof note.label);
  return note.magic == Note::kPart && note.part.pages && note.part.first <= note.objectPages &&
         note.part.pages <= note.objectPages - note.part.first;
}

}  // namespace

Result<alloc::PhysicalRef> VideoMemory::import(Gpu& gpu, VideoMappings& mappings, int descriptor) {
  VG_TRY(const ExportNote bytes, exportNote(gpu, descriptor));
  const Note note = read(bytes);
  if (!holds(note))
    return fail(CUDA_ERROR_INVALID_VALUE, "descriptor %d is memory that this library did not export", descriptor);
  const size_t size = note.objectPages * kBigPage;
  VG_TRY(std::shared_ptr<const MemoryObject> object, importObject(gpu, descriptor, size));
  const bool whole = note.magic == Note::kLabelled;
  Part part{std::move(object), whole ? 0 : note.part.first * kBigPage, whole ? size : note.part.pages * kBigPage};
  return alloc::PhysicalRef(std::make_shared<const VideoMemory>(mappings, std::move(part), alloc::Sharing::Shareable,
                                                                whole ? note.label : ""));
}

std::string VideoMemory::labelOf(Gpu& gpu, int descriptor) {
  const Result<ExportNote> bytes = exportNote(gpu, descriptor);
  if (!bytes.ok()) return "";
  const Note note = read(bytes.value());
  return holds(note) && note.magic == Note::kLabelled ? note.label : "";
}

CUresult VideoMemory::map(std::byte* address, size_t offset, size_t bytes, alloc::Protection protection) const {
  return mappings_.map(address, part_.object, part_.offset + offset, bytes, protection == alloc::Protection::None);
}

// The GPU's largest page that fits.
size_t VideoMemory::pageBytes() const { return (part_.offset | part_.bytes) % kHugePage ? kBigPage : kHugePage; }

Result<int> VideoMemory::duplicate() const {
  Note note{};
  note.objectPages = pagesOf(part_.object->bytes());
  if (!label_.empty()) {
    note.magic = Note::kLabelled;
    std::strncpy(note.label, label_.c_str(), sizeof note.label - 1);
  } else {
    note.magic = Note::kPart;
    note.part = {pagesOf(part_.offset), pagesOf(part_.bytes)};
  }
  ExportNote bytes;
  std::memcpy(bytes.bytes, &note, sizeof note);
  return exportObject(part_.object->gpu(), *part_.object, bytes);
}

Result<int> VideoMemory::dmaBuf(const std::vector<PhysicalMemory::Part>& parts) const {
  std::vector<ObjectPart> objects;
  for (const PhysicalMemory::Part& part : parts) {
    const Part& video = static_cast<const VideoMemory&>(*part.memory).part_;
    objects.push_back({video.object.get(), video.offset + part.offset, part.bytes});
  }
  return exportDmaBuf(part_.object->gpu(), objects);
}

}  // namespace vg::backend::nvidia
