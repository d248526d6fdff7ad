#include "redirect/started_compiler.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "redirect/surroundings.h"

namespace vg::redirect {
namespace {

// ptxas-blackwell is Triton's second copy.
bool isCompiler(const std::string& program) {
  return program == "ptxas" || program == "ptxas-blackwell" || program == "nvlink";
}

bool buildsPrograms(const std::string& program) { return program == "nvcc" || program.starts_with("clang"); }

// A cubin is a file that a program loads by itself: what gets built into programs is an object or a fat binary.
bool makesModule(const std::string& program, pid_t process) {
  if (program != "nvcc") return false;
  for (const std::string& word : argumentsOf(process))
    if (word == "-cubin" || word == "--cubin") return true;
  return false;
}

// The `verdigris` command, which is the stand-in: in a wheel beside this library, else as the installed folders lie.
std::string commandBeside(const std::string& folder) {
  for (const char* place : {"/verdigris", "/../bin/verdigris", "/../../bin/verdigris", "/../../../bin/verdigris"})
    if (const std::string path = realPath(folder + place); !path.empty() && !access(path.c_str(), X_OK)) {
      // Beside an installed library there is a folder of that name.
      if (access((path + "/.").c_str(), F_OK)) return path;
    }
  return {};
}

bool wantedForTheDriver(const std::string& driver) {
  for (pid_t process = getppid(); process > 0; process = parentOf(process)) {
    const std::string program = programOf(process);
    if (buildsPrograms(program) && !makesModule(program, process)) return false;
    if (hasMapped(process, driver)) return true;
  }
  return false;
}

// The options that make nvcc put PTX beside each native code that has none: for -gencode arch=compute_90,code=sm_90
// another with code=compute_90. None where one target is all that the output can have, or code is linked.
std::vector<std::string> ptxBeside(const std::vector<std::string>& words) {
  std::vector<std::string> targets, more;
  for (size_t k = 1; k < words.size(); ++k) {
    const std::string option = words[k].substr(0, words[k].find('='));
    for (const char* other : {"-cubin", "--cubin", "-ptx", "--ptx", "-dlink", "--device-link", "-optix-ir"})
      if (option == other) return {};
    if (option != "-gencode" && option != "--generate-code") continue;
    if (option != words[k])
      targets.push_back(words[k].substr(option.size() + 1));
    else if (k + 1 < words.size())
      targets.push_back(words[++k]);
  }
  for (const std::string& target : targets) {
    const std::string_view head = "arch=compute_";
    const size_t comma = target.find(',');
    if (!target.starts_with(head) || comma == target.npos) return {};
    const std::string architecture = target.substr(head.size(), comma - head.size());
    if (target.find("compute_", comma) != target.npos) return {};
    more.insert(more.end(), {"-gencode", "arch=compute_" + architecture + ",code=compute_" + architecture});
  }
  return more;
}

// In this process, whose name stays as it was started.
void startAgain(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(realPath("/proc/self/exe").c_str(), arguments.data());
}

void become(const std::string& command, const std::string& program) {
  std::vector<std::string> words = argumentsOf(getpid());
  if (words.empty()) return;
  words[0] = realPath("/proc/self/exe");
  words.insert(words.begin(), {command, "--stand-in", program});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(command.c_str(), arguments.data());
}

}  // namespace

void becomeStandIn() {
  const std::string program = programOf(getpid());
  const bool isNvcc = program == "nvcc";
  if (!isNvcc && !isCompiler(program)) return;
  const std::vector<std::string> words = argumentsOf(getpid());
  const std::vector<std::string> more = isNvcc ? ptxBeside(words) : std::vector<std::string>{};
  if (isNvcc && more.empty()) return;
  const std::string folder = ownFolder();
  const std::string driver = realPath(folder + "/libcuda.so.1"), command = commandBeside(folder);
  if (driver.empty() || command.empty() || !wantedForTheDriver(driver)) return;
  if (more.empty())
    become(command, program);
  else
    startAgain(words, more);
}

}  // namespace vg::redirect
