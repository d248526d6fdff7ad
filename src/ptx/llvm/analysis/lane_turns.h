// Lanes of a warp that wait for each other: for a flag that another one sets, for a lock that another one holds.
//
// Divergent regions run in linear order, block after block, each under the mask of its lanes, and a loop until no lane
// is left in it. Where one waits for others of its warp (Loop::takesTurns), these have to come on meanwhile. Its region
// takes turns then: a loop that waits is run once in each pass of linear order, with all lanes that are there, and the
// region until no lane waits. It reaches as far as others may wait for what lanes do that have left the loop: to the
// next place where all lanes meet anyway, or to behind the last store.
//
// Lanes come to a block of such a region at different times. So its phis and what it reads vary, and values that leave
// a block are kept lane by lane (Emitter::blended).
//
// Lanes of several branches, or of a branch and behind it, may meet by a mask, too: bar.warp.sync in two branches lets
// those of both go on when all have come to one of them, while linear order would let the first go on at once. Such
// meetings are held (CodeExpander::expandHold): lanes tell that they have come, and wait in a loop, as for a flag,
// until all that the mask names have told so or are not in the region any more. Shuffles, votes, matches and reductions
// of one kind and mask are one operation in the same way (CodeExpander::expandJoint).
//
// Functions that call themselves, and those that are in a kernel once, are states of one loop, to which lanes come in
// different passes: there all meetings are held, and those of whole warps too, such as matrix instructions.
//
// So are barriers of the block to which lanes of a warp come apart (CodeExpander::expandPartedBarrier): each lane says
// which one it has come to, and the warp comes when all in the region have said so.
#pragma once

#include <set>

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

// Marks regions around the loops that findPolls has found, and moves the places where their lanes meet. Returns whether
// anything is new: shapes and regions have to be found again. Requires formComponents.
bool letLanesTakeTurns(Program& program);

bool lanesTakeTurns(const Program& program);

// Whether the results of an instruction depend on when it runs, not on its operands alone.
bool dependsOnTime(const Program& program, const Instruction& i);

// Whether others may wait for what an instruction does.
bool maySignal(const Instruction& i);

// parted_meetings.cpp
using Meetings = std::set<const ptx::Instruction*>;  // only asked for members: no order of addresses is seen
// The barriers and operations of a warp to which lanes may come by different branches, and that may be one meeting.
Meetings partedMeetings(const Program& program);
// What lanes do together whom a mask names that need not be all: they may come at different times where lanes take
// turns.
Meetings groupMeetings(const Program& program);
// parted_barriers.cpp
// The barriers of the block that lanes of a warp come to apart, for all that is known.
Meetings partedBarriers(const Program& program);

}  // namespace vg::ptx::gen
