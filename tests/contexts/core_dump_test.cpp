// The attributes of core dumps, of the process and of contexts. Facts recorded from driver 580.159.04 on an H200; one
// process each, because the process's attributes are kept as long as it lives.
#include <cuda.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "check.h"
#include "in_process.h"

namespace {

constexpr unsigned kLight = CU_COREDUMP_LIGHTWEIGHT_FLAGS;

enum class Of { Process, Context };

CUresult get(Of of, int which, void* value, size_t* size) {
  return (of == Of::Process ? cuCoredumpGetAttributeGlobal : cuCoredumpGetAttribute)(CUcoredumpSettings(which), value,
                                                                                     size);
}
CUresult set(Of of, int which, const void* value, size_t size) {
  return (of == Of::Process ? cuCoredumpSetAttributeGlobal : cuCoredumpSetAttribute)(CUcoredumpSettings(which),
                                                                                     const_cast<void*>(value), &size);
}
CUresult setFlag(Of of, int which, bool value) { return set(of, which, &value, sizeof value); }
CUresult setName(Of of, int which, const std::string& name) { return set(of, which, name.c_str(), name.size() + 1); }
CUresult setFlags(Of of, unsigned flags) { return set(of, CU_COREDUMP_GENERATION_FLAGS, &flags, sizeof flags); }

int flag(Of of, int which) {
  unsigned char value = 99;
  size_t size = 1;
  EXPECT_EQ(get(of, which, &value, &size), CUDA_SUCCESS) << which;
  return value;
}
unsigned flags(Of of) {
  unsigned value = 99;
  size_t size = sizeof value;
  EXPECT_EQ(get(of, CU_COREDUMP_GENERATION_FLAGS, &value, &size), CUDA_SUCCESS);
  return value;
}
std::string name(Of of, int which) {
  char value[1024] = "untouched";
  size_t size = sizeof value;
  EXPECT_EQ(get(of, which, value, &size), CUDA_SUCCESS) << which;
  EXPECT_EQ(size, 1024u);
  return value;
}
void begin() {
  CUcontext context = nullptr;
  OK(cuInit(0));
  OK(cuDevicePrimaryCtxRetain(&context, 0));
  OK(cuCtxSetCurrent(context));
}
unsigned contextFlags(unsigned wanted) {
  CUcontext context = nullptr;
  EXPECT_EQ(cuCtxCreate(&context, nullptr, wanted, 0), CUDA_SUCCESS);
  unsigned told = 0;
  EXPECT_EQ(cuCtxGetFlags(&told), CUDA_SUCCESS);
  return told;
}
std::string host() {
  char text[256] = {};
  gethostname(text, sizeof text - 1);
  return text;
}

TEST(CoreDumpAttributes, TheProcessHasThemBeforeItIsInitialised) {
  EXPECT_EQ(inProcess({},
                      [] {
                        size_t size = 1;
                        bool value = true;
                        EXPECT_EQ(get(Of::Context, CU_COREDUMP_LIGHTWEIGHT, &value, &size), CUDA_ERROR_NOT_INITIALIZED);
                        EXPECT_EQ(setFlag(Of::Context, CU_COREDUMP_LIGHTWEIGHT, true), CUDA_ERROR_NOT_INITIALIZED);
                        EXPECT_EQ(flag(Of::Process, CU_COREDUMP_ENABLE_ON_EXCEPTION), 0);
                        EXPECT_EQ(flag(Of::Process, CU_COREDUMP_TRIGGER_HOST), 1);
                        EXPECT_EQ(flag(Of::Process, CU_COREDUMP_LIGHTWEIGHT), 0);
                        EXPECT_EQ(flag(Of::Process, CU_COREDUMP_ENABLE_USER_TRIGGER), 0);
                        EXPECT_EQ(flags(Of::Process), 0u);
                        EXPECT_EQ(name(Of::Process, CU_COREDUMP_FILE), "");
                        EXPECT_EQ(name(Of::Process, CU_COREDUMP_PIPE), "");
                        OK(setFlag(Of::Process, CU_COREDUMP_ENABLE_ON_EXCEPTION, true));
                        OK(cuInit(0));
                        EXPECT_EQ(flag(Of::Process, CU_COREDUMP_ENABLE_ON_EXCEPTION), 1);
                        EXPECT_EQ(setFlag(Of::Context, CU_COREDUMP_LIGHTWEIGHT, true), CUDA_ERROR_INVALID_CONTEXT);
                      }),
            0);
}

TEST(CoreDumpAttributes, NumbersWantTheirSizeAndNamesTakeAnyRoom) {
  EXPECT_EQ(inProcess({},
                      [] {
                        begin();
                        for (const Of of : {Of::Process, Of::Context}) {
                          for (const int which : {1, 2, 3, 7}) {
                            const size_t expected = which == 7 ? 4 : 1;
                            for (const size_t room : {0, 1, 2, 4, 8, 1023, 1024, 2000}) {
                              unsigned char value[2000] = {};
                              size_t size = room;
                              EXPECT_EQ(get(of, which, value, &size),
                                        room == expected ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
                              EXPECT_EQ(size, room);
                              EXPECT_EQ(set(of, which, value, room),
                                        room == expected ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
                            }
                            size_t size = 0;
                            OK(get(of, which, nullptr, &size));
                            EXPECT_EQ(size, expected);
                            EXPECT_EQ(get(of, which, &size, nullptr), CUDA_ERROR_INVALID_VALUE);
                          }
                          size_t size = 0;
                          OK(get(of, CU_COREDUMP_FILE, nullptr, &size));
                          EXPECT_EQ(size, 1024u);
                          for (const int unknown : {0, 8, 9, 100})
                            EXPECT_EQ(setFlag(of, unknown, true), CUDA_ERROR_INVALID_VALUE) << unknown;
                        }
                        // The vendor's driver writes past the room it is given; this one does not.
                        OK(setName(Of::Process, CU_COREDUMP_FILE, "abcdef"));
                        char small[8] = "#######";
                        size_t size = 4;
                        OK(get(Of::Process, CU_COREDUMP_FILE, small, &size));
                        EXPECT_EQ(std::memcmp(small, "abc\0###", 8), 0);
                        size = 0;
                        OK(get(Of::Process, CU_COREDUMP_FILE, small, &size));
                        EXPECT_EQ(small[0], 'a');
                      }),
            0);
}

TEST(CoreDumpAttributes, ContextsHaveNoPipe) {
  EXPECT_EQ(
      inProcess({},
                [] {
                  begin();
                  bool value = false;
                  size_t one = 1, room = 1024;
                  char text[1024];
                  EXPECT_EQ(get(Of::Context, CU_COREDUMP_ENABLE_USER_TRIGGER, &value, &one), CUDA_ERROR_INVALID_VALUE);
                  EXPECT_EQ(get(Of::Context, CU_COREDUMP_PIPE, text, &room), CUDA_ERROR_INVALID_VALUE);
                  EXPECT_EQ(setFlag(Of::Context, CU_COREDUMP_ENABLE_USER_TRIGGER, true), CUDA_ERROR_INVALID_VALUE);
                  EXPECT_EQ(setName(Of::Context, CU_COREDUMP_PIPE, "pipe"), CUDA_ERROR_INVALID_VALUE);
                }),
      0);
}

TEST(CoreDumpAttributes, LightweightAndAbortAreBitsOfTheFlags) {
  EXPECT_EQ(inProcess({},
                      [] {
                        begin();
                        for (const Of of : {Of::Process, Of::Context}) {
                          OK(setFlag(of, CU_COREDUMP_TRIGGER_HOST, false));
                          EXPECT_EQ(flags(of), unsigned{CU_COREDUMP_SKIP_ABORT});
                          OK(setFlag(of, CU_COREDUMP_LIGHTWEIGHT, true));
                          EXPECT_EQ(flags(of), kLight | CU_COREDUMP_SKIP_ABORT);
                          OK(setFlag(of, CU_COREDUMP_TRIGGER_HOST, true));
                          EXPECT_EQ(flags(of), kLight);
                          OK(setFlags(of, 15));
                          EXPECT_EQ(flag(of, CU_COREDUMP_LIGHTWEIGHT), 0);
                          EXPECT_EQ(flag(of, CU_COREDUMP_TRIGGER_HOST), 1);
                          OK(setFlag(of, CU_COREDUMP_LIGHTWEIGHT, false));
                          EXPECT_EQ(flags(of), 0u);
                          OK(setFlags(of, 0x80000010u));  // any bits
                          EXPECT_EQ(flags(of), 0x80000010u);
                          EXPECT_EQ(flag(of, CU_COREDUMP_TRIGGER_HOST), 0);
                        }
                      }),
            0);
}

TEST(CoreDumpAttributes, NamesOfTheProcessAreExpandedAtOnceThoseOfContextsAreNot) {
  EXPECT_EQ(inProcess({},
                      [] {
                        begin();
                        const std::string wanted = "t." + host() + "." + std::to_string(getpid()) + ".x%q%";
                        for (const int which : {CU_COREDUMP_FILE, CU_COREDUMP_PIPE}) {
                          OK(setName(Of::Process, which, "t.%h.%p.x%q%"));
                          EXPECT_EQ(name(Of::Process, which), wanted);
                        }
                        OK(setName(Of::Process, CU_COREDUMP_FILE, "%t"));
                        EXPECT_GT(std::stoull(name(Of::Process, CU_COREDUMP_FILE)), 1'600'000'000u);
                        OK(setName(Of::Context, CU_COREDUMP_FILE, "t.%h.%p.%t"));
                        EXPECT_EQ(name(Of::Context, CU_COREDUMP_FILE), "t.%h.%p.%t");
                        const std::string longest(1023, 'x'), tooLong(1024, 'y');
                        for (const Of of : {Of::Process, Of::Context}) {
                          OK(setName(of, CU_COREDUMP_FILE, longest));
                          EXPECT_EQ(name(of, CU_COREDUMP_FILE), longest);
                          EXPECT_EQ(setName(of, CU_COREDUMP_FILE, tooLong), CUDA_ERROR_INVALID_VALUE);
                          OK(set(of, CU_COREDUMP_FILE, "ace", 2));
                          EXPECT_EQ(name(of, CU_COREDUMP_FILE), of == Of::Process ? "ace" : "ac");
                        }
                        EXPECT_EQ(setName(Of::Process, CU_COREDUMP_FILE, std::string(1018, 'z') + "%p%p%p"),
                                  CUDA_ERROR_INVALID_VALUE);
                      }),
            0);
}

TEST(CoreDumpAttributes, DumpsOnRequestBringThoseOfFaultsAndHoldThePipesName) {
  EXPECT_EQ(inProcess({},
                      [] {
                        OK(cuInit(0));
                        OK(setName(Of::Process, CU_COREDUMP_PIPE, "before"));
                        OK(setFlag(Of::Process, CU_COREDUMP_ENABLE_USER_TRIGGER, true));
                        EXPECT_EQ(flag(Of::Process, CU_COREDUMP_ENABLE_ON_EXCEPTION), 1);
                        EXPECT_EQ(setName(Of::Process, CU_COREDUMP_PIPE, "after"), CUDA_ERROR_NOT_SUPPORTED);
                        EXPECT_EQ(name(Of::Process, CU_COREDUMP_PIPE), "before");
                        OK(setFlag(Of::Process, CU_COREDUMP_ENABLE_USER_TRIGGER, false));
                        EXPECT_EQ(flag(Of::Process, CU_COREDUMP_ENABLE_ON_EXCEPTION), 1);
                      }),
            0);
}

TEST(CoreDumpAttributes, AContextBeginsWithThoseOfTheProcessAndKeepsItsOwn) {
  EXPECT_EQ(inProcess({},
                      [] {
                        OK(cuInit(0));
                        OK(setFlag(Of::Process, CU_COREDUMP_ENABLE_ON_EXCEPTION, true));
                        OK(setFlag(Of::Process, CU_COREDUMP_LIGHTWEIGHT, true));
                        OK(setName(Of::Process, CU_COREDUMP_FILE, "globally"));
                        EXPECT_EQ(contextFlags(0), 0u);
                        EXPECT_EQ(flag(Of::Context, CU_COREDUMP_ENABLE_ON_EXCEPTION), 1);
                        EXPECT_EQ(flags(Of::Context), kLight);
                        EXPECT_EQ(name(Of::Context, CU_COREDUMP_FILE), "globally");
                        OK(setFlag(Of::Process, CU_COREDUMP_LIGHTWEIGHT, false));
                        EXPECT_EQ(flags(Of::Context), kLight);
                        OK(setFlag(Of::Context, CU_COREDUMP_ENABLE_ON_EXCEPTION, false));
                        EXPECT_EQ(flag(Of::Process, CU_COREDUMP_ENABLE_ON_EXCEPTION), 1);
                        EXPECT_EQ(contextFlags(0), 0u);
                        EXPECT_EQ(flags(Of::Context), 0u);
                        EXPECT_EQ(flag(Of::Context, CU_COREDUMP_ENABLE_ON_EXCEPTION), 1);
                      }),
            0);
}

TEST(CoreDumpAttributes, FlagsOfAContextEnableItsDumps) {
  EXPECT_EQ(inProcess({},
                      [] {
                        OK(cuInit(0));
                        for (const unsigned wanted : {CU_CTX_COREDUMP_ENABLE, CU_CTX_USER_COREDUMP_ENABLE}) {
                          EXPECT_EQ(contextFlags(wanted), unsigned{CU_CTX_COREDUMP_ENABLE});
                          EXPECT_EQ(flag(Of::Context, CU_COREDUMP_ENABLE_ON_EXCEPTION), 1);
                          EXPECT_EQ(flag(Of::Process, CU_COREDUMP_ENABLE_ON_EXCEPTION), 0);
                        }
                      }),
            0);
}

TEST(CoreDumpAttributes, TheEnvironmentWins) {
  const Settings settings = {{"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "0"},
                             {"CUDA_COREDUMP_FILE", "by.%p"},
                             {"CUDA_ENABLE_LIGHTWEIGHT_COREDUMP", "1"}};
  EXPECT_EQ(inProcess(settings,
                      [] {
                        OK(setFlag(Of::Process, CU_COREDUMP_ENABLE_ON_EXCEPTION, true));
                        begin();
                        const std::string file = "by." + std::to_string(getpid());
                        for (const Of of : {Of::Process, Of::Context}) {
                          OK(setFlag(of, CU_COREDUMP_ENABLE_ON_EXCEPTION, true));
                          EXPECT_EQ(flag(of, CU_COREDUMP_ENABLE_ON_EXCEPTION), 0);
                          OK(setName(of, CU_COREDUMP_FILE, "other"));
                          EXPECT_EQ(name(of, CU_COREDUMP_FILE), file);
                          OK(setFlags(of, CU_COREDUMP_SKIP_ABORT));  // the bit that no variable names
                          EXPECT_EQ(flags(of), kLight | CU_COREDUMP_SKIP_ABORT);
                        }
                      }),
            0);
  // The list of flags has the last word.
  EXPECT_EQ(inProcess({{"CUDA_COREDUMP_GENERATION_FLAGS", "skip_global_memory,skip_abort,nonsense"},
                       {"CUDA_ENABLE_CPU_COREDUMP_ON_EXCEPTION", "1"},
                       {"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1"}},
                      [] {
                        begin();
                        EXPECT_EQ(flag(Of::Context, CU_COREDUMP_ENABLE_ON_EXCEPTION), 1);
                        EXPECT_EQ(flags(Of::Context), 18u);
                      }),
            0);
}

}  // namespace
