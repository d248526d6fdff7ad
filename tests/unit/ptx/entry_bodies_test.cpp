// A text in which one kernel is left: the same module to whoever compiles that kernel.
#include "ptx/text/entry_bodies.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "ptx/text/parser.h"

namespace vg::ptx {
namespace {

const std::string kText = R"(.version 8.0
.target sm_90
.address_size 64
.global .align 4 .b8 table[8] = {1, 2, 3, 4};
.extern .func other();
.func helper() { ret; }
.entry declared(.param .u64 p);
.visible .entry first(.param .u64 p)
.maxntid 32, 1, 1
{
	.reg .b32 %r<4>;
	// .entry in a comment, with a brace {
	mov.u32 %r1, 1;
	{
	.reg .b32 %r2;
	mov.u32 %r2, 2; /* } */
	}
	ret;
}
.visible .entry second() { .reg .b32 %r<4>;
	mov.u32 %r1, 3;
	mov.u32 %r2, 4;
	ret;
}
.weak .entry third(
	.param .b32 n
) { ret; }
.section .debug_str { .b8 123 }
)";

const Function& functionNamed(const Module& module, const std::string& name) {
  for (const Function& f : module.functions)
    if (f.name == name) return f;
  throw std::runtime_error(name);
}

Module parsed(const std::string& text) {
  std::string log;
  Result<Module> module = parse(text, &log);
  EXPECT_TRUE(module.ok()) << log;
  return module.ok() ? std::move(module).value() : Module{};
}

TEST(EntryBodies, LeaveTheKernelThatIsWantedAsItIs) {
  const EntryBodies bodies(kText);
  const Module whole = parsed(kText);
  for (const std::string name : {"first", "second", "third"}) {
    const Module left = parsed(bodies.withOnly(name));
    const Function &was = functionNamed(whole, name), &is = functionNamed(left, name);
    ASSERT_EQ(is.body.size(), was.body.size()) << name;
    for (size_t n = 0; n < was.body.size(); ++n) EXPECT_EQ(is.body[n].line, was.body[n].line) << name;
    EXPECT_EQ(is.registers.size(), was.registers.size());
  }
}

TEST(EntryBodies, EmptyAllOtherKernels) {
  const Module left = parsed(EntryBodies(kText).withOnly("second"));
  EXPECT_EQ(functionNamed(left, "first").body.size(), 1u);
  EXPECT_EQ(functionNamed(left, "first").maxThreads[0], 32u);
  EXPECT_EQ(functionNamed(left, "third").parameters.size(), 1u);
}

// Addresses of functions and tables of variables are numbers of these.
TEST(EntryBodies, KeepTheOrderOfEverything) {
  const Module whole = parsed(kText), left = parsed(EntryBodies(kText).withOnly("third"));
  ASSERT_EQ(left.functions.size(), whole.functions.size());
  for (size_t n = 0; n < whole.functions.size(); ++n) {
    EXPECT_EQ(left.functions[n].name, whole.functions[n].name);
    EXPECT_EQ(left.functions[n].isDeclaration, whole.functions[n].isDeclaration);
  }
  ASSERT_EQ(left.variables.size(), whole.variables.size());
  EXPECT_EQ(left.variables[0].initial, whole.variables[0].initial);
}

TEST(EntryBodies, LeaveTextAloneThatTheyDoNotUnderstand) {
  for (const std::string text : {"", ".entry", ".entry k() {", ".entry k() \"", "}{", ". entry k() {}"})
    EXPECT_EQ(EntryBodies(text).withOnly("x"), text);
}

}  // namespace
}  // namespace vg::ptx
