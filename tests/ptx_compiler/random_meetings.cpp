// What lanes and threads do together, and in memory: the parts of random kernels that are no control flow.
#include "ptx_compiler/random_control.h"

namespace vg::ptx::test {

// Among all that are known to be here, or each group of them with the same number for itself.
void ControlFlow::meet() {
  Name those = members();
  if (chance(25)) {
    const Name key = fresh('r', words_), same = fresh('r', words_);
    line("and.b32 %s, %s, 3;", key.c_str(), wordRegister().c_str());
    line("match.any.sync.b32 %s, %s, %s;", same.c_str(), key.c_str(), those.c_str());
    those = same;
  }
  if (counts_ && chance(60)) return countsApart(those);
  switch (below(7)) {
    case 0:
      return vote(those);
    case 1:
      return shuffle(those);
    case 2:
      return shuffleBetweenNeighbours(those);
    case 3:
      return reduce(those);
    case 4:
      return match(those);
    case 5:
      if (chance(30)) return roundsApart(those);
      if (chance(50)) return exchangeApart(those);
      return shares_ ? exchangeInWarp(those) : shuffle(those);
    default:
      return line("bar.warp.sync %s;", those.c_str());
  }
}

void ControlFlow::vote(const Name& members) {
  const Name p = condition();
  if (chance(40)) return line("vote.sync.ballot.b32 %s, %s, %s;", newWord().c_str(), p.c_str(), members.c_str());
  static constexpr const char* kVotes[] = {"any", "all", "uni"};
  const Name out = fresh('p', tests_);
  line("vote.sync.%s.pred %s, %s, %s;", oneOf(kVotes), out.c_str(), p.c_str(), members.c_str());
  scope_.tests.push_back(out);
}

// From any one of them.
void ControlFlow::shuffle(const Name& members) {
  const Name from = fresh('r', words_), several = fresh('r', words_), value = wordRegister();
  line("popc.b32 %s, %s;", several.c_str(), members.c_str());
  line("rem.u32 %s, %s, %s;", from.c_str(), wordRegister().c_str(), several.c_str());
  line("add.u32 %s, %s, 1;", from.c_str(), from.c_str());
  line("fns.b32 %s, %s, 0, %s;", from.c_str(), members.c_str(), from.c_str());
  const auto take = [&](const Name& to, const Name& what) {
    line("shfl.sync.idx.b32 %s, %s, %s, 31, %s;", to.c_str(), what.c_str(), from.c_str(), members.c_str());
  };
  if (chance(80)) return take(newWord(), value);
  const Unwritten u = pickUnwritten(), got{fresh('r', words_), fresh('r', words_)};
  take(got.name, u.name);
  take(got.written, u.written);
  readUnwritten(got);
}

// Values of lanes that do not come along mean nothing and are not used.
void ControlFlow::shuffleBetweenNeighbours(const Name& members) {
  const uint32_t way = below(3), distance = 1 + below(20), width = 32u >> below(3);
  const char* const kWays[] = {"up", "down", "bfly"};
  const char* const kSources[] = {"sub.u32", "add.u32", "xor.b32"};
  const uint32_t clamp = (32 - width) << 8 | (way == 0 ? 0 : 31);
  const Name value = wordRegister(), got = fresh('r', words_), inside = fresh('p', tests_), from = fresh('r', words_);
  line("shfl.sync.%s.b32 %s|%s, %s, %u, %u, %s;", kWays[way], got.c_str(), inside.c_str(), value.c_str(), distance,
       clamp, members.c_str());
  line("%s %s, %s, %u;", kSources[way], from.c_str(), lane_.c_str(), distance);
  line("shr.u32 %s, %s, %s;", from.c_str(), members.c_str(), from.c_str());
  line("and.b32 %s, %s, 1;", from.c_str(), from.c_str());
  const Name known = newTest();
  line("setp.eq.u32 %s, %s, 1;", known.c_str(), from.c_str());
  line("not.pred %s, %s;", inside.c_str(), inside.c_str());
  line("or.pred %s, %s, %s;", known.c_str(), known.c_str(), inside.c_str());
  line("selp.b32 %s, %s, 77, %s;", newWord().c_str(), got.c_str(), known.c_str());
}

void ControlFlow::reduce(const Name& members) {
  static constexpr const char* kOps[] = {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32",
                                         "max.s32", "and.b32", "or.b32",  "xor.b32"};
  const Name value = wordRegister();
  line("redux.sync.%s %s, %s, %s;", oneOf(kOps), newWord().c_str(), value.c_str(), members.c_str());
}

void ControlFlow::match(const Name& members) {
  const Name value = fresh('r', words_);
  line("and.b32 %s, %s, %u;", value.c_str(), wordRegister().c_str(), chance(50) ? 1 : 6);
  if (chance(60)) return line("match.any.sync.b32 %s, %s, %s;", newWord().c_str(), value.c_str(), members.c_str());
  const Name all = fresh('p', tests_);
  line("match.all.sync.b32 %s|%s, %s, %s;", newWord().c_str(), all.c_str(), value.c_str(), members.c_str());
  scope_.tests.push_back(all);
}

// Each lane reads the word of the next one that is here.
void ControlFlow::exchangeInWarp(const Name& members) {
  const Name mine = sharedWord("words", thread_), from = fresh('r', words_), several = fresh('r', words_);
  line("st.shared.u32 [%s], %s;", mine.c_str(), wordRegister().c_str());
  line("bar.warp.sync %s;", members.c_str());
  line("popc.b32 %s, %s;", several.c_str(), members.c_str());
  line("rem.u32 %s, %s, %s;", from.c_str(), lane_.c_str(), several.c_str());
  line("add.u32 %s, %s, 1;", from.c_str(), from.c_str());
  line("fns.b32 %s, %s, 0, %s;", from.c_str(), members.c_str(), from.c_str());
  line("sub.u32 %s, %s, %s;", several.c_str(), thread_.c_str(), lane_.c_str());
  line("add.u32 %s, %s, %s;", from.c_str(), from.c_str(), several.c_str());
  const Name theirs = sharedWord("words", from);
  line("ld.shared.u32 %s, [%s];", newWord().c_str(), theirs.c_str());
  line("bar.warp.sync %s;", members.c_str());
}

// What lanes make of a word together, by one way for all that meet: of the word of lane `from`, the warp's first thread
// being `first`, or of all words.
void ControlFlow::mixTogether(const Name& word, const Name& members, const Name& from, const Name& first, Mix way) {
  const Name got = fresh('r', words_);
  switch (way) {
    case Mix::Memory: {
      const Name mine = sharedWord("words", thread_), thread = fresh('r', words_);
      line("add.u32 %s, %s, %s;", thread.c_str(), from.c_str(), first.c_str());
      const Name theirs = sharedWord("words", thread);
      line("st.shared.u32 [%s], %s;", mine.c_str(), word.c_str());
      line("bar.warp.sync %s;", members.c_str());
      line("ld.shared.u32 %s, [%s];", word.c_str(), theirs.c_str());
      return line("bar.warp.sync %s;", members.c_str());
    }
    case Mix::Shuffle:
      return line("shfl.sync.idx.b32 %s, %s, %s, 31, %s;", word.c_str(), word.c_str(), from.c_str(), members.c_str());
    case Mix::Vote: {
      const Name odd = fresh('p', tests_);
      line("and.b32 %s, %s, 1;", got.c_str(), word.c_str());
      line("setp.ne.u32 %s, %s, 0;", odd.c_str(), got.c_str());
      line("vote.sync.ballot.b32 %s, !%s, %s;", got.c_str(), odd.c_str(), members.c_str());
      break;
    }
    case Mix::Reduction:
      line("redux.sync.add.u32 %s, %s, %s;", got.c_str(), word.c_str(), members.c_str());
      break;
    case Mix::Match:
      line("and.b32 %s, %s, 5;", got.c_str(), word.c_str());
      line("match.any.sync.b32 %s, %s, %s;", got.c_str(), got.c_str(), members.c_str());
      break;
    case Mix::Leader: {
      const Name leads = fresh('p', tests_);
      line("elect.sync %s|%s, %s;", got.c_str(), leads.c_str(), members.c_str());
      line("@%s add.u32 %s, %s, 13;", leads.c_str(), got.c_str(), got.c_str());
      break;
    }
  }
  line("xor.b32 %s, %s, %s;", word.c_str(), word.c_str(), got.c_str());
}

// Lanes stand in two branches when they meet, perhaps several times.
void ControlFlow::exchangeApart(const Name& members) {
  const Name from = fresh('r', words_), several = fresh('r', words_), first = fresh('r', words_);
  line("popc.b32 %s, %s;", several.c_str(), members.c_str());
  line("rem.u32 %s, %s, %s;", from.c_str(), lane_.c_str(), several.c_str());
  line("add.u32 %s, %s, 1;", from.c_str(), from.c_str());
  line("fns.b32 %s, %s, 0, %s;", from.c_str(), members.c_str(), from.c_str());
  line("sub.u32 %s, %s, %s;", first.c_str(), thread_.c_str(), lane_.c_str());
  const Name side = condition(), value = wordRegister();
  const Name got = fresh('r', words_), left = fresh('r', words_), more = fresh('p', tests_);
  const uint32_t id = labels_++, rounds = 1 + below(3);
  static constexpr Mix kMixes[] = {Mix::Memory,    Mix::Memory, Mix::Shuffle, Mix::Shuffle,
                                   Mix::Reduction, Mix::Vote,   Mix::Match,   Mix::Leader};
  const Mix way = kMixes[shares_ ? below(8) : 2 + below(6)];
  line("mov.u32 %s, %s;", got.c_str(), value.c_str());
  line("mov.u32 %s, %u;", left.c_str(), rounds);
  line("@%s bra $Else%u;", side.c_str(), id);
  for (const bool other : {false, true}) {
    label(other ? "Else" : "Then", id);
    line("xor.b32 %s, %s, %u;", got.c_str(), got.c_str(), below(1000));
    mixTogether(got, members, from, first, way);
    line("sub.u32 %s, %s, 1;", left.c_str(), left.c_str());
    line("setp.ne.u32 %s, %s, 0;", more.c_str(), left.c_str());
    line("@%s bra $%s%u;", more.c_str(), other ? "Else" : "Then", id);
    if (!other) line("bra $End%u;", id);
  }
  label("End", id);
  line("mov.u32 %s, %s;", newWord().c_str(), got.c_str());
}

// Rounds of lanes of which fewer come along each time, most of them in an unrolled loop and the last ones in another,
// as compilers make them: lanes meet in both.
void ControlFlow::roundsApart(const Name& members) {
  const Name rounds = fresh('r', words_), rest = fresh('r', words_), left = fresh('r', words_);
  const Name round = fresh('r', words_), mask = fresh('r', words_), from = fresh('r', words_);
  const Name first = fresh('r', words_), word = fresh('r', words_), again = fresh('p', tests_);
  const Name value = wordRegister();
  const uint32_t id = labels_++, unrolled = 2 + below(2);
  static constexpr Mix kMixes[] = {Mix::Memory, Mix::Shuffle, Mix::Vote, Mix::Reduction, Mix::Match, Mix::Leader};
  const Mix way = kMixes[shares_ ? below(6) : 1 + below(5)];
  const bool ofThoseThatStay = chance(50);
  const auto mix = [&] {
    line("fns.b32 %s, %s, 0, 1;", from.c_str(), mask.c_str());
    mixTogether(word, mask, from, first, way);
  };
  const auto goRound = [&] {
    if (!ofThoseThatStay) mix();
    line("add.u32 %s, %s, 1;", round.c_str(), round.c_str());
    line("setp.lt.u32 %s, %s, %s;", again.c_str(), round.c_str(), rounds.c_str());
    line("vote.sync.ballot.b32 %s, %s, %s;", mask.c_str(), again.c_str(), mask.c_str());
    line("mad.lo.u32 %s, %s, 33, %s;", word.c_str(), word.c_str(), mask.c_str());
    if (!ofThoseThatStay) return;
    const uint32_t skip = labels_++;
    line("@!%s bra $Skip%u;", again.c_str(), skip);
    mix();
    label("Skip", skip);
  };
  line("and.b32 %s, %s, 7;", rounds.c_str(), wordRegister().c_str());
  line("add.u32 %s, %s, 1;", rounds.c_str(), rounds.c_str());
  line("rem.u32 %s, %s, %u;", rest.c_str(), rounds.c_str(), unrolled);
  line("sub.u32 %s, %s, %s;", left.c_str(), rounds.c_str(), rest.c_str());
  line("sub.u32 %s, %s, %s;", first.c_str(), thread_.c_str(), lane_.c_str());
  line("mov.u32 %s, 0;", round.c_str());
  line("mov.u32 %s, %s;", mask.c_str(), members.c_str());
  line("mov.u32 %s, %s;", word.c_str(), value.c_str());
  line("setp.eq.u32 %s, %s, 0;", again.c_str(), left.c_str());
  line("@%s bra $Rest%u;", again.c_str(), id);
  label("Main", id);
  for (uint32_t n = 0; n < unrolled; ++n) goRound();
  line("sub.u32 %s, %s, %u;", left.c_str(), left.c_str(), unrolled);
  line("setp.ne.u32 %s, %s, 0;", again.c_str(), left.c_str());
  line("@%s bra $Main%u;", again.c_str(), id);
  label("Rest", id);
  line("setp.eq.u32 %s, %s, 0;", again.c_str(), rest.c_str());
  line("@%s bra $End%u;", again.c_str(), id);
  label("Last", id);
  goRound();
  line("sub.u32 %s, %s, 1;", rest.c_str(), rest.c_str());
  line("setp.ne.u32 %s, %s, 0;", again.c_str(), rest.c_str());
  line("@%s bra $Last%u;", again.c_str(), id);
  label("End", id);
  line("mov.u32 %s, %s;", newWord().c_str(), word.c_str());
}

// Lanes meet in a branch, or in a loop, less often than others, as often as those behind it, and make up for it last:
// the n-th meeting of one is the n-th of all.
void ControlFlow::countsApart(const Name& members) {
  const Name from = fresh('r', words_), first = fresh('r', words_), word = fresh('r', words_),
             bits = fresh('r', words_);
  const Name left = fresh('r', words_), more = fresh('p', tests_), side = fresh('p', tests_), value = wordRegister();
  const uint32_t id = labels_++, behind = 1 + below(2);
  static constexpr Mix kMixes[] = {Mix::Memory, Mix::Shuffle, Mix::Vote, Mix::Reduction, Mix::Match, Mix::Leader};
  const Mix way = kMixes[shares_ ? below(6) : 1 + below(5)];
  const auto mix = [&](uint32_t times) {
    for (uint32_t n = 0; n < times; ++n) mixTogether(word, members, from, first, way);
  };
  line("sub.u32 %s, %s, %s;", first.c_str(), thread_.c_str(), lane_.c_str());
  line("fns.b32 %s, %s, 0, 1;", from.c_str(), members.c_str());
  line("mov.u32 %s, %s;", word.c_str(), value.c_str());
  line("and.b32 %s, %s, %u;", bits.c_str(), lane_.c_str(), chance(50) ? 7 : 1 + below(31));
  if (chance(50)) {  // in one branch, or in both
    const uint32_t some = below(2), missing = 1 + below(2);
    line("setp.gt.u32 %s, %s, %u;", side.c_str(), bits.c_str(), chance(50) ? 0 : below(8));
    line("@%s bra $Else%u;", side.c_str(), id);
    mix(some + missing);
    line("bra $Both%u;", id);
    label("Else", id);
    mix(some);
    label("Both", id);
    mix(behind);
    line("@!%s bra $End%u;", side.c_str(), id);
    mix(missing);
  } else {  // in each lane's own number of rounds
    line("and.b32 %s, %s, 3;", left.c_str(), bits.c_str());
    line("add.u32 %s, %s, 1;", left.c_str(), left.c_str());
    const auto rounds = [&](const char* name) {
      label(name, id);
      mix(1);
      line("sub.u32 %s, %s, 1;", left.c_str(), left.c_str());
      line("setp.ne.u32 %s, %s, 0;", more.c_str(), left.c_str());
      line("@%s bra $%s%u;", more.c_str(), name, id);
    };
    rounds("Own");
    mix(behind);
    line("and.b32 %s, %s, 3;", left.c_str(), bits.c_str());
    line("sub.u32 %s, 3, %s;", left.c_str(), left.c_str());
    line("setp.eq.u32 %s, %s, 0;", more.c_str(), left.c_str());
    line("@%s bra $End%u;", more.c_str(), id);
    rounds("Rest");
  }
  label("End", id);
  line("mov.u32 %s, %s;", newWord().c_str(), word.c_str());
}

// The word of a thread of another warp, or of none.
void ControlFlow::exchangeInBlock() {
  const Name mine = sharedWord("words", thread_), other = fresh('r', words_);
  line("st.shared.u32 [%s], %s;", mine.c_str(), wordRegister().c_str());
  line("bar.sync 0;");
  line("mad.lo.u32 %s, %s, 5, %u;", other.c_str(), thread_.c_str(), below(60));
  line("and.b32 %s, %s, 255;", other.c_str(), other.c_str());
  const Name theirs = sharedWord("words", other);
  line("ld.shared.u32 %s, [%s];", newWord().c_str(), theirs.c_str());
  line("bar.sync 0;");
}

// The same by lanes that come to a barrier in two branches, or to one that is also behind a branch of the others.
void ControlFlow::exchangeInBlockApart() {
  const uint32_t id = labels_++;
  const Name bits = fresh('r', words_), p = fresh('p', tests_), sum = fresh('r', words_);
  line("and.b32 %s, %s, %u;", bits.c_str(), lane_.c_str(), 1 + below(31));
  line("setp.gt.u32 %s, %s, %u;", p.c_str(), bits.c_str(), chance(50) ? 0 : below(8));
  line("mov.u32 %s, 0;", sum.c_str());
  const bool counts = chance(40), isBehind = chance(40);
  const auto exchange = [&] {
    const Name mine = sharedWord("words", thread_), other = fresh('r', words_), seen = fresh('r', words_);
    line("st.shared.u32 [%s], %s;", mine.c_str(), wordRegister().c_str());
    if (counts)
      line("barrier.red.popc.u32 %s, 0, %s;", sum.c_str(), condition().c_str());
    else
      line("barrier.sync 0;");
    line("mad.lo.u32 %s, %s, 7, %u;", other.c_str(), thread_.c_str(), below(60));
    line("and.b32 %s, %s, 255;", other.c_str(), other.c_str());
    const Name theirs = sharedWord("words", other);
    line("ld.shared.u32 %s, [%s];", seen.c_str(), theirs.c_str());
    line("mad.lo.u32 %s, %s, 3, %s;", sum.c_str(), sum.c_str(), seen.c_str());
    line("barrier.sync 0;");
  };
  const auto inBranch = [&] {
    const Scope saved = scope_;
    effect();
    exchange();
    effect();
    scope_ = saved;
  };
  line("@%s bra $Else%u;", p.c_str(), id);
  inBranch();
  if (!isBehind) line("bra $End%u;", id);
  label("Else", id);
  if (isBehind) {  // once more for those of the first branch, and for the others both times here
    exchange();
    line("@!%s bra $End%u;", p.c_str(), id);
  }
  inBranch();
  label("End", id);
  line("bar.sync 0;");
  line("mov.u32 %s, %s;", newWord().c_str(), sum.c_str());
}

void ControlFlow::reduceInBlock() {
  const Name p = condition();
  if (chance(40)) return line("bar.red.popc.u32 %s, 0, %s;", newWord().c_str(), p.c_str());
  const Name out = fresh('p', tests_);
  line("bar.red.%s.pred %s, 0, %s;", chance(50) ? "and" : "or", out.c_str(), p.c_str());
  scope_.tests.push_back(out);
}

Name ControlFlow::counterAt() {
  const Name index = fresh('r', words_);
  line("and.b32 %s, %s, 7;", index.c_str(), wordRegister().c_str());
  return sharedWord("counters", index);
}

void ControlFlow::count() {
  const Name at = counterAt(), who = chance(40) ? guard() + " " : "";
  line("%sred.shared.add.u32 [%s], %s;", who.c_str(), at.c_str(), wordRegister().c_str());
}

// One lane for all that happen to be here.
void ControlFlow::countTogether() {
  const Name here = fresh('r', words_), bit = fresh('r', words_), first = fresh('r', words_);
  const Name leads = fresh('p', tests_);
  line("activemask.b32 %s;", here.c_str());
  line("neg.s32 %s, %s;", first.c_str(), here.c_str());
  line("and.b32 %s, %s, %s;", first.c_str(), first.c_str(), here.c_str());
  line("shl.b32 %s, 1, %s;", bit.c_str(), lane_.c_str());
  line("setp.eq.u32 %s, %s, %s;", leads.c_str(), bit.c_str(), first.c_str());
  line("popc.b32 %s, %s;", here.c_str(), here.c_str());
  line("@%s red.shared.add.u32 [counters+%u], %s;", leads.c_str(), 4 * below(8), here.c_str());
}

// A sum by comparing and swapping.
void ControlFlow::retry() {
  const uint32_t id = labels_++;
  const Name at = counterAt(), old = fresh('r', words_), sum = fresh('r', words_), again = fresh('p', tests_);
  const Name added = wordRegister();
  line("ld.volatile.shared.u32 %s, [%s];", sum.c_str(), at.c_str());
  label("Retry", id);
  line("mov.u32 %s, %s;", old.c_str(), sum.c_str());
  line("add.u32 %s, %s, %s;", sum.c_str(), old.c_str(), added.c_str());
  line("atom.shared.cas.b32 %s, [%s], %s, %s;", sum.c_str(), at.c_str(), old.c_str(), sum.c_str());
  line("setp.ne.u32 %s, %s, %s;", again.c_str(), sum.c_str(), old.c_str());
  line("@%s bra $Retry%u;", again.c_str(), id);
}

// Nobody else's word: what comes back is known.
void ControlFlow::atomicOnOwn() {
  static constexpr const char* kOps[] = {"add.u32", "exch.b32", "min.u32", "max.s32", "and.b32",
                                         "or.b32",  "xor.b32",  "inc.u32", "dec.u32"};
  const Name value = wordRegister(), who = chance(30) ? guard() + " " : "";
  if (chance(20)) {
    const Name got = fresh('d', wides_), added = pick(scope_.wides);
    line("mov.b64 %s, 0;", got.c_str());
    line("%satom.global.add.u64 %s, [%%out+24], %s;", who.c_str(), got.c_str(), added.c_str());
    return keep(got, true);
  }
  const bool shared = shares_ && chance(60);
  const Name at = shared ? sharedWord("words", thread_) : Name("%out+28"), got = fresh('r', words_);
  line("mov.b32 %s, 3;", got.c_str());
  const char* const space = shared ? "shared" : "global";
  if (chance(20))
    line("%satom.%s.cas.b32 %s, [%s], %s, %u;", who.c_str(), space, got.c_str(), at.c_str(), value.c_str(), below(9));
  else
    line("%satom.%s.%s %s, [%s], %s;", who.c_str(), space, oneOf(kOps), got.c_str(), at.c_str(), value.c_str());
  keep(got, false);
}

// What an atomic gave. In a loop it goes by way of memory: loops that seem to wait for other lanes are not compiled.
void ControlFlow::keep(const Name& got, bool wide) {
  if (!loops_.empty()) return line("st.local.u%u [places+%u], %s;", wide ? 64 : 32, 8 * below(8), got.c_str());
  (wide ? scope_.wides : scope_.words).push_back(got);
}

// Elements of a local array, alone and several at once, at places that lanes do not share.
void ControlFlow::array() {
  const Name index = fresh('r', words_), at = fresh('d', wides_), base = fresh('d', wides_);
  const Name who = chance(30) ? guard() + " " : "", value = wordRegister();
  const uint32_t width = 4u << below(3);
  line("and.b32 %s, %s, %u;", index.c_str(), wordRegister().c_str(), 64 / width - 1);
  line("mul.wide.u32 %s, %s, %u;", at.c_str(), index.c_str(), width);
  line("mov.u64 %s, places;", base.c_str());
  const bool generic = chance(30);
  if (generic) line("cvta.local.u64 %s, %s;", base.c_str(), base.c_str());
  line("add.s64 %s, %s, %s;", at.c_str(), at.c_str(), base.c_str());
  const char* const space = generic ? "" : ".local";
  if (width == 16 && chance(50)) {
    const Name a = pick(scope_.wides), b = pick(scope_.wides);
    if (chance(50)) return line("%sst%s.v2.u64 [%s], {%s, %s};", who.c_str(), space, at.c_str(), a.c_str(), b.c_str());
    const Name c = newWide(), d = newWide();
    return line("ld%s.v2.u64 {%s, %s}, [%s];", space, c.c_str(), d.c_str(), at.c_str());
  }
  if (width == 4) {
    if (chance(60)) return line("%sst%s.u32 [%s], %s;", who.c_str(), space, at.c_str(), value.c_str());
    return line("ld%s.u32 %s, [%s];", space, newWord().c_str(), at.c_str());
  }
  if (width == 8) {
    if (chance(50)) return line("%sst%s.v2.u32 [%s], {%s, %%v0};", who.c_str(), space, at.c_str(), value.c_str());
    return line("ld%s.u64 %s, [%s];", space, newWide().c_str(), at.c_str());
  }
  if (chance(50))
    return line("%sst%s.v4.u32 [%s], {%s, %%v1, %%v2, %s};", who.c_str(), space, at.c_str(), value.c_str(),
                value.c_str());
  const Name a = newWord(), b = newWord(), c = newWord(), d = newWord();
  line("ld%s.v4.u32 {%s, %s, %s, %s}, [%s];", space, a.c_str(), b.c_str(), c.c_str(), d.c_str(), at.c_str());
}

// Several words of the input, or of the thread's own output, at once.
void ControlFlow::vectors() {
  const Name who = chance(40) ? guard() + " " : "";
  if (chance(40)) {
    const Name a = pick(scope_.wides), b = pick(scope_.wides);
    return line("%sst.global.v2.u64 [%%out+16], {%s, %s};", who.c_str(), a.c_str(), b.c_str());
  }
  const Name index = fresh('r', words_), at = fresh('d', wides_);
  line("and.b32 %s, %s, 127;", index.c_str(), wordRegister().c_str());
  line("mul.wide.u32 %s, %s, 16;", at.c_str(), index.c_str());
  line("add.s64 %s, %s, %%in;", at.c_str(), at.c_str());
  const Name a = fresh('r', words_), b = fresh('r', words_);
  if (chance(50)) {
    const Name c = newWide(), d = newWide();
    return line("ld.global.v2.u64 {%s, %s}, [%s];", c.c_str(), d.c_str(), at.c_str());
  }
  // Lanes that do not load keep what they had.
  line("mov.u32 %s, 5;", a.c_str());
  line("mov.u32 %s, %%v3;", b.c_str());
  line("%sld.global.v4.u32 {%s, _, %s, %%v4}, [%s];", who.c_str(), a.c_str(), b.c_str(), at.c_str());
  scope_.words.push_back(a);
  scope_.words.push_back(b);
}

// Instructions whose meaning lies in single bits: carries, tables, windows of two words, packed parts.
void ControlFlow::bits() {
  const Name a = wordRegister(), b = word(), c = wordRegister();
  switch (below(7)) {
    case 0:
      return line("lop3.b32 %s, %s, %s, %s, %u;", newWord().c_str(), a.c_str(), b.c_str(), c.c_str(), below(256));
    case 1: {
      static constexpr const char* kShifts[] = {"shf.l.wrap.b32", "shf.r.wrap.b32", "shf.l.clamp.b32",
                                                "shf.r.clamp.b32"};
      return line("%s %s, %s, %s, %s;", oneOf(kShifts), newWord().c_str(), a.c_str(), b.c_str(), c.c_str());
    }
    case 2:
      return line("bfi.b32 %s, %s, %s, %u, %u;", newWord().c_str(), a.c_str(), c.c_str(), below(32), below(33));
    case 3: {
      const Name low = newWord(), high = newWord();
      line("add.cc.u32 %s, %s, %s;", low.c_str(), a.c_str(), b.c_str());
      return line("addc.u32 %s, %s, 0;", high.c_str(), c.c_str());
    }
    case 4:
      return line("mov.b64 %s, {%s, %s};", newWide().c_str(), a.c_str(), c.c_str());
    case 5: {
      const Name from = pick(scope_.wides), low = newWord(), high = newWord();
      return line("mov.b64 {%s, %s}, %s;", low.c_str(), high.c_str(), from.c_str());
    }
    default: {
      static constexpr const char* kOps[] = {"dp4a.u32.s32", "dp4a.s32.s32", "mad24.lo.u32", "mad.hi.s32"};
      return line("%s %s, %s, %s, %s;", oneOf(kOps), newWord().c_str(), a.c_str(), b.c_str(), c.c_str());
    }
  }
}

// Numbers of 32 and 64 bits whose results every device rounds alike.
void ControlFlow::floats() {
  const Name a = wordRegister(), b = wordRegister();
  if (chance(50)) {
    static constexpr const char* kOps[] = {"add.rn", "mul.rn", "sub.rz", "div.rn", "min", "max"};
    line("cvt.rn.f64.s32 %%g0, %s;", a.c_str());
    line("cvt.rn.f64.u32 %%g1, %s;", b.c_str());
    line("%s.f64 %%g0, %%g0, %%g1;", oneOf(kOps));
    if (chance(40)) return line("setp.%s.f64 %s, %%g0, %%g1;", chance(50) ? "lt" : "neu", newTest().c_str());
    return line("cvt.rmi.s32.f64 %s, %%g0;", newWord().c_str());
  }
  // Their bits as they are: numbers that are none, too.
  static constexpr const char* kOps[] = {"add.rn", "mul.rn", "sub.rm", "div.rn", "min", "max", "add.rn.ftz"};
  line("mov.b32 %%f0, %s;", a.c_str());
  line("cvt.rn.f32.s32 %%f1, %s;", b.c_str());
  line("%s.f32 %%f0, %%f0, %%f1;", oneOf(kOps));
  if (chance(40)) return line("setp.%s.f32 %s, %%f0, %%f1;", chance(50) ? "gt" : "leu", newTest().c_str());
  line("cvt.rni.s32.f32 %s, %%f0;", newWord().c_str());
}

void ControlFlow::halves() {
  static constexpr const char* kPairs[] = {"add.rn.f16x2", "mul.rn.f16x2", "min.f16x2",  "max.f16x2",
                                           "sub.rn.f16x2", "min.bf16x2",   "max.bf16x2", "add.sat.f16x2"};
  static constexpr const char* kFused[] = {"fma.rn.f16x2", "fma.rn.bf16x2", "fma.rn.relu.f16x2"};
  static constexpr const char* kAlone[] = {"neg.f16x2", "abs.f16x2", "neg.bf16x2", "abs.bf16x2"};
  const Name a = wordRegister(), b = wordRegister(), c = wordRegister();
  switch (below(4)) {
    case 0:
      return line("%s %s, %s, %s, %s;", oneOf(kFused), newWord().c_str(), a.c_str(), b.c_str(), c.c_str());
    case 1:
      return line("%s %s, %s;", oneOf(kAlone), newWord().c_str(), a.c_str());
    case 2: {
      const Name low = newTest(), high = newTest();
      return line("setp.%s.f16x2 %s|%s, %s, %s;", chance(50) ? "lt" : "geu", low.c_str(), high.c_str(), a.c_str(),
                  b.c_str());
    }
    default:
      return line("%s %s, %s, %s;", oneOf(kPairs), newWord().c_str(), a.c_str(), b.c_str());
  }
}

}  // namespace vg::ptx::test
