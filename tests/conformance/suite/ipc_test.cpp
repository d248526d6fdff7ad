// Memory and events between processes. Each test is the importer; the exporter is a peer process.
#include <cstring>

#include "peer_process.h"
#include "suite.h"

namespace {

constexpr size_t kBytes = size_t{3} << 20;
constexpr unsigned kFlag = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
constexpr unsigned kShared = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;

CUdeviceptr filled(size_t bytes, unsigned value) {
  CUdeviceptr address = 0;
  REQUIRE(cuMemAlloc(&address, bytes));
  REQUIRE(cuMemsetD32(address, value, bytes / 4));
  REQUIRE(cuCtxSynchronize());
  return address;
}
uint32_t wordAt(CUdeviceptr address) {
  uint32_t word = 0;
  REQUIRE(cuMemcpyDtoH(&word, address, sizeof word));
  return word;
}
CUipcMemHandle handleOf(CUdeviceptr address) {
  CUipcMemHandle handle;
  REQUIRE(cuIpcGetMemHandle(&handle, address));
  return handle;
}
CUdeviceptr opened(const CUipcMemHandle& handle) {
  CUdeviceptr address = 0;
  REQUIRE(cuIpcOpenMemHandle(&address, handle, kFlag));
  return address;
}
bool equal(const CUipcMemHandle& a, const CUipcMemHandle& b) { return !std::memcmp(&a, &b, sizeof a); }

// Exports one allocation and lives until told.
void exportOne(const Link& link) {
  startDriver();
  link.send(handleOf(filled(kBytes, 41)));
  link.await();
}

TEST(IpcIsolated, AnotherProcessReadsAndWritesTheSameBytes) {
  PROVES("IPCGETMEM-001", "IPCOPENMEM-001", "IPCOPENMEM-011", "IPCGETMEM-007", "IPCGETMEM-008", "IPCGETMEM-010",
         "IPCOPENMEM-012", "IPCOPENMEM-013", "IPCOPENMEM-015", "IPCCLOSEMEM-007", "IPCCLOSEMEM-008", "IPCCLOSEMEM-010");
  const PeerProcess exporter([](const Link& link) {
    startDriver();
    const CUdeviceptr memory = filled(kBytes, 41);
    link.send(handleOf(memory));
    link.await();
    link.send(wordAt(memory + kBytes - 4));
  });
  startDriver();
  int unified = 0, ipc = 0;
  EXPECT_EQ(cuDeviceGetAttribute(&unified, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuDeviceGetAttribute(&ipc, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 0), CUDA_SUCCESS);
  EXPECT_EQ(unified, 1);
  EXPECT_EQ(ipc, 1);
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuIpcOpenMemHandle(&memory, exporter.link().receive<CUipcMemHandle>(), kFlag), CUDA_SUCCESS);
  EXPECT_EQ(wordAt(memory), 41u);
  launchStore(nullptr, memory + kBytes - 4, 43);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  exporter.link().go();
  EXPECT_EQ(exporter.link().receive<uint32_t>(), 43u);
  EXPECT_EQ(cuIpcCloseMemHandle(memory), CUDA_SUCCESS);
}

TEST(IpcIsolated, AnAddressInsideAnAllocationGivesTheHandleOfTheWhole) {
  PROVES("IPCGETMEM-002");
  startDriver();
  const CUdeviceptr memory = filled(kBytes, 1);
  // Differs from IPCGETMEM-002: any address of the allocation will do.
  DIFFERS("IPCGETMEM-002", "an address inside the allocation gives the allocation's handle");
  EXPECT_TRUE(equal(handleOf(memory), handleOf(memory + 4096)));
  EXPECT_TRUE(equal(handleOf(memory), handleOf(memory + kBytes - 1)));
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST(IpcIsolated, OnlyMemoryOfCuMemAllocHasAHandle) {
  PROVES("IPCGETMEM-003", "IPCGETMEM-011");
  startDriver();
  const PinnedBuffer pinned(4096);
  const ManagedBuffer managed(4096);
  CUdeviceptr ordered = 0;
  EXPECT_EQ(cuMemAllocAsync(&ordered, 4096, nullptr), CUDA_SUCCESS);
  CUipcMemHandle handle;
  for (const CUdeviceptr other :
       {CUdeviceptr{pinned}, CUdeviceptr{managed}, ordered, CUdeviceptr{0}, CUdeviceptr{0x123456789000}}) {
    const CUresult refused = cuIpcGetMemHandle(&handle, other);
    EXPECT_EQ(refused, CUDA_ERROR_INVALID_VALUE) << other;
    EXPECT_TRUE(isDocumented("IPCGETMEM-011", refused));
  }
  const CUdeviceptr memory = filled(4096, 1);
  const CUresult noHandle = cuIpcGetMemHandle(nullptr, memory);
  EXPECT_EQ(noHandle, CUDA_ERROR_INVALID_VALUE);
  EXPECT_TRUE(isDocumented("IPCGETMEM-011", noHandle));
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeAsync(ordered, nullptr), CUDA_SUCCESS);
}

TEST(IpcIsolated, ExportingAgainGivesTheSameHandle) {
  PROVES("IPCGETMEM-005", "IPCOPENMEM-008");
  const PeerProcess exporter([](const Link& link) {
    startDriver();
    const CUdeviceptr memory = filled(kBytes, 41);
    for (int i = 0; i < 10; ++i) link.send(handleOf(memory));
    link.await();
  });
  startDriver();
  const auto first = exporter.link().receive<CUipcMemHandle>();
  const CUdeviceptr memory = opened(first);
  for (int i = 1; i < 10; ++i) {
    const auto again = exporter.link().receive<CUipcMemHandle>();
    EXPECT_TRUE(equal(first, again));
    EXPECT_EQ(opened(again), memory);
  }
  exporter.link().go();
}

TEST(IpcIsolated, NewMemoryAtAnOldAddressHasAnotherHandle) {
  PROVES("IPCGETMEM-006");
  startDriver();
  const CUdeviceptr old = filled(kBytes, 1);
  const CUipcMemHandle before = handleOf(old);
  EXPECT_EQ(cuMemFree(old), CUDA_SUCCESS);
  const CUdeviceptr fresh = filled(kBytes, 2);
  EXPECT_EQ(fresh, old) << "the test needs the address again";
  EXPECT_FALSE(equal(handleOf(fresh), before));
  EXPECT_EQ(cuMemFree(fresh), CUDA_SUCCESS);
}

TEST(IpcIsolated, OpeningCountsAndTheLastCloseUnmaps) {
  PROVES("IPCOPENMEM-007", "IPCOPENMEM-008", "IPCOPENMEM-009", "IPCCLOSEMEM-001", "IPCCLOSEMEM-002", "IPCCLOSEMEM-011");
  const PeerProcess exporter(exportOne);
  startDriver();
  const auto handle = exporter.link().receive<CUipcMemHandle>();
  CUdeviceptr first = 0, second = 0;
  EXPECT_EQ(cuIpcOpenMemHandle(&first, handle, kFlag), CUDA_SUCCESS);
  EXPECT_EQ(cuIpcOpenMemHandle(&second, handle, kFlag), CUDA_SUCCESS);
  EXPECT_EQ(first, second);
  EXPECT_EQ(cuMemFree(first), CUDA_ERROR_INVALID_VALUE);  // only cuIpcCloseMemHandle ends it
  EXPECT_EQ(cuIpcCloseMemHandle(first), CUDA_SUCCESS);
  EXPECT_EQ(wordAt(first), 41u);
  EXPECT_EQ(cuIpcCloseMemHandle(first), CUDA_SUCCESS);
  uint32_t word;
  EXPECT_EQ(cuMemcpyDtoH(&word, first, sizeof word), CUDA_ERROR_INVALID_VALUE);
  const CUresult closedBefore = cuIpcCloseMemHandle(first);
  EXPECT_EQ(closedBefore, CUDA_ERROR_INVALID_VALUE);
  EXPECT_TRUE(isDocumented("IPCCLOSEMEM-011", closedBefore));
  exporter.link().go();
}

TEST(IpcIsolated, ClosingTouchesNeitherTheExporterNorOtherImporters) {
  PROVES("IPCCLOSEMEM-003", "IPCCLOSEMEM-004");
  const PeerProcess exporter([](const Link& link) {
    startDriver();
    const CUdeviceptr memory = filled(kBytes, 41);
    link.send(handleOf(memory));
    link.await();
    REQUIRE(cuMemsetD32(memory, 44, 1));
    link.send(wordAt(memory));
    link.await();
  });
  const PeerProcess third([](const Link& link) {
    const auto handle = link.receive<CUipcMemHandle>();
    startDriver();
    const CUdeviceptr memory = opened(handle);
    link.go();
    link.await();
    link.send(wordAt(memory));
  });
  startDriver();
  const auto handle = exporter.link().receive<CUipcMemHandle>();
  third.link().send(handle);
  third.link().await();
  EXPECT_EQ(cuIpcCloseMemHandle(opened(handle)), CUDA_SUCCESS);
  exporter.link().go();
  EXPECT_EQ(exporter.link().receive<uint32_t>(), 44u);
  third.link().go();
  EXPECT_EQ(third.link().receive<uint32_t>(), 44u);
  exporter.link().go();
}

TEST(IpcIsolated, OnlyWhatWasOpenedCanBeClosed) {
  PROVES("IPCCLOSEMEM-006", "IPCCLOSEMEM-011");
  const PeerProcess exporter(exportOne);
  startDriver();
  const CUdeviceptr imported = opened(exporter.link().receive<CUipcMemHandle>());
  const CUdeviceptr own = filled(4096, 1);
  for (const CUdeviceptr other : {own, imported + 256, CUdeviceptr{0}, CUdeviceptr{0x123456789000}}) {
    const CUresult refused = cuIpcCloseMemHandle(other);
    EXPECT_EQ(refused, CUDA_ERROR_INVALID_VALUE) << other;
    EXPECT_TRUE(isDocumented("IPCCLOSEMEM-011", refused));
  }
  EXPECT_EQ(wordAt(imported), 41u);
  EXPECT_EQ(cuMemFree(own), CUDA_SUCCESS);
  exporter.link().go();
}

TEST(IpcIsolated, TheOneFlagMustBeGiven) {
  PROVES("IPCOPENMEM-002", "IPCOPENMEM-004", "IPCOPENMEM-016");
  const PeerProcess exporter(exportOne);
  startDriver();
  const auto handle = exporter.link().receive<CUipcMemHandle>();
  CUdeviceptr memory = 0;
  for (const unsigned flags : {0u, 2u, 0x80000000u}) {
    const CUresult refused = cuIpcOpenMemHandle(&memory, handle, flags);
    EXPECT_EQ(refused, CUDA_ERROR_INVALID_VALUE) << flags;
    EXPECT_TRUE(isDocumented("IPCOPENMEM-016", refused));
  }
  EXPECT_EQ(cuIpcOpenMemHandle(&memory, handle, kFlag), CUDA_SUCCESS);
  exporter.link().go();
}

TEST(IpcIsolated, OneContextOfADeviceOpensTheMemoryOfAnExportersDevice) {
  PROVES("IPCOPENMEM-006", "IPCOPENMEM-016");
  const PeerProcess exporter([](const Link& link) {
    startDriver();
    link.send(handleOf(filled(kBytes, 41)));
    link.send(handleOf(filled(kBytes, 42)));
    link.await();
  });
  startDriver();
  const auto handle = exporter.link().receive<CUipcMemHandle>(), other = exporter.link().receive<CUipcMemHandle>();
  const CUdeviceptr memory = opened(handle);
  CUcontext primary = nullptr, second = nullptr;
  EXPECT_EQ(cuCtxGetCurrent(&primary), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
  CUctxCreateParams plain{};
  EXPECT_EQ(cuCtxCreate(&second, &plain, 0, 0), CUDA_SUCCESS);
  CUdeviceptr elsewhere = 0;
  for (const CUipcMemHandle& one : {handle, other}) {
    const CUresult refused = cuIpcOpenMemHandle(&elsewhere, one, kFlag);
    EXPECT_EQ(refused, CUDA_ERROR_INVALID_HANDLE);
    EXPECT_TRUE(isDocumented("IPCOPENMEM-016", refused));
  }
  EXPECT_EQ(cuIpcCloseMemHandle(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuIpcOpenMemHandle(&elsewhere, handle, kFlag), CUDA_SUCCESS);
  EXPECT_EQ(wordAt(elsewhere), 41u);
  exporter.link().go();
}

TEST(IpcIsolated, AHandleIsNotOpenedAtHome) {
  PROVES("IPCOPENMEM-016");
  startDriver();
  const CUdeviceptr memory = filled(4096, 1);
  CUdeviceptr again = 0;
  const CUresult refused = cuIpcOpenMemHandle(&again, handleOf(memory), kFlag);
  EXPECT_EQ(refused, CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_TRUE(isDocumented("IPCOPENMEM-016", refused));
  CUipcMemHandle nonsense;
  std::memset(&nonsense, 0x5a, sizeof nonsense);
  EXPECT_EQ(cuIpcOpenMemHandle(&again, nonsense, kFlag), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST(IpcIsolated, TheImporterKeepsWhatTheExporterFrees) {
  PROVES("IPCOPENMEM-010", "IPCOPENMEM-016");
  const PeerProcess exporter([](const Link& link) {
    startDriver();
    const CUdeviceptr memory = filled(kBytes, 41);
    link.send(handleOf(memory));
    link.await();
    REQUIRE(cuMemFree(memory));
    filled(kBytes, 99);
    link.go();
    link.await();
  });
  startDriver();
  const auto handle = exporter.link().receive<CUipcMemHandle>();
  const CUdeviceptr memory = opened(handle);
  exporter.link().go();
  exporter.link().await();
  EXPECT_EQ(wordAt(memory), 41u);
  EXPECT_EQ(cuIpcCloseMemHandle(memory), CUDA_SUCCESS);
  // Differs from IPCOPENMEM-016: the code is not among the documented ones.
  DIFFERS("IPCOPENMEM-016", "a handle of memory that was freed: CUDA_ERROR_NOT_PERMITTED");
  CUdeviceptr late = 0;
  EXPECT_EQ(cuIpcOpenMemHandle(&late, handle, kFlag), CUDA_ERROR_NOT_PERMITTED);
  exporter.link().go();
}

TEST(IpcIsolated, TheImporterKeepsWhatAKilledExporterShared) {
  PROVES("IPCOPENMEM-010");
  PeerProcess exporter([](const Link& link) {
    startDriver();
    link.send(handleOf(filled(kBytes, 41)));
    link.send(handleOf(filled(kBytes, 42)));
    link.await();
  });
  startDriver();
  const auto handle = exporter.link().receive<CUipcMemHandle>(), never = exporter.link().receive<CUipcMemHandle>();
  const CUdeviceptr memory = opened(handle);
  exporter.kill();
  EXPECT_EQ(wordAt(memory + kBytes - 4), 41u);
  EXPECT_EQ(cuMemsetD32(memory, 45, 1), CUDA_SUCCESS);
  EXPECT_EQ(wordAt(memory), 45u);
  EXPECT_EQ(opened(handle), memory);
  CUdeviceptr late = 0;
  EXPECT_EQ(cuIpcOpenMemHandle(&late, never, kFlag), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuIpcCloseMemHandle(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuIpcCloseMemHandle(memory), CUDA_SUCCESS);
}

CUipcEventHandle handleOf(CUevent event) {
  CUipcEventHandle handle;
  REQUIRE(cuIpcGetEventHandle(&handle, event));
  return handle;
}
CUevent made(unsigned flags = kShared) {
  CUevent event = nullptr;
  REQUIRE(cuEventCreate(&event, flags));
  return event;
}

// Records behind half a second of work whenever it is told to, and lives until told 0.
void recordOnDemand(const Link& link) {
  startDriver();
  const CUevent event = made();
  link.send(handleOf(event));
  const Stream stream;
  while (link.receive<int>()) {
    launchSpin(stream, 0.5);
    REQUIRE(cuEventRecord(event, stream));
    link.go();
  }
}

TEST(IpcIsolated, AnEventOpensInAnotherProcessAndSynchronisesBoth) {
  PROVES("IPCGETEVENT-001", "IPCGETEVENT-004", "IPCGETEVENT-005", "IPCOPENEVENT-001", "IPCGETEVENT-008",
         "IPCGETEVENT-009", "IPCGETEVENT-011", "IPCOPENEVENT-005", "IPCOPENEVENT-006", "IPCOPENEVENT-008");
  const PeerProcess exporter(recordOnDemand);
  startDriver();
  int ipc = 0;
  EXPECT_EQ(cuDeviceGetAttribute(&ipc, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 0), CUDA_SUCCESS);
  EXPECT_EQ(ipc, 1);
  CUevent event = nullptr;
  EXPECT_EQ(cuIpcOpenEventHandle(&event, exporter.link().receive<CUipcEventHandle>()), CUDA_SUCCESS);
  const Stream stream;
  exporter.link().send(1);
  exporter.link().await();
  const double start = now();
  EXPECT_EQ(cuStreamWaitEvent(stream, event, 0), CUDA_SUCCESS);
  EXPECT_LT(now() - start, 0.2);
  EXPECT_FALSE(stream.idle());
  stream.synchronize();
  EXPECT_GT(now() - start, 0.2);
  EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
  exporter.link().send(0);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
}

TEST(IpcIsolated, BothProcessesRecordQueryWaitAndSynchronise) {
  PROVES("IPCGETEVENT-006", "IPCOPENEVENT-002");
  const PeerProcess exporter([](const Link& link) {
    startDriver();
    const CUevent event = made();
    link.send(handleOf(event));
    const Stream stream;
    link.await();  // the importer has recorded behind half a second of work
    link.send(cuEventQuery(event));
    REQUIRE(cuStreamWaitEvent(stream, event, 0));
    link.send(cuStreamQuery(stream));
    REQUIRE(cuEventSynchronize(event));
    link.send(cuEventQuery(event));
    REQUIRE(cuEventRecord(event, stream));
    link.go();
    link.await();
  });
  startDriver();
  CUevent event = nullptr;
  EXPECT_EQ(cuIpcOpenEventHandle(&event, exporter.link().receive<CUipcEventHandle>()), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);  // never recorded
  const Stream stream;
  launchSpin(stream, 0.5);
  EXPECT_EQ(cuEventRecord(event, stream), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  exporter.link().go();
  EXPECT_EQ(exporter.link().receive<CUresult>(), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(exporter.link().receive<CUresult>(), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(exporter.link().receive<CUresult>(), CUDA_SUCCESS);
  exporter.link().await();
  EXPECT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(stream, event, 0), CUDA_SUCCESS);
  float milliseconds;
  const Event timed;
  EXPECT_EQ(cuEventRecord(timed, stream), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(timed), CUDA_SUCCESS);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, timed, event), CUDA_ERROR_INVALID_HANDLE);
  exporter.link().go();
}

TEST(IpcIsolated, OnlyInterprocessEventsHaveAHandle) {
  PROVES("IPCGETEVENT-002", "IPCGETEVENT-003", "IPCGETEVENT-012");
  startDriver();
  CUipcEventHandle handle;
  for (const unsigned flags : {unsigned{CU_EVENT_DEFAULT}, unsigned{CU_EVENT_DISABLE_TIMING}}) {
    const CUresult refused = cuIpcGetEventHandle(&handle, made(flags));
    EXPECT_EQ(refused, CUDA_ERROR_INVALID_HANDLE);
    EXPECT_TRUE(isDocumented("IPCGETEVENT-012", refused));
  }
  CUevent timed = nullptr;  // an interprocess event with timing cannot even be made
  EXPECT_EQ(cuEventCreate(&timed, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
  for (const CUresult refused : {cuIpcGetEventHandle(&handle, nullptr), cuIpcGetEventHandle(nullptr, made())}) {
    EXPECT_EQ(refused, CUDA_ERROR_INVALID_VALUE);
    EXPECT_TRUE(isDocumented("IPCGETEVENT-012", refused));
  }
  const CUevent event = made();
  const CUipcEventHandle first = handleOf(event), second = handleOf(event);
  EXPECT_EQ(std::memcmp(&first, &second, sizeof first), 0);
}

TEST(IpcIsolated, WhatIsNoEventOfAnotherProcessCannotBeOpened) {
  PROVES("IPCOPENEVENT-009");
  DIFFERS("IPCOPENEVENT-009", "CUDA_ERROR_INVALID_CONTEXT for some handles that are none");
  startDriver();
  CUipcEventHandle handles[3] = {handleOf(made())};  // our own
  std::memset(&handles[1], 0x5a, sizeof handles[1]);
  const CUipcMemHandle memory = handleOf(filled(4096, 1));
  std::memcpy(&handles[2], &memory, sizeof memory);
  for (const CUipcEventHandle& handle : handles) {
    CUevent event = nullptr;
    const CUresult refused = cuIpcOpenEventHandle(&event, handle);
    // By what the driver reads out of the bytes; the second is not in the manual's list.
    EXPECT_TRUE(refused == CUDA_ERROR_MAP_FAILED || refused == CUDA_ERROR_INVALID_CONTEXT) << refused;
  }
}

TEST(IpcIsolated, AnImportedEventIsDestroyedByItself) {
  PROVES("IPCOPENEVENT-003", "IPCGETEVENT-012");
  const PeerProcess exporter(recordOnDemand);
  startDriver();
  const auto handle = exporter.link().receive<CUipcEventHandle>();
  CUevent one = nullptr, two = nullptr;
  EXPECT_EQ(cuIpcOpenEventHandle(&one, handle), CUDA_SUCCESS);
  EXPECT_EQ(cuIpcOpenEventHandle(&two, handle), CUDA_SUCCESS);
  EXPECT_NE(one, two);
  CUipcEventHandle again;
  const CUresult passedOn = cuIpcGetEventHandle(&again, one);
  EXPECT_EQ(passedOn, CUDA_ERROR_INVALID_HANDLE);
  EXPECT_TRUE(isDocumented("IPCGETEVENT-012", passedOn));
  EXPECT_EQ(cuEventDestroy(one), CUDA_SUCCESS);
  exporter.link().send(1);
  exporter.link().await();
  EXPECT_EQ(cuEventSynchronize(two), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(two), CUDA_SUCCESS);
  exporter.link().send(0);
}

// Undefined by the manual; the driver goes on.
TEST(IpcIsolated, AnImportedEventOutlivesTheExportersOne) {
  PROVES("IPCGETEVENT-007", "IPCOPENEVENT-004");
  const PeerProcess exporter([](const Link& link) {
    startDriver();
    const CUevent event = made();
    link.send(handleOf(event));
    link.await();
    REQUIRE(cuEventDestroy(event));
    link.go();
    link.await();
  });
  startDriver();
  CUevent event = nullptr;
  EXPECT_EQ(cuIpcOpenEventHandle(&event, exporter.link().receive<CUipcEventHandle>()), CUDA_SUCCESS);
  exporter.link().go();
  exporter.link().await();
  const Stream stream;
  EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(event, stream), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
  exporter.link().go();
}

}  // namespace
