// Virtual memory against a model, under misuse, and when the system has nothing left.
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "device_test.h"

namespace {

constexpr size_t kGranule = size_t{2} << 20;
using Handle = CUmemGenericAllocationHandle;

class VirtualMemoryTest : public DeviceTest {
 protected:
  CUmemAllocationProp properties(CUmemAllocationHandleType types = CU_MEM_HANDLE_TYPE_NONE, int owner = 0) const {
    CUmemAllocationProp asked{};
    asked.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    asked.location = {CU_MEM_LOCATION_TYPE_DEVICE, owner};
    asked.requestedHandleTypes = types;
    return asked;
  }
  Handle create(size_t bytes, CUmemAllocationHandleType types = CU_MEM_HANDLE_TYPE_NONE) const {
    const CUmemAllocationProp asked = properties(types);
    Handle made = 0;
    EXPECT_OK(cuMemCreate(&made, bytes, &asked, 0));
    return made;
  }
  static CUresult allow(CUdeviceptr start, size_t bytes, int flags = 3, int owner = 0) {
    const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, owner}, static_cast<CUmemAccess_flags>(flags)};
    return cuMemSetAccess(start, bytes, &access, 1);
  }
  static CUdeviceptr reserve(size_t bytes) {
    CUdeviceptr start = 0;
    EXPECT_OK(cuMemAddressReserve(&start, bytes, 0, 0, 0));
    return start;
  }
  static size_t freeMemory() {
    size_t free = 0, total = 0;
    EXPECT_OK(cuMemGetInfo(&free, &total));
    return free;
  }
};

// Allocations of 1 to 3 granules with a word at the start of each granule, mapped at random places of one reservation.
class Model {
 public:
  static constexpr unsigned kPlaces = 24, kAllocations = 8;

  struct Allocation {
    Handle handle = 0;
    unsigned granules = 0, mappings = 0;
    bool held = false;            // cuMemRelease is still owed
    std::vector<uint32_t> words;  // 0: never written
  };
  struct Mapping {
    int allocation;
    unsigned flags = 0;
  };
  std::map<unsigned, Mapping> mappings;  // by first place
  Allocation allocations[kAllocations];

  const std::pair<const unsigned, Mapping>* at(unsigned place) const {
    auto mapping = mappings.upper_bound(place);
    if (mapping == mappings.begin()) return nullptr;
    --mapping;
    return mapping->first + allocations[mapping->second.allocation].granules > place ? &*mapping : nullptr;
  }
  bool free(unsigned place, unsigned count) const {
    for (unsigned i = place; i < place + count; ++i)
      if (at(i)) return false;
    return true;
  }
  size_t used() const {
    size_t granules = 0;
    for (const Allocation& one : allocations)
      if (one.held || one.mappings) granules += one.granules;
    return granules * kGranule;
  }
};

TEST_F(VirtualMemoryTest, RandomSequencesBehaveLikeTheModel) {
  std::mt19937 random(11);
  const CUdeviceptr start = reserve(Model::kPlaces * kGranule);
  const size_t before = freeMemory();
  Model model;
  uint32_t stamp = 0;
  for (int step = 0; step < 20000; ++step) {
    const unsigned which = random() % Model::kAllocations, place = random() % Model::kPlaces;
    Model::Allocation& one = model.allocations[which];
    const CUdeviceptr address = start + place * kGranule;
    switch (random() % 8) {
      case 0:  // create
        if (one.held || one.mappings) break;
        one = {0, 1 + static_cast<unsigned>(random() % 3), 0, true, {}};
        one.words.resize(one.granules);
        one.handle = create(one.granules * kGranule,
                            random() % 2 ? CU_MEM_HANDLE_TYPE_NONE : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        break;
      case 1:  // release
        if (random() % 4) break;
        if (one.handle) {
          ASSERT_EQ(cuMemRelease(one.handle), one.held ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE) << step;
        }
        one.held = false;
        break;
      case 2: {  // map
        if (!one.held && !one.mappings) break;
        const bool fits = place + one.granules <= Model::kPlaces && model.free(place, one.granules);
        ASSERT_EQ(cuMemMap(address, one.granules * kGranule, 0, one.handle, 0),
                  fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE)
            << step;
        if (!fits) break;
        model.mappings[place] = {static_cast<int>(which), 0};
        ++one.mappings;
        break;
      }
      case 3: {  // unmap
        const unsigned count = 1 + random() % 4;
        if (place + count > Model::kPlaces) break;
        const auto *first = model.at(place), *last = model.at(place + count - 1);
        const bool cut = (first && first->first < place) ||
                         (last && last->first + model.allocations[last->second.allocation].granules > place + count);
        ASSERT_EQ(cuMemUnmap(address, count * kGranule), cut ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS) << step;
        for (unsigned i = place; !cut && i < place + count; ++i)
          if (const auto found = model.mappings.find(i); found != model.mappings.end()) {
            --model.allocations[found->second.allocation].mappings;
            model.mappings.erase(found);
          }
        break;
      }
      case 4: {  // access
        const auto* mapping = model.at(place);
        if (!mapping) {
          ASSERT_EQ(allow(address, kGranule), CUDA_ERROR_INVALID_VALUE);
          break;
        }
        const unsigned flags[] = {0, 1, 3, 3}, wanted = flags[random() % 4];
        ASSERT_OK(allow(start + mapping->first * kGranule,
                        model.allocations[mapping->second.allocation].granules * kGranule, static_cast<int>(wanted)));
        model.mappings[mapping->first].flags = wanted;
        break;
      }
      case 5: {  // write
        const auto* mapping = model.at(place);
        const uint32_t word = ++stamp;
        const bool allowed = mapping && mapping->second.flags == 3;
        ASSERT_EQ(cuMemcpyHtoD(address, &word, 4), allowed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE) << step;
        if (allowed) model.allocations[mapping->second.allocation].words[place - mapping->first] = word;
        break;
      }
      case 6: {  // read
        const auto* mapping = model.at(place);
        const bool allowed = mapping && mapping->second.flags;
        uint32_t word = 0;
        ASSERT_EQ(cuMemcpyDtoH(&word, address, 4), allowed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE) << step;
        if (!allowed) break;
        const uint32_t expected = model.allocations[mapping->second.allocation].words[place - mapping->first];
        if (expected) {
          ASSERT_EQ(word, expected) << step;
        }
        break;
      }
      default:
        ASSERT_EQ(before - freeMemory(), model.used()) << step;
    }
  }
  EXPECT_OK(cuMemUnmap(start, Model::kPlaces * kGranule));
  for (Model::Allocation& one : model.allocations)
    if (one.held) {
      EXPECT_OK(cuMemRelease(one.handle));
    }
  EXPECT_OK(cuMemAddressFree(start, Model::kPlaces * kGranule));
  EXPECT_EQ(freeMemory(), before);
}

TEST_F(VirtualMemoryTest, GarbageHandlesAndAddressesAreRefused) {
  std::mt19937_64 random(5);
  const Handle live = create(kGranule);
  const CUdeviceptr start = reserve(kGranule);
  CUmemAllocationProp asked{};
  int descriptor = -1;
  for (int i = 0; i < 2000; ++i) {
    Handle handle = random() >> random() % 60;
    if (i % 3 == 0) handle = live + 1 + random() % 4096;
    if (handle == live) continue;
    EXPECT_INVALID(cuMemRelease(handle));
    EXPECT_INVALID(cuMemMap(start, kGranule, 0, handle, 0));
    EXPECT_INVALID(cuMemGetAllocationPropertiesFromHandle(&asked, handle));
    EXPECT_INVALID(cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    const CUdeviceptr address = random() >> random() % 60;
    EXPECT_NE(cuMemUnmap(address, random() >> random() % 60), CUDA_SUCCESS);
    EXPECT_INVALID(cuMemAddressFree(address, kGranule));
    EXPECT_NE(allow(address, random() >> random() % 60), CUDA_SUCCESS);
    Handle retained;
    EXPECT_INVALID(cuMemRetainAllocationHandle(&retained, reinterpret_cast<void*>(address)));
    EXPECT_INVALID(cuDestroyExternalMemory(reinterpret_cast<CUexternalMemory>(address)));
  }
  EXPECT_OK(cuMemRelease(live));
  EXPECT_INVALID(cuMemRelease(live));
  EXPECT_OK(cuMemAddressFree(start, kGranule));
}

// What allocators keep for reuse does not stand in the way of it.
// As an H200 answers.
TEST_F(VirtualMemoryTest, MemoryForSparseArraysIsNotExported) {
  Handle handle = 0;
  CUmemAllocationProp asked = properties(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  asked.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
  EXPECT_EQ(cuMemCreate(&handle, size_t{2} << 20, &asked, 0), CUDA_ERROR_INVALID_VALUE);
  asked.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
  asked.allocFlags.gpuDirectRDMACapable = 2;
  ASSERT_EQ(cuMemCreate(&handle, size_t{2} << 20, &asked, 0), CUDA_SUCCESS);
  CUmemAllocationProp told{};
  EXPECT_EQ(cuMemGetAllocationPropertiesFromHandle(&told, handle), CUDA_SUCCESS);
  EXPECT_EQ(told.allocFlags.gpuDirectRDMACapable, 1);
  EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
}

TEST_F(VirtualMemoryTest, TakesWhatWasFreedBefore) {
  size_t free = 0, total = 0;
  ASSERT_EQ(cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  const size_t most = free / 16 * 15 / kGranule * kGranule, piece = most / 8 / kGranule * kGranule;
  for (int round = 0; round < 2; ++round) {
    std::vector<CUdeviceptr> pieces(8);
    for (CUdeviceptr& one : pieces) ASSERT_EQ(cuMemAlloc(&one, piece), CUDA_SUCCESS);
    for (const CUdeviceptr one : pieces) ASSERT_EQ(cuMemFree(one), CUDA_SUCCESS);
    CUmemGenericAllocationHandle made = 0;
    const CUmemAllocationProp asked = properties();
    ASSERT_EQ(cuMemCreate(&made, most, &asked, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuMemRelease(made), CUDA_SUCCESS);
  }
}

TEST_F(VirtualMemoryTest, WithoutDescriptorsNothingIsLeftBehind) {
  const CUmemAllocationHandleType shared = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const Handle first = create(kGranule, shared);
  const size_t before = freeMemory();
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const int next = dup(0);
  close(next);
  const rlimit none{static_cast<rlim_t>(next), limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const CUmemAllocationProp asked = properties(shared);
  Handle made = 0;
  int descriptor = -1;
  EXPECT_EQ(cuMemCreate(&made, kGranule, &asked, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemExportToShareableHandle(&descriptor, first, shared, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(freeMemory(), before);
  const Handle unshared = create(kGranule);  // needs no descriptor of its own
  EXPECT_OK(cuMemRelease(unshared));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_OK(cuMemExportToShareableHandle(&descriptor, first, shared, 0));
  close(descriptor);
  EXPECT_OK(cuMemRelease(first));
}

TEST_F(VirtualMemoryTest, TheDevicesMemoryIsTheLimit) {
  const size_t before = freeMemory();
  const CUmemAllocationProp asked = properties();
  std::vector<Handle> handles;
  Handle made = 0;
  CUresult result;
  while ((result = cuMemCreate(&made, 64 * kGranule, &asked, 0)) == CUDA_SUCCESS) handles.push_back(made);
  EXPECT_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(handles.size(), before / (64 * kGranule));
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAlloc(&address, 64 * kGranule), CUDA_ERROR_OUT_OF_MEMORY) << "one account";
  for (Handle handle : handles) EXPECT_OK(cuMemRelease(handle));
  EXPECT_EQ(freeMemory(), before);
}

TEST_F(VirtualMemoryTest, WorkThatWasQueuedMayFinishOnWhatIsUnmapped) {
  const CUdeviceptr start = reserve(kGranule), target = allocate(kGranule);
  const Handle memory = create(kGranule);
  ASSERT_OK(cuMemMap(start, kGranule, 0, memory, 0));
  ASSERT_OK(allow(start, kGranule));
  ASSERT_OK(cuMemsetD8(start, 7, kGranule));
  CUstream stream;
  ASSERT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  std::atomic<bool> go{false};
  ASSERT_OK(cuLaunchHostFunc(
      stream,
      [](void* flag) {
        while (!*static_cast<std::atomic<bool>*>(flag)) std::this_thread::yield();
      },
      &go));
  ASSERT_OK(cuMemcpyDtoDAsync(target, start, kGranule, stream));
  EXPECT_OK(allow(start, kGranule, 0));
  EXPECT_OK(cuMemUnmap(start, kGranule));
  uint8_t byte;
  EXPECT_INVALID(cuMemcpyDtoH(&byte, start, 1)) << "new work is refused at once";
  go = true;
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(read(target, kGranule), std::vector<uint8_t>(kGranule, 7));
  EXPECT_OK(cuStreamDestroy(stream));
  EXPECT_OK(cuMemRelease(memory));
  EXPECT_OK(cuMemAddressFree(start, kGranule));
}

TEST_F(VirtualMemoryTest, AccessIsKeptForEachDevice) {
  int count = 0;
  ASSERT_OK(cuDeviceGetCount(&count));
  if (count < 2) GTEST_SKIP() << "one device";
  const CUdeviceptr start = reserve(kGranule);
  const Handle memory = create(kGranule);
  ASSERT_OK(cuMemMap(start, kGranule, 0, memory, 0));
  ASSERT_OK(allow(start, kGranule, 1, 1));
  const CUmemLocation here{CU_MEM_LOCATION_TYPE_DEVICE, 0}, there{CU_MEM_LOCATION_TYPE_DEVICE, 1};
  unsigned long long flags = 9;
  EXPECT_OK(cuMemGetAccess(&flags, &here, start));
  EXPECT_EQ(flags, 0u);
  EXPECT_OK(cuMemGetAccess(&flags, &there, start));
  EXPECT_EQ(flags, 1u);
  EXPECT_EQ(attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, start), 0);
  EXPECT_OK(cuMemUnmap(start, kGranule));
  EXPECT_OK(cuMemRelease(memory));
  EXPECT_OK(cuMemAddressFree(start, kGranule));
}

TEST_F(VirtualMemoryTest, MemoryFilesOfOtherLibrariesAreExternalMemory) {
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC description{};
  description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  description.handle.fd = memfd_create("another library", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(description.handle.fd, 1 << 20), 0);
  ASSERT_EQ(pwrite(description.handle.fd, "hello", 5, 70000), 5);
  description.size = 1 << 20;
  CUexternalMemory external = nullptr;
  ASSERT_OK(cuImportExternalMemory(&external, &description));
  EXPECT_NE(ftruncate(description.handle.fd, 0), 0) << "closed, and sealed besides";
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC part{};
  part.offset = 69990;  // no multiple of a page
  part.size = 1000;
  CUdeviceptr buffer = 0;
  ASSERT_OK(cuExternalMemoryGetMappedBuffer(&buffer, external, &part));
  EXPECT_EQ(read(buffer + 10, 5), (std::vector<uint8_t>{'h', 'e', 'l', 'l', 'o'}));
  uint8_t bytes[8];
  EXPECT_INVALID(cuMemcpyDtoH(bytes, buffer + 996, 8));
  EXPECT_OK(cuMemFree(buffer));
  EXPECT_OK(cuDestroyExternalMemory(external));
  EXPECT_INVALID(cuDestroyExternalMemory(external));
}

TEST_F(VirtualMemoryTest, ExternalMemoryThatMayShrinkIsRefused) {
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC description{};
  description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  description.handle.fd = memfd_create("another library", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(description.handle.fd, 1 << 20), 0);
  description.size = 1 << 20;
  CUexternalMemory external = nullptr;
  EXPECT_EQ(cuImportExternalMemory(&external, &description), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(close(description.handle.fd), 0) << "still the caller's";
}

TEST_F(VirtualMemoryTest, ThreadsMapAndUnmapBesideEachOther) {
  const CUdeviceptr start = reserve(4 * kGranule);
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      if (cuCtxSetCurrent(context)) ++failures;
      const CUdeviceptr mine = start + t * kGranule;
      const CUmemAllocationProp asked = properties();
      for (uint32_t i = 1; i < 500; ++i) {
        Handle memory = 0;
        uint32_t word = 0;
        failures += cuMemCreate(&memory, kGranule, &asked, 0) != CUDA_SUCCESS;
        failures += cuMemMap(mine, kGranule, 0, memory, 0) != CUDA_SUCCESS;
        failures += allow(mine, kGranule) != CUDA_SUCCESS;
        failures += cuMemcpyHtoD(mine + 8, &i, 4) != CUDA_SUCCESS;
        failures += cuMemcpyDtoH(&word, mine + 8, 4) != CUDA_SUCCESS || word != i;
        failures += cuMemRelease(memory) != CUDA_SUCCESS;
        failures += cuMemUnmap(mine, kGranule) != CUDA_SUCCESS;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_OK(cuMemAddressFree(start, 4 * kGranule));
}

}  // namespace
