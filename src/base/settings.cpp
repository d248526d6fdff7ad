#include "base/settings.h"

#include <strings.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/undying.h"

namespace vg {
namespace {

std::string fromEnvironment(const char* variable, const char* fallback) {
  const char* value = std::getenv(variable);
  return value ? value : fallback;
}

}  // namespace

const Settings& settings() {
  return undyingFrom<Settings>([] {
    return Settings{
#define VG_SETTING_READ(field, variable, fallback, meaning) fromEnvironment(variable, fallback),
        VG_SETTINGS(VG_SETTING_READ)
#undef VG_SETTING_READ
    };
  });
}

std::vector<SettingRow> settingRows() {
  const Settings& s = settings();
  return {
#define VG_SETTING_ROW(field, variable, fallback, meaning) {variable, fallback, meaning, s.field},
      VG_SETTINGS(VG_SETTING_ROW)
#undef VG_SETTING_ROW
  };
}

std::string kernelCacheFolder() {
  if (truthy(settings().cacheDisable)) return "";
  if (!settings().cachePath.empty()) return settings().cachePath;
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache == '/') return std::string(cache) + "/verdigris";
  // A home that is not there is nobody's: root could make it, and leave it behind.
  const char* const home = std::getenv("HOME");
  struct stat status;
  const bool there = home && *home == '/' && stat(home, &status) == 0 && S_ISDIR(status.st_mode);
  return there ? std::string(home) + "/.cache/verdigris" : "";
}

unsigned long long parseBytes(const std::string& text) {
  char* end = nullptr;
  if (text.empty() || !std::isdigit(static_cast<unsigned char>(text[0]))) return 0;
  const double number = std::strtod(text.c_str(), &end);
  const std::string suffix = end;
  int shift = 0;
  if (!suffix.empty() && !(suffix == "B" || suffix == "b")) {
    switch (std::tolower(static_cast<unsigned char>(suffix[0]))) {
      case 'k':
        shift = 10;
        break;
      case 'm':
        shift = 20;
        break;
      case 'g':
        shift = 30;
        break;
      case 't':
        shift = 40;
        break;
      default:
        return 0;
    }
    const std::string unit = suffix.substr(1);
    if (!unit.empty() && strcasecmp(unit.c_str(), "iB") != 0 && strcasecmp(unit.c_str(), "B") != 0) return 0;
  }
  const double bytes = number * static_cast<double>(1ull << shift);
  return bytes < 9e18 ? static_cast<unsigned long long>(bytes) : 0;
}

std::optional<uint64_t> parseSeconds(const std::string& text) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !(seconds >= 0)) return {};
  return static_cast<uint64_t>(std::min(seconds, 1e9) * 1e9);
}

std::vector<std::string> splitList(const std::string& text, char separator) {
  std::vector<std::string> items;
  if (text.empty()) return items;
  size_t start = 0;
  for (size_t at; (at = text.find(separator, start)) != std::string::npos; start = at + 1)
    items.push_back(text.substr(start, at - start));
  items.push_back(text.substr(start));
  return items;
}

bool truthy(const std::string& text) {
  return text == "1" || !strcasecmp(text.c_str(), "true") || !strcasecmp(text.c_str(), "yes") ||
         !strcasecmp(text.c_str(), "on");
}

}  // namespace vg
