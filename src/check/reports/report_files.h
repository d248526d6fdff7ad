// The list of faults as files for other programs: VERDIGRIS_CHECK_OUTPUT. A name that ends in .sarif is written as
// SARIF 2.1.0, .xml as JUnit has it, .json as a list of objects, others as text.
#pragma once

#include <vector>

#include "check/reports/fault.h"

namespace vg::check {

void writeReportFiles(const std::vector<FaultRecord>& records);

}  // namespace vg::check
