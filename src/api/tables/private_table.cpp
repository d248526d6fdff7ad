#include "api/tables/private_table.h"

#include <cstdio>

#include "api/entry/entry_points.h"
#include "api/tables/device_report.h"
#include "base/settings.h"
#include "check/reports/report.h"
#include "host_register/page_locker.h"

namespace vg::api {

namespace {

void countEntryPoints(unsigned* live, unsigned* stubs) {
  const Coverage figure = coverage();
  *live = figure.live;
  *stubs = figure.stubs;
}

void visitEntryPoints(void (*visit)(void*, const char*, bool), void* state) {
  for (size_t row = 0; row < kEntryPointCount; ++row) {
    const EntryPoint entry = entryPoint(row);
    visit(state, entry.symbol, entry.live);
  }
}

void visitSettings(void (*visit)(void*, const char*, const char*, const char*, const char*), void* state) {
  for (const SettingRow& row : settingRows()) visit(state, row.variable, row.fallback, row.meaning, row.value.c_str());
}

void tellHostLocking(char* text, size_t size) {
  std::snprintf(text, size, "%s", host_register::lockingMethod().c_str());
}

constexpr PrivateTable kTable = {sizeof(PrivateTable), VERDIGRIS_VERSION,    countEntryPoints,
                                 visitEntryPoints,     visitSettings,        tellHostLocking,
                                 reportDevice,         check::takeNewFaults, visitOtherProcesses};

}  // namespace

const PrivateTable& privateTable() { return kTable; }

}  // namespace vg::api
