// The programs ptxas and nvlink, run on files in a folder of their own.
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/log.h"
#include "cubin/compiler_tools.h"

extern char** environ;

namespace vg::cubin {
namespace {

using Words = std::vector<std::string>;

// A new folder that goes with all files that were named in it.
class Folder {
 public:
  Folder() {
    const char* const parent = std::getenv("TMPDIR");
    path_ = std::string(parent && *parent == '/' ? parent : "/tmp") + "/verdigris-XXXXXX";
    if (!mkdtemp(path_.data())) path_.clear();
  }
  Folder(const Folder&) = delete;
  ~Folder() {
    for (const std::string& file : files_) unlink(file.c_str());
    if (!path_.empty()) rmdir(path_.c_str());
  }
  explicit operator bool() const { return !path_.empty(); }
  std::string file(const std::string& name) {
    files_.push_back(path_ + "/" + name);
    return files_.back();
  }

 private:
  std::string path_;
  Words files_;
};

using File = std::unique_ptr<FILE, int (*)(FILE*)>;

bool writeFile(const std::string& path, const std::string& bytes) {
  const File file(std::fopen(path.c_str(), "wbe"), std::fclose);
  return file && std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size() && !std::fflush(file.get());
}

std::string readFile(const std::string& path) {
  std::string bytes;
  const File file(std::fopen(path.c_str(), "rbe"), std::fclose);
  char piece[64 * 1024];
  if (file)
    for (size_t got; (got = std::fread(piece, 1, sizeof piece, file.get())) > 0;) bytes.append(piece, got);
  return bytes;
}

std::string findProgram(const char* name) {
  for (const std::string& folder : compilerProgramFolders()) {
    std::string path = folder + "/" + name;
    struct stat status;
    if (folder.starts_with('/') && !stat(path.c_str(), &status) && S_ISREG(status.st_mode) &&
        !access(path.c_str(), X_OK))
      return path;
  }
  return {};
}

// What it says goes to `output`. False when it cannot be started or fails. A process that does not wait for children
// (SIGCHLD ignored) never learns the status: then the file that should have been made decides.
bool runProgram(const Words& words, const std::string& output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) return false;
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return errno == ECHILD;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// One request at work.
class Programs {
 public:
  Programs(const Request& request, const Logs& logs) : request_(request), logs_(logs) {}
  Outcome run(std::string& made);

 private:
  bool links() const {
    return request_.linked || request_.inputs.size() > 1 || request_.inputs[0].kind == InputKind::Cubin;
  }
  bool start(const Words& words);
  bool compileParts(Words& parts);

  const Request& request_;
  const Logs& logs_;
  Folder folder_;
  std::string ptxas_, nvlink_;
};

bool Programs::start(const Words& words) {
  const std::string output = folder_.file("output");
  const bool done = runProgram(words, output);
  std::string* const log = done ? logs_.info : logs_.error;
  if (log) *log += readFile(output);
  return done;
}

// The parts as files that nvlink takes; of a single text the whole program.
bool Programs::compileParts(Words& parts) {
  for (const Input& input : request_.inputs) {
    const std::string number = std::to_string(parts.size());
    parts.push_back(folder_.file(number + ".cubin"));
    if (input.kind == InputKind::Cubin) {
      if (!writeFile(parts.back(), input.bytes)) return false;
      continue;
    }
    const std::string text = folder_.file(number + ".ptx");
    if (!writeFile(text, input.bytes)) return false;
    Words words = {ptxas_, "-arch=" + request_.target(), text, "-o", parts.back()};
    if (links()) words.push_back("-c");
    if (request_.maxRegisters) words.push_back("-maxrregcount=" + std::to_string(request_.maxRegisters));
    if (!start(words)) return false;
  }
  return true;
}

Outcome Programs::run(std::string& made) {
  for (const Input& input : request_.inputs)
    if (input.kind != InputKind::Ptx && input.kind != InputKind::Cubin) return Outcome::NotThere;
  ptxas_ = findProgram("ptxas");
  if (links()) nvlink_ = findProgram("nvlink");
  if (ptxas_.empty() || (links() && nvlink_.empty()) || !folder_) return Outcome::NotThere;
  Words parts;
  if (!compileParts(parts)) return Outcome::Refused;
  std::string result = parts[0];
  if (links()) {
    result = folder_.file("linked.cubin");
    Words words = {nvlink_, "-arch=" + request_.target(), "-o", result};
    words.insert(words.end(), parts.begin(), parts.end());
    if (!start(words)) return Outcome::Refused;
  }
  made = readFile(result);
  return made.empty() ? Outcome::Refused : Outcome::Made;
}

}  // namespace

Outcome compileWithPrograms(const Request& request, std::string& made, const Logs& logs) {
  return Programs(request, logs).run(made);
}

}  // namespace vg::cubin
