#include "record.h"

#include <cuda.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <set>
#include <sstream>

#include "library.h"
#include "rules.h"

namespace suite {
namespace {

// libcuda.so.580.159.04 carries its version; libcuda.so.1 does not.
std::string versionOf(const std::string& file) {
  const size_t at = file.rfind(".so.");
  const std::string version = at == std::string::npos ? "" : file.substr(at + 4);
  return version.find('.') == std::string::npos ? "unversioned" : version;
}

// In the child: "device\tdriver\tcuda", or "!" and a message.
std::string ask(const std::string& library) {
  std::string error;
  if (!openLibrary(library, &error)) return "!" + error;
  CUdevice device = 0;
  char name[256] = "";
  int cuda = 0;
  const CUresult result = cuInit(0);
  if (result != CUDA_SUCCESS) return "!cuInit answers " + std::to_string(result);
  if (cuDeviceGet(&device, 0) != CUDA_SUCCESS || cuDeviceGetName(name, sizeof name, device) != CUDA_SUCCESS)
    return "!there is no device";
  cuDriverGetVersion(&cuda);
  return std::string(name) + '\t' + versionOf(libraryFile()) + '\t' + std::to_string(cuda);
}

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

}  // namespace

bool describe(const std::string& library, Subject* subject, std::string* error) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const pid_t child = fork();
  if (child == 0) {
    const std::string answer = ask(library);
    _exit(write(ends[1], answer.data(), answer.size()) < 0);
  }
  close(ends[1]);
  std::string answer;
  char buffer[512];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) answer.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  if (answer.empty() || answer[0] == '!') {
    *error = answer.empty() ? "the library ended the process that opened it" : answer.substr(1);
    return false;
  }
  std::istringstream words(answer);
  std::getline(words, subject->device, '\t');
  std::getline(words, subject->driver, '\t');
  words >> subject->cuda;
  return true;
}

void writeRecord(std::ostream& out, const Subject& subject, const std::vector<Outcome>& outcomes) {
  out << "# device\t" << subject.device << "\n# driver\t" << subject.driver << "\n# cuda\t" << subject.cuda << '\n';
  out << "test\trules\tresult\tdiffers\tdetail\n";
  for (const Outcome& outcome : outcomes)
    out << outcome.test << '\t' << join(outcome.rules) << '\t' << outcome.result << '\t' << join(outcome.differs)
        << '\t' << outcome.detail << '\n';
}

bool summarise(const Subject& subject, const std::vector<Outcome>& outcomes) {
  size_t passed = 0, skipped = 0;
  std::set<std::string> rules;
  for (const Outcome& outcome : outcomes) {
    passed += outcome.result == "pass";
    skipped += outcome.result == "skip";
    if (outcome.result == "pass") rules.insert(outcome.rules.begin(), outcome.rules.end());
  }
  const size_t failed = outcomes.size() - passed - skipped;
  fprintf(stderr, "%s, driver %s: %zu tests passed, %zu failed, %zu skipped; %zu of %zu rules proven\n",
          subject.device.c_str(), subject.driver.c_str(), passed, failed, skipped, rules.size(), kRuleCount);
  return failed == 0;
}

}  // namespace suite
