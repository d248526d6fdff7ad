// The program whose order of work the test looks at.
#pragma once

namespace interleaving {

// Runs every part and prints a line of each: its name and what came out. Parts whose name begins with "right" have one
// right answer whatever the order, the others one for each order.
int runSubject(bool untold);

}  // namespace interleaving
