// Tables of small kernels whose lanes note what they see. Each case runs in a process of its own that is ended after
// some seconds, so that a hang is an answer. Arguments of the programs: `record` prints what is seen; `only NAME`
// prints it for one case; `few` says that kernels are interpreted.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "check.h"

constexpr unsigned kWords = 24, kBoxes = 8;

struct Lane {
  unsigned lane, warp;
  unsigned* record;
  unsigned* box;  // in shared memory
  unsigned recorded = 0;
  __device__ void note(unsigned word) { record[recorded++ * blockDim.x] = word; }
  __device__ void add(unsigned which = 0) { atomicAdd(box + which, 1u); }
  __device__ unsigned seen(unsigned which) const { return *static_cast<volatile unsigned*>(box + which); }
  __device__ void see(unsigned which = 0) { note(seen(which)); }
  // Later than all that does not wait for this lane.
  __device__ void late() {
#if __CUDA_ARCH__ >= 700
#pragma unroll 1
    for (int n = 0; n < 20; ++n) __nanosleep(5000);
#endif
  }
};

using Body = void (*)(Lane&);

template <Body kBody>
__global__ void kernel(unsigned* record) {
  __shared__ unsigned box[kBoxes];
  if (threadIdx.x < kBoxes) box[threadIdx.x] = 0;
  __syncthreads();
  Lane lane{threadIdx.x & 31, threadIdx.x >> 5, record + blockIdx.x * blockDim.x * kWords + threadIdx.x, box};
  kBody(lane);
}

enum class Compared {
  Always,
  Interpreted,  // compiled code does otherwise
  Never,        // undefined by the PTX manual
};

struct Case {
  const char* name;
  void (*kernel)(unsigned*);
  unsigned threads;
  const char* answer;  // of an H100
  Compared compared = Compared::Always;
};

// What the lanes of a block noted, word by word: "0-15:3 16-31:4; ...".
constexpr unsigned kNothing = 0xdeaddead;
inline std::string described(const unsigned* record, unsigned threads) {
  std::string text;
  for (unsigned word = 0; word < kWords; ++word) {
    const unsigned* row = record + word * threads;
    std::string line;
    for (unsigned from = 0, to; from < threads; from = to) {
      for (to = from + 1; to < threads && row[to] == row[from];) ++to;
      if (row[from] == kNothing) continue;
      if (!line.empty()) line += ' ';
      line += std::to_string(from) + "-" + std::to_string(to - 1) + ":" + std::to_string(row[from]);
    }
    if (line.empty()) break;
    if (word) text += "; ";
    text += line;
  }
  return text.empty() ? "nothing" : text;
}

// In a process of its own: prints what was seen; "varies" where launches or blocks differ.
inline int runCase(const Case& c, int launches) {
  constexpr unsigned kBlocks = 3;
  DeviceArray<unsigned> record(size_t{kBlocks} * c.threads * kWords);
  std::string seen;
  for (int launch = 0; launch < launches; ++launch) {
    CHECK(cudaMemset(record, 0, record.size() * sizeof(unsigned)));
    std::vector<unsigned> nothing(record.size(), kNothing);
    CHECK(cudaMemcpy(record, nothing.data(), nothing.size() * sizeof(unsigned), cudaMemcpyHostToDevice));
    c.kernel<<<kBlocks, c.threads>>>(record);
    const cudaError_t code = cudaDeviceSynchronize();
    if (code != cudaSuccess) {
      std::puts(cudaGetErrorName(code));
      std::fflush(stdout);
      std::_Exit(0);
    }
    const std::vector<unsigned> words = record.host();
    for (unsigned block = 0; block < kBlocks; ++block) {
      const std::string text = described(words.data() + block * c.threads * kWords, c.threads);
      if (seen.empty()) seen = text;
      if (seen == text) continue;
      std::printf("varies: %s | %s\n", seen.c_str(), text.c_str());
      return 0;
    }
  }
  std::puts(seen.c_str());
  return 0;
}

// The answer of a process that runs one case and is ended after some seconds.
inline std::string answerOf(const Case& c, int launches, int seconds) {
  int ends[2];
  EXPECT(pipe(ends) == 0);
  const pid_t child = fork();
  EXPECT(child >= 0);
  if (!child) {
    dup2(ends[1], 1);
    close(ends[0]);
    close(ends[1]);
    alarm(static_cast<unsigned>(seconds));
    const int status = runCase(c, launches);
    std::fflush(stdout);
    std::_Exit(status);
  }
  close(ends[1]);
  std::string text;
  char bytes[4096];
  for (ssize_t count; (count = read(ends[0], bytes, sizeof(bytes))) > 0;)
    text.append(bytes, static_cast<size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGALRM ? "hang" : "signal " + std::to_string(WTERMSIG(status));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// Of a long answer its checksum.
inline std::string shortened(const std::string& answer) {
  if (answer.size() <= 60) return answer;
  unsigned sum = 1;
  for (const char c : answer) sum = (sum ^ static_cast<unsigned char>(c)) * 16777619u;
  char text[24];
  std::snprintf(text, sizeof(text), "sum %08x", sum);
  return text;
}

// Where a GPU waits for ever, an emulated device may say so.
inline bool alike(const std::string& answer, const std::string& wanted) {
  if (wanted == "hang") return answer == "hang" || answer == "cudaErrorLaunchTimeout";
  return shortened(answer) == wanted;
}

template <size_t kCount>
int runCases(const Case (&cases)[kCount], int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const bool records = mode == "record", one = mode == "only" && argc > 2;
  const Compared most = mode == "few" ? Compared::Interpreted : Compared::Always;
  int wrong = 0;
  for (const Case& c : cases) {
    if (one ? std::strcmp(argv[2], c.name) != 0 : !records && c.compared > most) continue;
    const std::string answer = answerOf(c, records ? 10 : 2, records || !std::strcmp(c.answer, "hang") ? 4 : 40);
    if (records || one) {
      std::printf("%s\t%s\t%s\n", c.name, shortened(answer).c_str(), answer.c_str());
      std::fflush(stdout);
    } else if (!alike(answer, c.answer)) {
      std::fprintf(stderr, "%s: %s, not %s\n", c.name, answer.c_str(), c.answer);
      ++wrong;
    }
  }
  return records || one ? 0 : wrong ? 1 : passed();
}
