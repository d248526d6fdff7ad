#include "tools/replay.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "record/reader.h"
#include "replay/list.h"
#include "replay/player.h"
#include "tools/common/installation.h"
#include "tools/run.h"

namespace vg::tools {

namespace {

enum Status { kSame, kDiffers, kUnusable, kIncomplete };

int refuse(const std::string& reason) {
  std::fprintf(stderr, "verdigris replay: %s\n", reason.c_str());
  return kUnusable;
}

unsigned long long number(uint64_t value) { return value; }

int tell(const replay::PlayReport& report) {
  std::printf("%llu calls made, %llu copies to the host and %llu parts of host memory compared: ", number(report.calls),
              number(report.copies), number(report.results));
  if (report.differences)
    std::printf("%llu differ\n", number(report.differences));
  else
    std::printf("all as recorded\n");
  if (report.missing) std::printf("%llu calls could not be made\n", number(report.missing));
  if (report.movedBytes)
    std::printf(
        "%llu bytes of memory lie elsewhere than they did: addresses in parameters and in data were exchanged\n",
        number(report.movedBytes));
  if (report.differences) return kDiffers;
  return report.missing ? kIncomplete : kSame;
}

}  // namespace

int replay(const ReplayOptions& options) {
  if (options.file.empty()) return refuse("no recording given; usage: verdigris replay [OPTIONS] FILE");
  if (!options.devices.empty() && !isDeviceList(options.devices))
    return refuse("--devices " + options.devices + ": expected " + kDeviceListForm);
  if (!options.devices.empty()) setenv("VERDIGRIS_DEVICES", options.devices.c_str(), 1);
  const Installation installation = findInstallation(options.libraryFolder);
  replay::PlayOptions play{options.library.empty() ? installation.library() : options.library};
  play.until = options.until;
  play.ownAddresses = options.ownAddresses;
  play.verbose = options.verbose;
  play.patience = options.patience;
  try {
    record::Reader reader(options.file);
    if (options.list) {
      replay::list(reader, options.until);
      return kSame;
    }
    replay::Player player(reader, play);
    const replay::PlayReport report = player.play();
    const int status = tell(report);
    std::fflush(stdout);
    if (report.stuck) _exit(status);  // a thread of ours will never come back
    return status;
  } catch (const std::exception& error) {
    return refuse(error.what());
  }
}

}  // namespace vg::tools
