#include "tools/stand_in.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/facts/register_limit.h"
#include "tools/common/capabilities.h"
#include "tools/common/installation.h"
#include "tools/stand_in/options.h"
#include "tools/stand_in/ptx_checker.h"

namespace vg::tools {
namespace {

constexpr int kFailed = 255;                      // of ptxas and nvlink
constexpr char kDefaultArchitecture[] = "sm_75";  // of CUDA 13's

struct Compiler {
  std::string name;      // of messages
  std::string original;  // the program that was started
  std::vector<std::string> words;
  StandInOptions options;
};

[[gnu::format(printf, 2, 3)]] int fatal(const Compiler& compiler, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::fprintf(stderr, "%s fatal   : ", compiler.name.c_str());
  std::vfprintf(stderr, format, arguments);
  std::fputc('\n', stderr);
  va_end(arguments);
  return kFailed;
}

// The program itself, which this process becomes. Without LD_AUDIT it stays what it is.
int original(const Compiler& compiler) {
  unsetenv("LD_AUDIT");
  std::vector<char*> arguments = {const_cast<char*>(compiler.original.c_str())};
  for (const std::string& word : compiler.words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  return fatal(compiler, "%s cannot be started: %s", arguments[0], std::strerror(errno));
}

// What the program says, and a line more: programs keep code by their compiler's version, and code for a real GPU must
// not be taken for this.
int version(const Compiler& compiler) {
  const pid_t child = fork();
  if (!child) _exit(original(compiler));
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return kFailed;
  std::puts("Redirected by Verdigris: gives the PTX back");
  return WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
}

// sm_90a -> 9.0, sm_121 -> 12.1.
std::string capabilityOf(const std::string& architecture) {
  const size_t begin = architecture.find('_') + 1;
  const size_t end = architecture.find_first_not_of("0123456789", begin);
  const std::string digits = architecture.substr(begin, end == std::string::npos ? end : end - begin);
  if (digits.size() < 2) return {};
  return digits.substr(0, digits.size() - 1) + "." + digits.back();
}

bool readFile(const std::string& path, std::string& to) {
  std::ifstream in(path, std::ios::binary);
  to.assign(std::istreambuf_iterator<char>(in), {});
  return in.good() || in.eof();
}

// With its final zero: programs hand it to cuModuleLoadData as they would native code, which knows its own size.
bool writeFile(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out.write(text.c_str(), static_cast<std::streamsize>(text.size() + 1));
  return out.flush().good();
}

bool isText(const std::string& bytes) {
  const size_t zero = bytes.find('\0');
  return bytes.find(".version") < (zero == std::string::npos ? bytes.size() : zero);
}

// "line 12: what is wrong" -> "ptxas FILE, line 12; error   : what is wrong". Text that is too new is fatal.
void printErrors(const Compiler& compiler, const std::string& input, const std::string& errors) {
  std::istringstream lines(errors);
  for (std::string line; std::getline(lines, line);) {
    int number = 0, length = 0;
    const bool placed = std::sscanf(line.c_str(), "line %d: %n", &number, &length) == 1 && length;
    const char* what = line.c_str() + length;
    const std::string where = placed ? input + ", line " + std::to_string(number) + "; " : "";
    const char* grade = std::string_view(what).starts_with("Unsupported .version") ? "fatal  " : "error  ";
    std::fprintf(stderr, "%s %s%s : %s\n", compiler.name.c_str(), where.c_str(), grade, what);
  }
}

void printKernels(const Compiler& compiler, const std::vector<PtxChecker::Kernel>& kernels) {
  for (const PtxChecker::Kernel& kernel : kernels)
    std::fprintf(stderr,
                 "ptxas info    : Compiling entry function '%s' for '%s'\n"
                 "ptxas info    : Function properties for %s\n"
                 "    %d bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                 "ptxas info    : Used %d registers, used 0 barriers, %d bytes smem, %d bytes cmem[0]\n",
                 kernel.name.c_str(), compiler.options.architecture.c_str(), kernel.name.c_str(), kernel.localBytes,
                 kernel.registers, kernel.sharedBytes, kernel.constantBytes);
}

std::unique_ptr<PtxChecker> checkerFor(const Compiler& compiler) {
  const std::string capability = capabilityOf(compiler.options.architecture);
  if (!isKnownCapability(capability)) {
    fatal(compiler, "Value '%s' is not defined for option 'gpu-name'", compiler.options.architecture.c_str());
    return nullptr;
  }
  std::string reason;
  std::unique_ptr<PtxChecker> checker = PtxChecker::open(findInstallation("").library(), capability, reason);
  if (!checker) fatal(compiler, "Verdigris's driver cannot be used: %s", reason.c_str());
  return checker;
}

int write(const Compiler& compiler, const std::string& text) {
  if (writeFile(compiler.options.output, text)) return 0;
  return fatal(compiler, "Could not open output file '%s'", compiler.options.output.c_str());
}

int assemble(Compiler& compiler) {
  StandInOptions& options = compiler.options;
  if (options.output.empty()) options.output = "elf.o";
  if (options.inputs.size() + options.texts.size() != 1)
    return fatal(compiler, "%zu inputs; Verdigris takes one at a time", options.inputs.size() + options.texts.size());
  const std::string input = options.inputs.empty() ? "<string>" : options.inputs[0];
  std::string text = options.texts.empty() ? "" : options.texts[0];
  if (!options.inputs.empty() && !readFile(input, text))
    return fatal(compiler, "Could not open input file '%s'", input.c_str());
  if (options.maxRegisters) text = ptx::withRegisterLimit(text.c_str(), options.maxRegisters);
  const std::unique_ptr<PtxChecker> checker = checkerFor(compiler);
  if (!checker) return kFailed;
  const PtxChecker::Answer answer = checker->check(text);
  if (!answer.errors.empty() && !(options.relocatable && answer.unresolved)) {
    printErrors(compiler, input, answer.errors);
    return fatal(compiler, "Ptx assembly aborted due to errors");
  }
  if (options.verbose) printKernels(compiler, answer.kernels);
  return write(compiler, text.c_str());
}

// What it is given is the PTX that ptxas gave back. Anything else is linked by the program itself.
int link(Compiler& compiler) {
  StandInOptions& options = compiler.options;
  if (options.output.empty()) options.output = "a.out";
  std::vector<PtxChecker::Part> parts;
  bool texts = false;
  for (const std::string& input : options.inputs) {
    PtxChecker::Part part{input, "", input.ends_with(".a")};
    if (!readFile(input, part.bytes)) return original(compiler);
    if (!part.library && !isText(part.bytes)) return original(compiler);
    texts |= !part.library;
    parts.push_back(std::move(part));
  }
  if (!texts) return original(compiler);
  const std::unique_ptr<PtxChecker> checker = checkerFor(compiler);
  if (!checker) return kFailed;
  std::string errors;
  const std::string text = checker->link(parts, errors);
  if (!text.empty()) return write(compiler, text);
  printErrors(compiler, "link", errors);
  return fatal(compiler, "merge_elf failed");
}

}  // namespace

int standIn(int count, char** words) {
  if (count < 2) return kFailed;
  Compiler compiler{std::string(words[0]) == "nvlink" ? "nvlink" : "ptxas", words[1], {words + 2, words + count}, {}};
  compiler.options = readStandInOptions(compiler.words);
  if (compiler.options.other) return original(compiler);
  if (compiler.options.version) return version(compiler);
  if (compiler.options.architecture.empty()) compiler.options.architecture = kDefaultArchitecture;
  return compiler.name == "nvlink" ? link(compiler) : assemble(compiler);
}

}  // namespace vg::tools
