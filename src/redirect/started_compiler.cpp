#include "redirect/started_compiler.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
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
  if (!isCompiler(program)) return;
  const std::string folder = ownFolder();
  const std::string driver = realPath(folder + "/libcuda.so.1"), command = commandBeside(folder);
  if (!driver.empty() && !command.empty() && wantedForTheDriver(driver)) become(command, program);
}

}  // namespace vg::redirect
