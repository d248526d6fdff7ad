// What a driver answers about graphs that kernels launch and nodes that kernels change: one fact a line, as
// driver_probe prints them (../probe/README.md).
//   device_graph_probe LIBRARY [GROUP ...]
// The loader finds the library by its name; that it is named too makes the program one for ../compare. A group is any
// beginning of a name. Each case runs in a process of its own, so that a fault of one spoils no other. Left out are
// questions at which driver 580.159.04 does not come back: launches from bodies of conditional nodes, tail launches by
// several threads of a warp, a launch by the host while a kernel's runs, a tail launch of a graph that was destroyed.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "host.h"

namespace {

std::string group;

void begin() {
  cudaFree(nullptr);
  MUST(cuDeviceGet(&device, 0));
  MUST(cuCtxGetCurrent(&context));
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  MUST(cuStreamCreate(&secondStream, CU_STREAM_NON_BLOCKING));
  theLog = static_cast<Log*>(room(sizeof(Log)));
  sum = static_cast<int*>(room(1 << 16));
}

void inOwnProcess(const Group& wanted, int which) {
  std::fflush(stdout);
  const pid_t own = fork();
  if (!own) {
    alarm(20);
    begin();
    wanted.run(which);
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(own, &status, 0);
  if (WIFSIGNALED(status)) say("ended by signal", "%d in case %d", WTERMSIG(status), which);
}

bool asked(int count, char** arguments) {
  for (int i = 2; i < count; ++i)
    if (group.rfind(arguments[i], 0) == 0) return true;
  return count <= 2;
}

}  // namespace

void say(const std::string& fact, const char* format, ...) {
  char answer[4096];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(answer, sizeof answer, format, arguments);
  va_end(arguments);
  std::printf("%s\t%s\t%s\n", group.c_str(), fact.c_str(), answer);
  std::fflush(stdout);
}

int main(int count, char** arguments) {
  for (const std::vector<Group>& subject : {kMaking, kLaunching, kOrdering, kChanging, kUpdating})
    for (const Group& one : subject) {
      group = std::string("device-graphs.") + one.name;
      if (asked(count, arguments))
        for (int i = 0; i < one.cases; ++i) inOwnProcess(one, i);
    }
}
