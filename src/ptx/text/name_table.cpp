#include "ptx/text/name_table.h"

#include "ptx/text/words.h"

namespace vg::ptx {

void NameTable::reset() {
  ++generation_;
  names_.clear();
  declarations_.clear();
  live_.clear();
  scopes_.clear();
  depth_ = 0;
}

void NameTable::closeScope() {
  while (live_.size() > scopes_.back()) {
    const Declaration& d = declarations_[live_.back()];
    names_[d.name].current = d.shadowed;
    live_.pop_back();
  }
  scopes_.pop_back();
  --depth_;
}

size_t NameTable::slotOf(std::string_view name, uint32_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at].generation == generation_) {
    const Name& found = names_[slots_[at].name];
    if (found.hash == hash && found.text == name) break;
    at = (at + 1) & mask;
  }
  return at;
}

void NameTable::grow() {
  slots_.assign(slots_.empty() ? 1024 : slots_.size() * 2, {});
  generation_ = 1;
  const size_t mask = slots_.size() - 1;
  for (uint32_t i = 0; i < names_.size(); ++i) {
    size_t at = names_[i].hash & mask;
    while (slots_[at].generation == generation_) at = (at + 1) & mask;
    slots_[at] = {generation_, i};
  }
}

uint32_t NameTable::intern(std::string_view name) {
  if (names_.size() * 2 >= slots_.size()) grow();
  const uint32_t hash = hashOf(name);
  Slot& slot = slots_[slotOf(name, hash)];
  if (slot.generation != generation_) {
    slot = {generation_, static_cast<uint32_t>(names_.size())};
    names_.push_back({name, hash, -1});
  }
  return slot.name;
}

Declaration* NameTable::find(std::string_view name) {
  if (names_.empty()) return nullptr;
  const Slot& slot = slots_[slotOf(name, hashOf(name))];
  return slot.generation == generation_ ? find(slot.name) : nullptr;
}

bool NameTable::declare(std::string_view name, Declaration declaration) {
  declaration.name = intern(name);
  declaration.depth = depth_;
  declaration.shadowed = names_[declaration.name].current;
  if (declaration.shadowed >= 0 && declarations_[declaration.shadowed].depth == depth_) return false;
  names_[declaration.name].current = static_cast<int64_t>(declarations_.size());
  live_.push_back(static_cast<uint32_t>(declarations_.size()));
  declarations_.push_back(declaration);
  return true;
}

void RegisterNumbers::reset() {
  ++generation_;
  used_ = 0;
}

void RegisterNumbers::grow() {
  std::vector<Slot> old(slots_.empty() ? 1024 : slots_.size() * 2);
  old.swap(slots_);
  const uint32_t generation = generation_;
  generation_ = 1;
  used_ = 0;
  for (const Slot& slot : old)
    if (slot.generation == generation)
      at(static_cast<uint32_t>(slot.key >> 32), static_cast<uint32_t>(slot.key)) = slot.value;
}

uint32_t& RegisterNumbers::at(uint32_t range, uint32_t number) {
  if (used_ * 2 >= slots_.size()) grow();
  const uint64_t key = static_cast<uint64_t>(range) << 32 | number;
  const size_t mask = slots_.size() - 1;
  size_t at = (key * 0x9E3779B97F4A7C15ull >> 32) & mask;
  while (slots_[at].generation == generation_ && slots_[at].key != key) at = (at + 1) & mask;
  if (slots_[at].generation != generation_) {
    slots_[at] = {key, generation_, UINT32_MAX};
    ++used_;
  }
  return slots_[at].value;
}

}  // namespace vg::ptx
