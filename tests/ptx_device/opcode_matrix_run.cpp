// opcode_matrix_run [--digests] LIBCUDA OUTPUT [FILTER...]: runs every case of the opcode matrix whose name contains a
// FILTER through cuModuleLoadData of the given libcuda.so.1 and writes what the device answered. Cases that the driver
// does not load are recorded with its error and listed with the first lines of its log. One that ends the context costs
// only itself: another process goes on behind it.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "ptx_device/runner.h"
#include "unit/ptx/opcode_record.h"

using namespace vg::ptx::matrix;

namespace {

// Runs cases until one of them ends the context; the number of the next one.
size_t runFrom(const char* library, RecordWriter& writer, const std::vector<Case>& cases, size_t first) {
  constexpr size_t kBatch = 64;
  const Driver driver = open(library);
  Runner runner(driver, [&](const Case& c, const Record& record) { writer.write(c, record); });
  for (size_t end; first < cases.size(); first = end) {
    end = std::min(first + kBatch, cases.size());
    const size_t done = runner.run(cases, first, end);
    if (done < end) return done;
  }
  return first;
}

size_t inAnotherProcess(const char* library, RecordWriter& writer, const std::vector<Case>& cases, size_t first) {
  int ends[2];
  if (pipe(ends) != 0) require(CUDA_ERROR_OPERATING_SYSTEM, "pipe");
  writer.flush();
  const pid_t child = fork();
  if (child == 0) {
    const size_t done = runFrom(library, writer, cases, first);
    writer.flush();
    _exit(write(ends[1], &done, sizeof done) == sizeof done ? 0 : 2);
  }
  close(ends[1]);
  size_t done = 0;
  const bool told = child > 0 && read(ends[0], &done, sizeof done) == sizeof done;
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  if (!told) std::exit(2);
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  const bool digests = argc > 1 && !std::strcmp(argv[1], "--digests");
  if (digests) --argc, ++argv;
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s [--digests] LIBCUDA OUTPUT [FILTER...]\n", argv[0]);
    return 2;
  }
  std::vector<Case> cases;
  for (Case& c : everyCase())
    if (argc < 4 ||
        std::any_of(argv + 3, argv + argc, [&](const char* part) { return c.name.find(part) != c.name.npos; }))
      cases.push_back(std::move(c));
  RecordWriter writer(argv[2], digests);
  if (!writer.ok()) {
    std::fprintf(stderr, "cannot write %s\n", argv[2]);
    return 2;
  }
  size_t done = 0;
  while (done < cases.size()) done = inAnotherProcess(argv[1], writer, cases, done);
  std::printf("%zu cases\n", cases.size());
  return writer.ok() ? 0 : 1;
}
