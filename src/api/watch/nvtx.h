// What NVTX 3 hands a tool that it loads, as its public headers lay it out: written for this project, the parts that
// are used here. A program's NVTX loads the library that NVTX_INJECTION64_PATH names when it is first used, and calls
// its InitializeInjectionNvtx2 with a function that gives out tables. In them are places of function pointers, which
// the tool fills.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vg::api::nvtx {

using GetExportTable = const void* (*)(uint32_t table);
using Function = void (*)();

constexpr uint32_t kTableOfCallbacks = 1;
struct CallbackTable {
  size_t bytes;
  // The places of one module's functions, and how many there are; 0: there is no such module.
  int (*functions)(int32_t module, Function*** places, unsigned* count);
};

enum Module : int32_t { Core = 1, Cuda = 2, CudaRuntime = 4, Core2 = 5 };

enum CoreFunction : unsigned {
  MarkEx = 1,
  MarkA,
  MarkW,
  RangeStartEx,
  RangeStartA,
  RangeStartW,
  RangeEnd,
  RangePushEx,
  RangePushA,
  RangePushW,
  RangePop,
  NameCategoryA,
  NameCategoryW,
  NameOsThreadA,
  NameOsThreadW,
};
enum CudaFunction : unsigned { NameCuStreamA = 5 };
enum CudaRuntimeFunction : unsigned { NameCudaStreamA = 3 };
enum Core2Function : unsigned {
  DomainMarkEx = 1,
  DomainRangeStartEx,
  DomainRangeEnd,
  DomainRangePushEx,
  DomainRangePop,
  DomainResourceCreate,
  DomainResourceDestroy,
  DomainNameCategoryA,
  DomainNameCategoryW,
  DomainRegisterStringA,
  DomainRegisterStringW,
  DomainCreateA,
  DomainCreateW,
  DomainDestroy,
  Initialize,
};

enum MessageType : int32_t { NoMessage, Ascii, Wide, Registered };
struct Attributes {
  uint16_t version, size;  // size: bytes of this structure that the program knows
  uint32_t category;
  int32_t colorType;  // 1: ARGB
  uint32_t color;
  int32_t payloadType;  // 0: none
  int32_t reserved;
  uint64_t payload;
  int32_t messageType;
  const void* message;  // by type: const char*, const wchar_t*, a string's handle
};
static_assert(sizeof(Attributes) == 48);

}  // namespace vg::api::nvtx
