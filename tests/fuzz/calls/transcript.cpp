#include "transcript.h"

#include <dlfcn.h>
#include <unistd.h>

#include "objects.h"

namespace calls {

Progress* progress;
std::FILE* transcript;

namespace {

constexpr int kNoLibrary = 90;

uint64_t state;
void* library;
std::string function, arguments, outputs, tags;
CUresult result;
bool open;  // the call was answered, its outputs are coming

void clearLine() {
  open = false;
  arguments.clear();
  outputs.clear();
  tags.clear();
}

std::string resultName(CUresult code) {
  const char* name = nullptr;
  if (CALL(cuGetErrorName, code, &name) == CUDA_SUCCESS && name) return name;
  return text(static_cast<int>(code));
}

}  // namespace

void beginOperation(unsigned seed, unsigned place) {
  clearLine();
  state = uint64_t{seed} * 0x1000003 + uint64_t{place} * 0x9e3779b1 + 12345;
  randomWord();
}

uint64_t randomWord() {  // splitmix64
  state += 0x9e3779b97f4a7c15;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

size_t anySize() {
  switch (below(8)) {
    case 0:
      return oneOf<size_t>({0, 1, 2, 3, 4, 7, 8, 15});
    case 1:
      return 1 + below(64);
    case 2:
      return size_t{1} << below(18);
    case 3:
      return (size_t{1} << below(18)) + 1;
    case 4:
      return below(70000);
    case 5:
      return 4 * below(5000);
    case 6:
      return 512 * below(64);
    default:
      return oneOf<size_t>({4096, 65536, 131072, 65535, 512, 511, 513});
  }
}

void openLibrary(const char* path) {
  library = dlopen(path, RTLD_NOW);
  if (library) return;
  std::fprintf(stderr, "%s\n", dlerror());
  _exit(kNoLibrary);
}

void* findEntryPoint(const char* name) { return dlsym(library, name); }

void* entryPoint(const char* name) {
  if (void* const entry = findEntryPoint(name)) return entry;
  std::fprintf(stderr, "the library has no %s\n", name);
  _exit(kNoLibrary);
}

void beginLine(const char* name) {
  endLine();
  function = name;
}

void noteLine() {
  std::snprintf(progress->call, sizeof progress->call, "%u\t%u\t%s\t%s\t%s", progress->seed, progress->line,
                function.c_str(), tags.c_str(), arguments.c_str());
}

CUresult answered(CUresult code) {
  result = code;
  open = true;
  return code;
}

void endLine() {
  if (!open) return;
  std::fprintf(transcript, "%u\t%u\t%s\t%s\t%s\t%s\t%s\n", progress->seed, progress->line, function.c_str(),
               tags.c_str(), arguments.c_str(), resultName(result).c_str(), outputs.c_str());
  std::fflush(transcript);  // a crash takes nothing with it
  ++progress->line;
  clearLine();
}

void describe(const char* name, const std::string& value) {
  endLine();
  arguments += (arguments.empty() ? "" : " ") + std::string(name) + "=" + value;
}

void output(const char* name, const std::string& value) {
  if (result == CUDA_SUCCESS) outputAlways(name, value);
}

void outputAlways(const char* name, const std::string& value) {
  outputs += (outputs.empty() ? "" : " ") + std::string(name) + "=" + value;
}

void tag(const char* whatIsWrong) {
  endLine();
  tags += (tags.empty() ? "" : ", ") + std::string(whatIsWrong);
}

bool wrong(const char* what, int percent) {
  const bool is = chance(percent);
  if (is) tag(what);
  return is;
}

void settle() {
  if (capturing) return;
  const std::string before = function;
  const CUresult code = CALL(cuCtxSynchronize);
  if (code == CUDA_SUCCESS) return;
  beginLine("cuCtxSynchronize");
  describe("after", before);
  answered(code);
}

std::string text(uint64_t value) {
  char shown[32];
  const auto number = static_cast<long long>(value);
  std::snprintf(shown, sizeof shown, number > -10000 && number < 10000 ? "%lld" : "0x%llx", number);
  return shown;
}

std::string text(int value) { return text(static_cast<uint64_t>(static_cast<long long>(value))); }

std::string text(double value) {
  char shown[40];
  std::snprintf(shown, sizeof shown, "%g", value);
  return shown;
}

uint64_t hashOf(const void* bytes, size_t count) {  // FNV-1a
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < count; ++i) hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * 1099511628211u;
  return hash & 0xffffffff;
}

void pickOf(const std::vector<Weighted>& operations) {
  int total = 0;
  for (const Weighted& candidate : operations) total += candidate.weight;
  int left = belowInt(total);
  for (const Weighted& candidate : operations)
    if ((left -= candidate.weight) < 0) return candidate.operation();
}

}  // namespace calls
