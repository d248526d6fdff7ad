// Calls: the registers and the local memory of each lane, frame by frame, and what passes between them.
#include <algorithm>

#include "ptx/interpreter/interpreter_impl.h"

namespace vg::ptx::interpreter {
namespace {

constexpr size_t kChunkBytes = 16 * 1024;
constexpr size_t kStackLimit = 4 * 1024 * 1024;  // bytes of a lane's registers and local memory

std::byte* aligned(std::byte* memory, size_t alignment) {
  return memory + (-reinterpret_cast<uint64_t>(memory) & (alignment - 1));
}

}  // namespace

std::byte* Warp::reserve(uint32_t lane, size_t bytes, size_t alignment) {
  Lane& l = lanes[lane];
  bytes += std::max(alignment, kAlignment) - kAlignment;
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (bytes > kStackLimit || l.total + bytes > kStackLimit) return nullptr;
  size_t chunk = l.used >> 32, at = l.used & 0xffffffff;
  for (;; ++chunk, at = 0) {
    if (chunk == l.chunks.size()) {
      const size_t size = std::max(kChunkBytes, bytes + kAlignment);
      l.chunks.push_back(std::make_unique<std::byte[]>(size));
      l.chunkSizes.push_back(size);
    }
    const uint64_t base = reinterpret_cast<uint64_t>(l.chunks[chunk].get());
    at = (base + at + kAlignment - 1) / kAlignment * kAlignment - base;
    if (at + bytes <= l.chunkSizes[chunk]) break;
  }
  l.used = chunk << 32 | (at + bytes);
  l.total += bytes;
  std::byte* memory = l.chunks[chunk].get() + at;
  std::memset(memory, 0, bytes);
  return aligned(memory, std::max(alignment, kAlignment));
}

uint64_t Warp::stackDepth(uint32_t lane) const {
  const Lane& l = lanes[lane];
  uint64_t depth = l.used & 0xffffffff;
  for (size_t chunk = 0; chunk < l.used >> 32; ++chunk) depth += l.chunkSizes[chunk];
  return depth;
}

// A depth beyond the present one was never saved here and changes nothing.
void Warp::returnTo(uint32_t lane, uint64_t depth) {
  Lane& l = lanes[lane];
  const uint64_t present = stackDepth(lane);
  if (depth > present) return;
  l.total -= std::min<size_t>(l.total, present - depth);
  size_t chunk = 0;
  for (; depth > l.chunkSizes[chunk]; ++chunk) depth -= l.chunkSizes[chunk];
  l.used = chunk << 32 | depth;
}

void Warp::enter(uint32_t lane, const FunctionCode* target, const CallSite* site, uint32_t resume, const Step& s) {
  Frame frame;
  frame.code = target;
  frame.site = site;
  frame.resume = resume;
  frame.mark = lanes[lane].used;
  frame.total = lanes[lane].total;
  std::byte* memory = reserve(lane, size_t{target->slots} * 8 + target->frameAlignment + target->frameBytes);
  if (!memory) trap(1u << lane, TrapReason::StackOverflow, s);
  frame.registers = reinterpret_cast<uint64_t*>(memory);
  frame.memory = aligned(memory + size_t{target->slots} * 8, target->frameAlignment);
  if (site) {
    for (size_t k = 0; k < site->arguments.size() && k < target->parameters.size(); ++k) {
      const CallSite::Argument& a = site->arguments[k];
      const Formal& formal = target->parameters[k];
      uint64_t value = 0;
      if (a.isFrame && !formal.isRegister) {
        std::memcpy(frame.memory + formal.offset, this->frame(lane).memory + a.offset, std::min(a.size, formal.size));
        continue;
      }
      if (a.isFrame)
        std::memcpy(&value, this->frame(lane).memory + a.offset, std::min(a.size, 8u));
      else
        value = read(lane, a.source);
      if (formal.isRegister)
        frame.registers[formal.target.slot] = value & maskOf(formal.target.bits);
      else
        std::memcpy(frame.memory + formal.offset, &value, std::min(formal.size, 8u));
    }
  }
  lanes[lane].frames.push_back(frame);
  lanes[lane].step = 0;
}

void Warp::leave(uint32_t lane) {
  Lane& l = lanes[lane];
  if (l.frames.size() == 1) return finish(lane);
  const Frame done = l.frames.back();
  l.frames.pop_back();
  for (size_t k = 0; k < done.site->results.size() && k < done.code->returns.size(); ++k) {
    const CallSite::Argument& a = done.site->results[k];
    const Formal& formal = done.code->returns[k];
    uint64_t value = 0;
    if (a.isFrame && !formal.isRegister) {
      std::memcpy(frame(lane).memory + a.offset, done.memory + formal.offset, std::min(a.size, formal.size));
      continue;
    }
    if (formal.isRegister)
      value = done.registers[formal.target.slot];
    else
      std::memcpy(&value, done.memory + formal.offset, std::min(formal.size, 8u));
    if (a.isFrame)
      std::memcpy(frame(lane).memory + a.offset, &value, std::min(a.size, 8u));
    else
      write(lane, a.target, value);
  }
  l.used = done.mark;
  l.total = done.total;
  l.step = done.resume;
}

void Warp::finish(uint32_t lane) {
  lanes[lane].state = State::Done;
  lanes[lane].frames.clear();
  lanes[lane].used = lanes[lane].total = 0;
  if (clusterArrived) arriveCluster(nullptr, 0);
}

void Warp::call(const Step& s, uint32_t mask, uint32_t resume) {
  const CallSite& site = *s.call;
  if (site.systemCall != SystemCall::None) return systemCall(s, site.systemCall, mask);
  eachLane(mask, [&](uint32_t lane) {
    const FunctionCode* target = site.target;
    if (!target) {
      const uint64_t address = read(lane, s.sources[0]), number = (address - kFunctionAddressTag) / 16;
      if (number >= program->functions.size() || address != functionAddress(static_cast<uint32_t>(number)) ||
          !program->functions[number] || program->functions[number]->function->isDeclaration)
        trap(1u << lane, TrapReason::IllegalInstruction, s);
      target = program->functions[number].get();
    }
    enter(lane, target, &site, resume, s);
  });
}

uint64_t Warp::argument(uint32_t lane, const CallSite& site, size_t number) const {
  if (number >= site.arguments.size()) return 0;
  const CallSite::Argument& a = site.arguments[number];
  if (!a.isFrame) return read(lane, a.source);
  uint64_t value = 0;
  std::memcpy(&value, frame(lane).memory + a.offset, std::min(a.size, 8u));
  return value;
}

void Warp::result(uint32_t lane, const CallSite& site, uint64_t value) {
  if (site.results.empty()) return;
  const CallSite::Argument& a = site.results[0];
  if (a.isFrame)
    std::memcpy(frame(lane).memory + a.offset, &value, std::min(a.size, 8u));
  else
    write(lane, a.target, value);
}

void Warp::systemCall(const Step& s, SystemCall which, uint32_t mask) {
  const CallSite& site = *s.call;
  uint64_t words[4][kWarpSize] = {};
  uint32_t lines[kWarpSize] = {};
  noteWhere(kNoLane, s.i);
  eachLane(mask, [&](uint32_t lane) {
    for (size_t k = 0; k < 4; ++k) words[k][lane] = argument(lane, site, k);
    lines[lane] = static_cast<uint32_t>(words[2][lane]);
  });
  switch (which) {
    case SystemCall::Print: {
      int32_t counts[kWarpSize] = {};
      calls().print(block, index, mask, words[0], words[1], counts);
      eachLane(mask, [&](uint32_t lane) { result(lane, site, static_cast<uint32_t>(counts[lane])); });
      break;
    }
    case SystemCall::AssertFail:
      calls().assertFail(block, index, mask, words[0], words[1], lines, words[3]);
      break;
    case SystemCall::Malloc: {
      uint64_t results[kWarpSize] = {};
      calls().allocate(block, index, mask, words[0], results);
      eachLane(mask, [&](uint32_t lane) { result(lane, site, results[lane]); });
      break;
    }
    case SystemCall::Free:
      calls().release(block, index, mask, words[0]);
      break;
    case SystemCall::SetConditional: {
      uint32_t values[kWarpSize] = {};
      eachLane(mask, [&](uint32_t lane) { values[lane] = static_cast<uint32_t>(words[1][lane]); });
      calls().setConditional(block, index, mask, words[0], values);
      break;
    }
    case SystemCall::DeviceRuntime: {
      uint32_t functions[kWarpSize] = {};
      uint64_t results[kWarpSize] = {};
      eachLane(mask, [&](uint32_t lane) { functions[lane] = static_cast<uint32_t>(words[0][lane]); });
      calls().deviceRuntime(block, index, mask, functions, words[1], results);
      eachLane(mask, [&](uint32_t lane) { result(lane, site, results[lane]); });
      break;
    }
    case SystemCall::None:
      break;
  }
}

}  // namespace vg::ptx::interpreter
