// Goes through all parts of the driver API while something is refused (inject.c), and then again while nothing is: the
// second time all must be well. Exit status: 0, 5 for a wrong result, 6 when later calls do not work.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "shortage/subject.h"

namespace {

constexpr unsigned kSeconds = 30;  // what takes longer hangs

void (*arm)(int);
const char* only;  // a part, or null
bool compiles;

void runAll(Tally& tally) {
  for (int i = 0; i < kPartCount; ++i)
    if ((!only || !std::strcmp(only, kParts[i].name)) && (compiles || !kParts[i].kernels)) kParts[i].run(tally);
}

}  // namespace

int main(int argc, char** argv) {
  prepareDevices();
  only = argc > 1 && std::strcmp(argv[1], "all") ? argv[1] : nullptr;
  compiles = !std::getenv("SHORTAGE_NO_KERNELS");
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  arm = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "shortageArm"));
  const auto calls = reinterpret_cast<long (*)()>(dlsym(RTLD_DEFAULT, "shortageCalls"));
  alarm(kSeconds);
  Tally first, second;
  if (arm) arm(1);
  runAll(first);
  if (arm) arm(0);
  alarm(kSeconds);
  runAll(second);
  std::printf("refusals %ld calls %d failed %d wrong %d later failed %d wrong %d\n", calls ? calls() : 0, first.calls,
              first.failed, first.wrong, second.failed, second.wrong);
  std::fflush(stdout);
  if (first.wrong || second.wrong) return 5;
  return second.failed ? 6 : 0;
}
