// What the environment makes of the devices. Every test runs its checks in a child process of its own, because the
// settings are read once. The suite is started with three emulated devices.
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "check.h"
#include "in_process.h"

namespace {

int count() {
  int number = -1;
  EXPECT_EQ(cuDeviceGetCount(&number), CUDA_SUCCESS);
  return number;
}
int attribute(CUdevice_attribute which, CUdevice device) {
  int value = -1;
  EXPECT_EQ(cuDeviceGetAttribute(&value, which, device), CUDA_SUCCESS);
  return value;
}
std::string uuidOf(CUdevice device) {
  CUuuid uuid{};
  EXPECT_EQ(cuDeviceGetUuid(&uuid, device), CUDA_SUCCESS);
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += (i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "") + std::string(digits);
  }
  return text;
}
size_t memoryOf(CUdevice device) {
  size_t bytes = 0;
  EXPECT_EQ(cuDeviceTotalMem(&bytes, device), CUDA_SUCCESS);
  return bytes;
}

// UUIDs of all devices, asked for in a process of their own.
std::vector<std::string> allUuids() {
  int channel[2];
  EXPECT_EQ(pipe(channel), 0);
  EXPECT_EQ(inProcess({},
                      [&] {
                        EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
                        for (CUdevice device = 0; device < 3; ++device) {
                          const std::string text = uuidOf(device);
                          EXPECT_EQ(write(channel[1], text.data(), 40), 40);
                        }
                      }),
            0);
  std::vector<std::string> uuids;
  char text[41] = {};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(read(channel[0], text, 40), 40);
    uuids.emplace_back(text);
  }
  close(channel[0]);
  close(channel[1]);
  return uuids;
}

struct Visible {
  std::string list;
  std::vector<int> devices;  // by their numbers when all are visible
};

TEST(VisibleDevices, AreThoseListedUpToTheFirstThatIsNone) {
  const std::vector<std::string> uuids = allUuids();
  const std::vector<Visible> cases = {
      {"0", {0}},
      {"2,0", {2, 0}},
      {"1,2,0", {1, 2, 0}},
      {" 1 , 2 ", {1, 2}},
      {"0,7,1", {0}},
      {"1,-1,2", {1}},
      {"2,x", {2}},
      {"+0", {0}},
      {"-0", {0}},
      {"0x2", {0}},
      {"2abc,1.5,00", {2, 1, 0}},
      {"4294967297", {1}},
      {"08", {}},
      {"18446744073709551616", {}},
      {"+", {}},
      {uuids[1], {1}},
      {uuids[2] + ",0", {2, 0}},
      {uuids[0].substr(0, 12), {0}},
      {"", {}},
      {"-1", {}},
      {"3", {}},
      {"GPU-", {}},
      {"MIG-GPU-1", {}},
      {"NoDevFiles", {}},
  };
  for (const Visible& one : cases)
    EXPECT_EQ(inProcess({{"CUDA_VISIBLE_DEVICES", one.list}, {"VERDIGRIS_LOG", "off"}},
                        [&] {
                          const CUresult expected = one.devices.empty() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
                          ASSERT_EQ(cuInit(0), expected);
                          if (one.devices.empty()) return;
                          ASSERT_EQ(count(), static_cast<int>(one.devices.size()));
                          for (size_t i = 0; i < one.devices.size(); ++i)
                            EXPECT_EQ(uuidOf(static_cast<CUdevice>(i)), uuids[static_cast<size_t>(one.devices[i])]);
                        }),
              0)
        << '"' << one.list << '"';
}

TEST(VisibleDevices, NamedTwiceAreRefused) {
  for (const char* list : {"0,0", "0,00,1", "1,2,+1", "0 ,0"})
    EXPECT_EQ(inProcess({{"CUDA_VISIBLE_DEVICES", list}, {"VERDIGRIS_LOG", "off"}},
                        [] { EXPECT_EQ(cuInit(0), CUDA_ERROR_INVALID_DEVICE); }),
              0)
        << list;
}

TEST(Uuids, AreTheSameInEveryProcessAndDifferByDevice) {
  const std::vector<std::string> first = allUuids(), second = allUuids();
  EXPECT_EQ(first, second);
  EXPECT_NE(first[0], first[1]);
  EXPECT_NE(first[1], first[2]);
}

TEST(Settings, AreTakenForAllDevicesOrOneEach) {
  EXPECT_EQ(inProcess({{"VERDIGRIS_MEMORY", "1GiB,512MiB"},
                       {"VERDIGRIS_COMPUTE_CAPABILITY", "9.0,8.6,7.5"},
                       {"VERDIGRIS_PROFILE", "default,h200"}},
                      [] {
                        ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
                        EXPECT_EQ(memoryOf(0), size_t{1} << 30);
                        EXPECT_EQ(memoryOf(1), size_t{512} << 20);
                        EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0), 9);
                        EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 1), 8);
                        EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 1), 6);
                        EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 2), 5);
                        EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1), 132);
                        // A multiprocessor is as large as the capability says.
                        EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 0), 2048);
                        EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2), 1024);
                      }),
            0);
}

TEST(Settings, OneValueServesAllDevices) {
  EXPECT_EQ(inProcess({{"VERDIGRIS_MEMORY", "256M"}, {"VERDIGRIS_WORKERS", "3"}},
                      [] {
                        ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
                        for (CUdevice device = 0; device < 3; ++device) {
                          EXPECT_EQ(memoryOf(device), size_t{256} << 20);
                          EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device), 3);
                          EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device), 12);
                        }
                      }),
            0);
}

TEST(Settings, NonsenseIsReplacedByTheDefault) {
  EXPECT_EQ(inProcess({{"VERDIGRIS_MEMORY", "plenty"},
                       {"VERDIGRIS_COMPUTE_CAPABILITY", "new"},
                       {"VERDIGRIS_PROFILE", "h9000"},
                       {"VERDIGRIS_LOG", "off"}},
                      [] {
                        ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
                        EXPECT_EQ(count(), 3);
                        EXPECT_GT(memoryOf(0), size_t{64} << 20);
                        EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0), 12);
                      }),
            0);
}

TEST(Settings, ModuleLoadingIsReported) {
  const auto mode = [](CUmoduleLoadingMode expected) {
    return [expected] {
      CUmoduleLoadingMode mode;
      ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
      ASSERT_EQ(cuModuleGetLoadingMode(&mode), CUDA_SUCCESS);
      EXPECT_EQ(mode, expected);
    };
  };
  EXPECT_EQ(inProcess({}, mode(CU_MODULE_LAZY_LOADING)), 0);
  EXPECT_EQ(inProcess({{"CUDA_MODULE_LOADING", "EAGER"}}, mode(CU_MODULE_EAGER_LOADING)), 0);
  EXPECT_EQ(inProcess({{"CUDA_MODULE_LOADING", "LAZY"}}, mode(CU_MODULE_LAZY_LOADING)), 0);
}

// Every attribute and limit, the name and the memory that were recorded on a real H200.
TEST(ProfileH200, AnswersWhatWasRecorded) {
  EXPECT_EQ(inProcess({{"VERDIGRIS_PROFILE", "h200"}, {"VERDIGRIS_DRIVER_VERSION", "13.0"}},
                      [] {
                        CUcontext context = nullptr;
                        ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
                        ASSERT_EQ(cuCtxCreate(&context, nullptr, 0, 0), CUDA_SUCCESS);
                        std::ifstream facts(FACTS);
                        int compared = 0;
                        for (std::string line; std::getline(facts, line); ++compared) {
                          std::istringstream fields(line);
                          std::string kind, which, expected;
                          std::getline(fields, kind, '\t');
                          std::getline(fields, which, '\t');
                          std::getline(fields, expected);
                          std::string ours;
                          if (kind == "attribute") {
                            int value = 0;
                            const auto number = static_cast<CUdevice_attribute>(std::stoi(which));
                            const CUresult result = cuDeviceGetAttribute(&value, number, 0);
                            ours = result ? "CUDA_ERROR_INVALID_VALUE" : std::to_string(value);
                          } else if (kind == "limit") {
                            size_t value = 0;
                            const CUresult result = cuCtxGetLimit(&value, static_cast<CUlimit>(std::stoi(which)));
                            const char* name = nullptr;
                            ASSERT_EQ(cuGetErrorName(result, &name), CUDA_SUCCESS);
                            ours = name + (" " + std::to_string(value));
                          } else if (which == "name") {
                            char name[64];
                            ASSERT_EQ(cuDeviceGetName(name, sizeof name, 0), CUDA_SUCCESS);
                            ours = name;
                          } else {
                            ours = std::to_string(memoryOf(0));
                          }
                          EXPECT_EQ(ours, expected) << kind << ' ' << which;
                        }
                        EXPECT_GT(compared, 170);
                      }),
            0);
}

}  // namespace
