// What is linked with programs that name functions of the device runtime.
#include "ptx/abi/device_runtime.h"

#include <gtest/gtest.h>

#include "ptx/facts/layout.h"
#include "ptx/text/parser.h"

namespace vg::ptx {
namespace {

constexpr const char* kTop = ".version 8.0\n.target sm_90\n.address_size 64\n";

Module linked(const std::vector<std::string>& texts) {
  std::vector<Module> modules;
  std::string log;
  for (const std::string& text : texts) {
    auto parsed = parse(text, &log);
    EXPECT_TRUE(parsed.ok()) << log << text;
    if (parsed.ok()) modules.push_back(std::move(parsed).value());
  }
  auto result = link(std::move(modules), &log);
  EXPECT_TRUE(result.ok()) << log;
  return result.ok() ? std::move(result).value() : Module{};
}

const Function* named(const Module& module, const std::string& name) {
  for (const Function& f : module.functions)
    if (f.name == name) return &f;
  return nullptr;
}

TEST(DeviceRuntime, ProgramsThatNameNothingOfItStayAsTheyAre) {
  const std::vector<std::string> texts{std::string(kTop) + ".visible .entry cudaKernel() { ret; }\n"};
  EXPECT_EQ(withDeviceRuntime(texts), texts);
}

TEST(DeviceRuntime, EveryFunctionIsDefinedUnderEachOfItsNames) {
  const char* const names[] = {
#define VG_DEVICE_CALL(name, ...) #name,
#include "ptx/abi/device_runtime.inc"
#undef VG_DEVICE_CALL
  };
  std::string text = kTop;
  for (const std::string name : names)
    for (const std::string prefix : {"__cudaCDP2", "cuda"})
      for (const std::string suffix : {"", "_ptsz"}) text += "// " + prefix + name + suffix + "\n";
  const Module module = linked(withDeviceRuntime({text}));
  for (const std::string name : names)
    for (const std::string prefix : {"__cudaCDP2", "cuda"})
      for (const std::string suffix : {"", "_ptsz"}) {
        const Function* const f = named(module, prefix + name + suffix);
        ASSERT_TRUE(f) << prefix << name << suffix;
        EXPECT_FALSE(f->isDeclaration);
      }
}

TEST(DeviceRuntime, NativeCodeIsLinkedWithTheNamesAlone) {
  const std::string text = std::string(kTop) + "// __cudaCDP2LaunchDeviceV2\n";
  const std::string vendors = std::string(kTop) + "// __cudaCDP2Malloc __cuda_syscall_cnpv2Malloc\n";
  const std::vector<std::string> texts = withDeviceRuntimeNames({text, vendors});
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts[0], text);
  const Module module = linked(texts);
  const Function* const f = named(module, "__cudaCDP2LaunchDeviceV2");
  ASSERT_TRUE(f);
  EXPECT_FALSE(f->isDeclaration);
  EXPECT_EQ(texts[1].find(kDeviceRuntimeCall), std::string::npos);
  EXPECT_TRUE(named(linked(withDeviceRuntimeNames({std::string(kTop) + "// cudaGraphLaunch\n"})), "cudaGraphLaunch"));
}

TEST(DeviceRuntime, SymbolsMeanTheFunctionWhoseNameTheyAre) {
  EXPECT_EQ(deviceCallNamed("__cudaCDP2LaunchDeviceV2_ptsz"), DeviceCall::LaunchDeviceV2);
  EXPECT_EQ(deviceCallNamed("cudaGetParameterBuffer"), DeviceCall::GetParameterBuffer);
  EXPECT_FALSE(deviceCallNamed("__cudaCDP2Launch"));
  EXPECT_FALSE(deviceCallNamed("LaunchDeviceV2"));
}

TEST(DeviceRuntime, ParametersHaveTheSizesOfTheDeclaration) {
  const Module module = linked(withDeviceRuntime({std::string(kTop) + "// __cudaCDP2Memset3DAsync\n"}));
  const Function* const f = named(module, "__cudaCDP2Memset3DAsync");
  ASSERT_TRUE(f);
  ASSERT_EQ(f->parameters.size(), 4u);
  EXPECT_EQ(f->parameters[0].size, 32u);
  EXPECT_EQ(f->parameters[2].size, 24u);
  EXPECT_EQ(f->parameters[2].alignment, 8u);
}

TEST(DeviceRuntime, AProgramsOwnFunctionOfTheNameStands) {
  const Module module = linked(withDeviceRuntime(
      {std::string(kTop) + ".visible .func (.param .b32 r) cudaGetLastError() { .reg .b32 %r; ret; }\n"}));
  const Function* const f = named(module, "cudaGetLastError");
  ASSERT_TRUE(f);
  EXPECT_TRUE(f->variables.empty());
}

TEST(DeviceRuntime, TheVendorsOwnIsLeftOut) {
  const std::string program = std::string(kTop) + "// __cudaCDP2GetLastError\n";
  const std::string vendors = std::string(kTop) + ".extern .func __cuda_syscall_cnpv2GetLastError();\n" +
                              ".visible .func __cudaCDP2GetLastError() { call __cuda_syscall_cnpv2GetLastError; ret; }";
  const std::vector<std::string> all = withDeviceRuntime({program, vendors});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0], program);
  EXPECT_NE(all[1], vendors);
}

// A kernel whose address is taken is launched: its memory is not that of the kernel that launches it.
TEST(DeviceRuntime, WhatAKernelLaunchesIsNotItsOwn) {
  const Module module = linked({std::string(kTop) + ".global .b32 far;\n"
                                                    ".visible .entry child() { .shared .b32 cells[100]; .reg .b32 %r;\n"
                                                    "  st.global.b32 [far], 1; st.shared.b32 [cells], 1; ret; }\n"
                                                    ".visible .entry parent() { .shared .b32 one; .reg .b64 %d;\n"
                                                    "  mov.b64 %d, child; st.shared.b32 [one], 1; ret; }\n"});
  uint32_t parent = 0;
  while (module.functions[parent].name != "parent") ++parent;
  EXPECT_EQ(sharedLayout(module, parent).staticSize, 4u);
  const KernelReferences found = references(module, parent);
  EXPECT_EQ(found.functions, std::vector<uint32_t>{parent});
  EXPECT_TRUE(found.globals.empty());
}

}  // namespace
}  // namespace vg::ptx
