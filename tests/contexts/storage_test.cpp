// The storage that libraries keep in contexts, and the other export tables that cuBLAS and cuFFT use.
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

namespace {

constexpr unsigned char kStorage[16] = {0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11,
                                        0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95, 0x93};
constexpr unsigned char kIdentity[16] = {0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48,
                                         0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8, 0xf2};
constexpr unsigned char kFunctions[16] = {0x6e, 0x16, 0x3f, 0xbe, 0xb9, 0x58, 0x44, 0x4d,
                                          0x83, 0x5c, 0xe1, 0x82, 0xaf, 0xf1, 0x99, 0x1e};

void* const* table(const unsigned char* bytes) {
  CUuuid id;
  std::memcpy(&id, bytes, sizeof id);
  const void* found = nullptr;
  EXPECT_EQ(cuGetExportTable(&found, &id), CUDA_SUCCESS);
  return static_cast<void* const*>(found);
}

struct Storage {
  using Destructor = void (*)(CUcontext, void*, void*);
  CUresult (*put)(CUcontext, void*, void*, Destructor);
  CUresult (*remove)(CUcontext, void*);
  CUresult (*get)(void**, CUcontext, void*);
};

class LocalStorage : public PrimaryTest {
 protected:
  void SetUp() override {
    PrimaryTest::SetUp();
    storage = reinterpret_cast<const Storage*>(table(kStorage));
  }
  const Storage* storage = nullptr;
};

thread_local int destroyed = 0;
void countDestroyed(CUcontext, void*, void*) { ++destroyed; }

TEST_F(LocalStorage, KeepsManyKeysAndReplacesValues) {
  std::vector<char> keys(100);
  void* value = nullptr;
  for (char& key : keys) OK(storage->put(primary, &key, &key + 1, countDestroyed));
  for (char& key : keys) {
    OK(storage->get(&value, nullptr, &key));
    EXPECT_EQ(value, &key + 1);
  }
  OK(storage->put(nullptr, &keys[50], nullptr, nullptr));
  OK(storage->get(&value, primary, &keys[50]));
  EXPECT_EQ(value, nullptr);
  OK(storage->remove(primary, &keys[7]));
  EXPECT_EQ(storage->remove(primary, &keys[7]), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(storage->get(&value, primary, &keys[7]), CUDA_ERROR_INVALID_HANDLE);
  destroyed = 0;
  OK(cuDevicePrimaryCtxReset(0));
  EXPECT_EQ(destroyed, 98);  // not the removed one, nor the one without a destructor
  for (char& key : keys) EXPECT_EQ(storage->get(&value, primary, &key), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_NE(storage->put(primary, &keys[0], nullptr, countDestroyed), CUDA_SUCCESS);  // nobody retains it
}

TEST_F(LocalStorage, BelongsToOneContextAndEndsWithIt) {
  char key = 0;
  void* value = nullptr;
  CUcontext created = nullptr;
  OK(storage->put(primary, &key, &key, nullptr));
  OK(cuCtxCreate(&created, nullptr, 0, 0));
  EXPECT_EQ(storage->get(&value, nullptr, &key), CUDA_ERROR_INVALID_HANDLE);
  OK(storage->put(nullptr, &key, primary, countDestroyed));
  OK(storage->get(&value, nullptr, &key));
  EXPECT_EQ(value, primary);
  destroyed = 0;
  OK(cuCtxDestroy(created));
  EXPECT_EQ(destroyed, 1);
  OK(storage->get(&value, nullptr, &key));
  EXPECT_EQ(value, &key);
  OK(storage->remove(nullptr, &key));
}

TEST_F(LocalStorage, WithoutAContextSaysSo) {
  char key = 0;
  void* value = nullptr;
  std::thread([&] {
    EXPECT_EQ(storage->get(&value, nullptr, &key), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(storage->put(nullptr, &key, &key, nullptr), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(storage->remove(nullptr, &key), CUDA_ERROR_INVALID_CONTEXT);
  }).join();
  EXPECT_EQ(storage->get(&value, reinterpret_cast<CUcontext>(&key), &key), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(LocalStorage, IsReadWhileOthersWrite) {
  char keys[64];
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 2000; ++round) {
        char* key = &keys[i * 16 + round % 16];
        void* value = nullptr;
        EXPECT_EQ(storage->put(primary, key, key, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(storage->get(&value, primary, key), CUDA_SUCCESS);
        EXPECT_EQ(value, key);
        EXPECT_EQ(storage->remove(primary, key), CUDA_SUCCESS);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

class ExportTables : public PrimaryTest {};

TEST_F(ExportTables, UnknownOnesAreRefused) {
  CUuuid id{};
  const void* found = &id;
  EXPECT_NE(cuGetExportTable(&found, &id), CUDA_SUCCESS);
  EXPECT_EQ(found, &id);
  EXPECT_EQ(cuGetExportTable(nullptr, &id), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGetExportTable(&found, nullptr), CUDA_ERROR_INVALID_VALUE);
}

// What NVIDIA's library for profilers does before it uses up its stack.
TEST_F(ExportTables, WhoeverLoadsTheVendorsProfilersIsToldOnce) {
  const CUuuid id = {{0x7c, static_cast<char>(0xb6), 0x3f, static_cast<char>(0x9b), static_cast<char>(0x9c),
                      static_cast<char>(0xa4), static_cast<char>(0x8e), 0x42, static_cast<char>(0xa4),
                      static_cast<char>(0x84), static_cast<char>(0xbe), static_cast<char>(0xb6), 0x6e, 0x6a,
                      static_cast<char>(0xed), 0x7f}};
  const auto ask = [&] {
    const void* found = nullptr;
    for (int i = 0; i < 3; ++i)
      if (cuGetExportTable(&found, &id) != CUDA_ERROR_INVALID_VALUE) std::_Exit(1);
    std::_Exit(0);
  };
  EXPECT_EXIT(ask(), testing::ExitedWithCode(0), "^[^\n]*libcupti\\.so\\.13[^\n]*\n$");
}

// The tables that the CUDA runtime and libraries fetch, as tools print their names, and the last function each calls.
struct Wanted {
  const char* id;
  size_t position;
};
class WantedTables : public PrimaryTest, public testing::WithParamInterface<Wanted> {};

TEST_P(WantedTables, IsThere) {
  std::string digits = GetParam().id;
  std::erase(digits, '-');
  unsigned char id[16];
  for (size_t i = 0; i < sizeof id; ++i)
    id[i] = static_cast<unsigned char>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  void* const* const found = table(id);
  ASSERT_NE(found, nullptr);
  const bool counted = digits.substr(0, 8) != "c693336e";  // context-local storage has no size
  if (counted) {
    EXPECT_GT(reinterpret_cast<size_t>(found[0]), GetParam().position * sizeof(void*));
  }
  EXPECT_NE(found[GetParam().position], nullptr);
}

INSTANTIATE_TEST_SUITE_P(Libraries, WantedTables,
                         testing::Values(Wanted{"6bd5fb6c-5bf4-e74a-8987-d93912fd9df9", 2},
                                         Wanted{"a094798c-2e74-2e74-93f2-0800200c0a66", 6},
                                         Wanted{"42d85a81-23f6-cb47-8298-f6e78a3aecdc", 2},
                                         Wanted{"c693336e-1121-df11-a8c3-68f355d89593", 2},
                                         Wanted{"263e8860-7cd2-6143-92f6-bbd5006dfa7e", 3},
                                         Wanted{"d4082055-bde6-704b-8d34-ba123c66e1f2", 1},
                                         Wanted{"f8cff951-2146-8b4e-b9e2-fb469e7c0dd9", 1},
                                         Wanted{"21318c60-9714-3248-8ca6-41ff7324c8f2", 51},
                                         Wanted{"6e163fbe-b958-444d-835c-e182aff1991e", 7},
                                         Wanted{"1734dc26-800d-4745-8726-c0f1e7dd8bca", 4}));

TEST_F(ExportTables, NumberContextsAndStreams) {
  void* const* identity = table(kIdentity);
  const auto contextId = reinterpret_cast<CUresult (*)(CUcontext, uint64_t*)>(identity[4]);
  const auto streamId = reinterpret_cast<CUresult (*)(CUcontext, void*, uint64_t*)>(identity[39]);
  const auto streamObject = reinterpret_cast<CUresult (*)(CUcontext, CUstream, void**, int)>(identity[51]);
  uint64_t context = 0, legacy = 0, created = 0;
  unsigned long long known = 0;
  CUstream stream = nullptr;
  void* object = nullptr;
  OK(contextId(primary, &context));
  OK(cuCtxGetId(primary, &known));
  EXPECT_EQ(context, known);
  OK(cuStreamCreate(&stream, 0));
  OK(streamObject(primary, nullptr, &object, 0));
  OK(streamId(primary, object, &legacy));
  OK(streamObject(primary, stream, &object, 0));
  OK(streamId(primary, object, &created));
  EXPECT_NE(legacy, created);
  OK(cuStreamGetId(stream, &known));
  EXPECT_EQ(created, known);
  OK(cuStreamDestroy(stream));
  EXPECT_EQ(streamId(primary, object, &created), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ExportTables, CountTheKernelsOfAModule) {
  constexpr char kText[] =
      ".version 7.0\n.target sm_50\n.address_size 64\n"
      ".visible .entry one() { ret; }\n.visible .entry two() { ret; }\n";
  const auto visit =
      reinterpret_cast<int (*)(CUcontext, CUmodule, void (*)(void*, CUfunction), void*)>(table(kFunctions)[7]);
  CUmodule module = nullptr;
  OK(cuModuleLoadData(&module, kText));
  std::vector<CUfunction> found;
  const int count = visit(
      primary, module, [](void* user, CUfunction f) { static_cast<std::vector<CUfunction>*>(user)->push_back(f); },
      &found);
  EXPECT_EQ(count, 2);
  ASSERT_EQ(found.size(), 2u);
  const char* name = nullptr;
  OK(cuFuncGetName(&name, found[0]));
  EXPECT_TRUE(name == std::string("one") || name == std::string("two"));
  OK(cuModuleUnload(module));
  EXPECT_EQ(visit(primary, module, nullptr, nullptr), 0);
}

}  // namespace
