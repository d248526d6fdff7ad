#include "tools/stand_in/options.h"

#include <cstdlib>
#include <fstream>
#include <set>

namespace vg::tools {
namespace {

// Options whose value may be the next word. Others have none, or hold it behind "=" or at once, such as -O3.
bool takesValue(const std::string& name) {
  static const std::set<std::string> all = {"Ofast-compile",
                                            "Ofc",
                                            "allow-expensive-optimizations",
                                            "def-load-cache",
                                            "dlcm",
                                            "def-store-cache",
                                            "dscm",
                                            "device-function-maxrregcount",
                                            "func-maxrregcount",
                                            "device-stack-protector",
                                            "entry",
                                            "e",
                                            "fmad",
                                            "force-load-cache",
                                            "flcm",
                                            "force-store-cache",
                                            "fscm",
                                            "gpu-name",
                                            "arch",
                                            "input-as-string",
                                            "ias",
                                            "machine",
                                            "m",
                                            "maxntid",
                                            "maxrregcount",
                                            "minnctapersm",
                                            "opt-level",
                                            "O",
                                            "options-file",
                                            "optf",
                                            "output-file",
                                            "o",
                                            "position-independent-code",
                                            "pic",
                                            "register-usage-level",
                                            "regUsageLevel",
                                            "sanitize",
                                            "split-compile",
                                            "split-compile-extended",
                                            "Xnvvm",
                                            "Xptxas",
                                            "cpu-arch",
                                            "kernels-used",
                                            "variables-used",
                                            "library",
                                            "l",
                                            "library-path",
                                            "L",
                                            "nvvmpath",
                                            "register-link-binaries",
                                            "time"};
  return all.count(name);
}

class Reader {
 public:
  explicit Reader(StandInOptions& to) : to_(to) {}

  void read(const std::vector<std::string>& words) {
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (word.size() < 2 || word[0] != '-') {
        to_.inputs.push_back(word);
        continue;
      }
      std::string name = word.substr(word.find_first_not_of('-')), value;
      if (const size_t equals = name.find('='); equals != std::string::npos) {
        value = name.substr(equals + 1);
        name.resize(equals);
      } else if (takesValue(name) && i + 1 < words.size()) {
        value = words[++i];
      }
      option(name, value);
    }
  }

 private:
  void option(const std::string& name, const std::string& value) {
    const auto is = [&name](const char* whole, const char* brief) { return name == whole || name == brief; };
    if (is("gpu-name", "arch")) to_.architecture = value;
    if (is("output-file", "o")) to_.output = value;
    if (is("input-as-string", "ias")) to_.texts.push_back(value);
    if (is("options-file", "optf")) file(value);
    if (name == "maxrregcount") to_.maxRegisters = static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    if (is("verbose", "v")) to_.verbose = true;
    if (is("compile-only", "c") || is("extensible-whole-program", "ewp") || is("preserve-relocs", "relocatable-link"))
      to_.relocatable = true;
    if (is("version", "V")) to_.version = true;
    if (is("help", "h") || is("list-version", "version-ls") || name == "report-arch") to_.other = true;
  }

  // A file that names itself comes to an end, too.
  void file(const std::string& path) {
    if (depth_ == 8) return;
    std::ifstream in(path);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    ++depth_;
    read(words);
    --depth_;
  }

  StandInOptions& to_;
  int depth_ = 0;
};

}  // namespace

StandInOptions readStandInOptions(const std::vector<std::string>& words) {
  StandInOptions options;
  Reader(options).read(words);
  return options;
}

}  // namespace vg::tools
