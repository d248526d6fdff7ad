#include "replay/player.h"

#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <deque>
#include <thread>

#include "record/copies.h"
#include "record/entries.h"

namespace vg::replay {

using record::Action;
using record::Decoder;
using record::Kind;
using record::RangeKind;
using record::Tag;
using std::chrono::steady_clock;
using namespace std::chrono_literals;

namespace {

constexpr auto kGlance = 200ms;  // after which whatever waits is let go on
constexpr int kUnderWay = -1;    // the result of a call that has not ended

uint64_t readWord(const char* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// Where two texts differ, for people.
std::string firstDifference(std::string_view recorded, std::string_view now) {
  size_t first = 0, count = 0;
  for (size_t i = recorded.size(); i-- > 0;)
    if (recorded[i] != now[i]) first = i, ++count;
  const size_t at = first / sizeof(float) * sizeof(float);
  char text[160];
  float was = 0, is = 0;
  if (at + sizeof was > recorded.size()) return "";
  std::memcpy(&was, recorded.data() + at, sizeof was);
  std::memcpy(&is, now.data() + at, sizeof is);
  uint32_t wasBits, isBits;
  std::memcpy(&wasBits, &was, sizeof was);
  std::memcpy(&isBits, &is, sizeof is);
  std::snprintf(text, sizeof text, ": %zu bytes differ, the first at %zu: recorded %#x (%g), now %#x (%g)", count,
                first, wasBits, static_cast<double>(was), isBits, static_cast<double>(is));
  return text;
}

}  // namespace

// Makes what it is given, one after the other.
class Player::Thread {
 public:
  Thread(Mutex& mutex, std::condition_variable& changed)
      : mutex_(mutex), changed_(changed), thread_([this] { run(); }) {}
  void give(std::function<void()> work) VG_UNCHECKED_LOCKS {  // under the mutex, which has two names
    work_.push_back(std::move(work));
    changed_.notify_all();
  }
  void finish() {
    {
      const MutexLock lock(mutex_);
      finished_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

 private:
  void run() {
    ReleasableLock lock(mutex_);
    for (;;) {
      while (!finished_ && work_.empty()) lock.wait(changed_);
      if (work_.empty()) return;
      const std::function<void()> work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      work();
      lock.lock();
    }
  }

  Mutex& mutex_;
  std::condition_variable& changed_;
  std::deque<std::function<void()>> work_ VG_GUARDED_BY(mutex_);
  bool finished_ VG_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

Player::Player(record::Reader& reader, const PlayOptions& options) : reader_(reader), options_(options) {
  stands_ = {runFunction, runCallback, functionArgument, this};
}
Player::~Player() = default;

PlayReport Player::play() {
  survey();
  if (!options_.ownAddresses) memory_.keepHost(ranges_);
  driver_ = std::make_unique<Driver>(options_.library);
  if (const CUresult result = VG_REPLAY_DRIVER(*driver_, cuInit)(0); result != CUDA_SUCCESS)
    throw std::runtime_error("cuInit: " + resultName(result));
  memory_.reserveDevice(*driver_, options_.ownAddresses ? std::vector<RecordedRange>{} : ranges_);
  if (options_.ownAddresses) memory_.keepHost(ranges_);
  reader_.forEach([this](Tag tag, Decoder& from) { return record(tag, from) && !report_.stuck; });
  endUnended();
  report_.movedBytes += memory_.movedBytes();
  if (!report_.stuck)
    for (auto& [number, thread] : threads_) thread->finish();
  return report_;
}

// Calls that had not ended when the program did. Whatever they wait for here comes no more.
void Player::endUnended() {
  {
    const MutexLock lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  for (const auto& [thread, call] : current_) {
    if (!call || report_.stuck) continue;
    differs(call->number, "%s had not ended when the recording did", call->symbol);
    wait(*call);
  }
}

static RecordedRange rangeOf(Decoder& from) {
  RecordedRange range;
  range.address = from.get<uint64_t>();
  range.size = from.get<uint64_t>();
  range.kind = from.get<RangeKind>();
  range.device = from.get<int32_t>();
  return range;
}

// Which memory there will be.
void Player::survey() {
  reader_.forEach([this](Tag tag, Decoder& from) {
    if (tag != Tag::Range) return true;
    from.get<uint32_t>();
    ranges_.push_back(rangeOf(from));
    return true;
  });
}

bool Player::record(Tag tag, Decoder& from) {
  switch (tag) {
    case Tag::Entry:
      introduce(from);
      break;
    case Tag::Begin:
      return begin(from);
    case Tag::End:
      end(from);
      break;
    case Tag::Range:
      range(from);
      break;
    case Tag::HostMemory:
      hostMemory(from);
      break;
    case Tag::Layout:
      layout(from);
      break;
    case Tag::FunctionBegan:
      functionBegan(from.get<uint32_t>());
      break;
    case Tag::FunctionEnded:
      functionEnded(from.get<uint32_t>());
      break;
    case Tag::CopyDone:
      copyDone(from);
      break;
    case Tag::Kernel: {
      const auto function = from.get<uint64_t>();
      kernels_[function] = from.text();
      break;
    }
    case Tag::Note:
      std::printf("note: %s\n", std::string(from.text()).c_str());
      break;
    case Tag::Piece:
      break;
  }
  return true;
}

void Player::introduce(Decoder& from) {
  const auto number = from.get<uint16_t>();
  const std::string symbol(from.text());
  entries_[number] = {symbol, record::entryNamed(symbol)};
}

void Player::layout(Decoder& from) {
  auto& places = layouts_[from.get<uint64_t>()];
  places.clear();
  for (auto count = from.get<uint16_t>(); count; --count) {
    const auto offset = from.get<uint32_t>();
    places.emplace_back(offset, from.get<uint32_t>());
  }
}

bool Player::begin(Decoder& from) {
  auto call = std::make_unique<Call>();
  call->number = from.get<uint64_t>();
  if (call->number > options_.until) return false;
  call->thread = from.get<uint32_t>();
  const auto found = entries_.find(from.get<uint16_t>());
  if (found == entries_.end()) throw std::runtime_error("the recording is damaged");
  call->symbol = found->second.first.c_str();
  call->entry = found->second.second;
  call->action = from.get<Action>();
  const unsigned count = from.get<uint8_t>();
  if (call->action != Action::List && call->action != Action::Missing)
    ArgumentReader(reader_, values_, memory_, layouts_, stands_).read(from, count, *call);
  if (options_.verbose) {
    std::printf("%llu [%u] %s\n", static_cast<unsigned long long>(call->number), call->thread, call->symbol);
    std::fflush(stdout);
  }
  if (mustBeMade(*call)) start(*call, made(*call));
  std::unique_ptr<Call>& slot = current_[call->thread];
  if (slot) kept_.push_back(std::move(slot));
  slot = std::move(call);
  return true;
}

// Others need to know what the recorded call gave, or how it ended.
bool Player::mustBeMade(const Call& call) const {
  if (!call.missing.empty()) return false;
  if (call.action == Action::Advise) return !memory_.placed(call.words[0]) && !memory_.placed(call.words[1]);
  return call.action == Action::Call;
}

std::function<CUresult()> Player::made(Call& call) {
  void* const function = driver_->function(call.symbol);
  if (!function || call.entry == record::kNoEntry) {
    call.missing = std::string("the driver has no ") + call.symbol;
    return nullptr;
  }
  return [&call, function] { return static_cast<CUresult>(record::callEntry(call.entry, function, call.words)); };
}

// A query that found everything done is one of many; what matters is that it was done.
std::function<CUresult()> Player::waiting(Call& call) {
  const bool event = std::string_view(call.symbol).starts_with("cuEvent");
  const std::string twin = std::string_view(call.symbol).ends_with("_ptsz") ? "_ptsz" : "";
  const std::string symbol = event ? "cuEventSynchronize" : "cuStreamSynchronize" + twin;
  const auto function = driver_->as<CUresult(uint64_t)>(symbol.c_str());
  return [&call, function] { return function(call.words[0]); };
}

void Player::start(Call& call, std::function<CUresult()> work) {
  if (!work) return;
  const MutexLock lock(mutex_);
  call.result = static_cast<CUresult>(kUnderWay);
  ++report_.calls;
  std::unique_ptr<Thread>& thread = threads_[call.thread];
  if (!thread) thread = std::make_unique<Thread>(mutex_, changed_);
  thread->give([this, &call, work = std::move(work)] {
    const CUresult result = work();
    const MutexLock lock(mutex_);
    call.result = result;
    changed_.notify_all();
  });
}

// What waits here for its turn may be what somebody else needs: after a moment it gets it.
void Player::letOthersGo(const Function* but) {
  for (auto& [id, function] : functions_)
    if (&function != but) function.let = std::max(function.let, function.reached);
  changed_.notify_all();
}

bool Player::wait(Call& call) {
  const auto deadline = steady_clock::now() + std::chrono::seconds(options_.patience);
  {
    ReleasableLock lock(mutex_);
    while (static_cast<int>(call.result) == kUnderWay && steady_clock::now() < deadline) {
      const auto glance = steady_clock::now() + kGlance;
      lock.waitUntil(changed_, glance);
      if (steady_clock::now() >= glance) letOthersGo(nullptr);
    }
    if (static_cast<int>(call.result) != kUnderWay) return true;
  }
  report_.stuck = true;
  differs(call.number, "%s has not ended after %u s (--patience)", call.symbol, options_.patience);
  return false;
}

void Player::end(Decoder& from) {
  const auto thread = from.get<uint32_t>();
  const auto recorded = from.get<int32_t>();
  const auto slot = current_.find(thread);
  if (slot == current_.end() || !slot->second) throw std::runtime_error("the recording is damaged");
  Call& call = *slot->second;
  if (call.action == Action::Wait && recorded == CUDA_SUCCESS && call.missing.empty()) start(call, waiting(call));
  if (!wait(call)) return;
  const bool made = mustBeMade(call) || (call.action == Action::Wait && recorded == CUDA_SUCCESS);
  if (!call.missing.empty() && recorded == CUDA_SUCCESS)
    lacks(call, call.missing.c_str());
  else if (call.action == Action::Missing)
    lacks(call, "cannot be replayed");
  else if (call.action != Action::List && recorded == CUDA_SUCCESS && !made)
    endAllocation(call, recorded);
  else if (made && call.missing.empty())
    compareResults(call, recorded);
  if (report_.stuck) return;
  if (call.copied) copied_[call.number] = call.copied;
  if (recorded == CUDA_SUCCESS && call.result == CUDA_SUCCESS && made && call.missing.empty()) bindResults(from, call);
  // Images and the like are read later than their call; pageable memory of a copy may be, too.
  kept_.push_back(std::move(slot->second));
  constexpr size_t kMost = 4096;
  if (kept_.size() > kMost)
    kept_.erase(std::remove_if(kept_.begin(), kept_.begin() + kMost / 2,
                               [](const auto& old) {
                                 return std::string_view(old->symbol).find("Load") == std::string_view::npos;
                               }),
                kept_.begin() + kMost / 2);
}

void Player::compareResults(const Call& call, int recorded) {
  if (recorded == CUDA_ERROR_DEINITIALIZED) return;  // the process was about to end
  if (call.result == static_cast<CUresult>(recorded)) return;
  differs(call.number, "%s: recorded %s, now %s", call.symbol, resultName(recorded).c_str(),
          resultName(call.result).c_str());
}

// Memory comes and goes by its recorded address, without the call; only where that fails the call is made.
void Player::endAllocation(Call& call, int recorded) {
  const auto found = fresh_.find(call.thread);
  const bool hasRange = found != fresh_.end();
  const RecordedRange range = hasRange ? found->second : RecordedRange{};
  if (hasRange) fresh_.erase(found);
  switch (call.action) {
    case Action::AllocateDevice:
      if (hasRange) allocateDevice(call, range, recorded);
      return;
    case Action::FreeDevice:
      if (memory_.placed(call.words[0])) return leaveDevice(call);
      return make(call, made(call), recorded);
    case Action::AllocateHost:
      if (hasRange)
        make(
            call, [this, range] { return memory_.placeHost(range); }, recorded);
      return;
    case Action::FreeHost:
      return waitForDevice(call);
    case Action::Reserve:
      call.words[3] = range.address;
      make(call, made(call), recorded);
      if (const uint64_t now = readWord(reinterpret_cast<const char*>(call.words[0])); now != range.address)
        values_.bindRange(range.address, range.size, now);
      return;
    default:
      return;
  }
}

void Player::make(Call& call, std::function<CUresult()> work, int recorded) {
  start(call, std::move(work));
  if (wait(call)) compareResults(call, recorded);
}

void Player::allocateDevice(Call& call, const RecordedRange& range, int recorded) {
  const auto left = std::find_if(left_.begin(), left_.end(), [&](const Left& it) {
    return it.address < range.address + range.size && range.address < it.address + it.size;
  });
  // A pool that hands out memory of one stream to another lets the second wait for the first.
  if (left != left_.end() && left->stream != call.words[2]) waitForDevice(call);
  if (memory_.placeDevice(range)) return;
  make(call, made(call), recorded);
  if (call.result != CUDA_SUCCESS) return;
  values_.bindRange(range.address, range.size, readWord(reinterpret_cast<const char*>(call.words[0])));
  report_.movedBytes += range.size;
}

// cuMemFree waits for the device; cuMemFreeAsync does not.
void Player::leaveDevice(Call& call) {
  if (std::string_view(call.symbol).find("Async") == std::string_view::npos) return waitForDevice(call);
  const auto known = std::find_if(ranges_.begin(), ranges_.end(),
                                  [&](const RecordedRange& range) { return range.address == call.words[0]; });
  if (known != ranges_.end()) left_.push_back({known->address, known->size, call.words[1]});
}

void Player::waitForDevice(Call& call) {
  left_.clear();
  const auto synchronise = VG_REPLAY_DRIVER(*driver_, cuCtxSynchronize);
  start(call, [synchronise] {
    synchronise();  // a failure is that of earlier work, and the next call tells of it, too
    return CUDA_SUCCESS;
  });
  wait(call);
}

void Player::bindResults(Decoder& from, const Call& call) {
  for (auto count = from.get<uint16_t>(); count; --count) {
    const auto argument = from.get<uint16_t>();
    const std::string_view bytes = from.text();
    if (argument >= record::kMostParameters) throw std::runtime_error("the recording is damaged");
    const auto* const now = reinterpret_cast<const char*>(call.words[argument]);
    for (auto bindings = from.get<uint16_t>(); bindings; --bindings) {
      const auto offset = from.get<uint32_t>();
      const auto kind = from.get<Kind>();
      const auto many = from.get<uint16_t>();
      const auto bindOne = [&](uint64_t recorded, uint64_t value) {
        if (kind != Kind::Address) return values_.bind(kind, recorded, value);
        const auto known = std::find_if(ranges_.begin(), ranges_.end(),
                                        [recorded](const RecordedRange& r) { return r.address == recorded; });
        values_.bindRange(recorded, known == ranges_.end() ? 1 : known->size, value);
      };
      const char* const behind = many && now ? reinterpret_cast<const char*>(readWord(now + offset)) : nullptr;
      for (unsigned i = 0; i < many; ++i) {
        const auto recorded = from.get<uint64_t>();
        if (behind) bindOne(recorded, readWord(behind + i * sizeof(uint64_t)));
      }
      if (many || !now || offset >= bytes.size()) continue;
      if (kind == Kind::Opaque)
        values_.bindOpaque(bytes, {now, bytes.size()});
      else if (offset + sizeof(uint64_t) <= bytes.size())
        bindOne(readWord(bytes.data() + offset), readWord(now + offset));
    }
  }
}

void Player::range(Decoder& from) {
  const auto thread = from.get<uint32_t>();
  const RecordedRange range = rangeOf(from);
  if (range.kind == RangeKind::Pageable)
    memory_.placeHost(range);
  else if (range.kind == RangeKind::BoundManaged)
    memory_.addBound(range.address, range.size);
  else
    fresh_[thread] = range;
}

// What the host wrote is written again; what a device wrote is compared. Where a device has not written, but the host
// may have, between two looks, what is there is what was there before.
void Player::hostMemory(Decoder& from) {
  const auto address = from.get<uint64_t>();
  const auto before = from.get<uint64_t>();
  std::string bytes(from.text());
  values_.exchangeData(bytes);
  const auto change = from.get<record::Change>();
  char* const now = memory_.hostPointer(address, bytes.size());
  if (!now) return;
  const std::string_view present(now, bytes.size());
  const bool changedHere = record::hashOf(present) != before;
  if (change == record::Change::ByDevice && (present == bytes || changedHere)) {
    ++report_.results;
    if (present != bytes)
      differs(kNoCall, "host memory at %#llx, %zu bytes%s", static_cast<unsigned long long>(address), bytes.size(),
              firstDifference(bytes, present).c_str());
  }
  if (change != record::Change::ByEither || !changedHere) bytes.copy(now, bytes.size());
}

void Player::copyDone(Decoder& from) {
  const auto number = from.get<uint64_t>();
  const auto hash = from.get<uint64_t>();
  const auto size = from.get<uint64_t>();
  const auto found = copied_.find(number);
  if (found == copied_.end()) return;
  const std::shared_ptr<Copied> copied = found->second;
  copied_.erase(found);
  ++report_.copies;
  const std::string now = record::gather(copied->region, copied->memory);
  if (record::hashOf(now) == hash) return;
  const std::string recorded = size ? reader_.data(from, size) : "";
  const std::string where = recorded.size() == now.size() ? firstDifference(recorded, now) : "";
  differs(number, "the copy to the host of %zu bytes gave something else%s", now.size(), where.c_str());
}

void Player::differs(uint64_t number, const char* format, ...) {
  if (++report_.differences > options_.mostDifferences) return;
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (number == kNoCall)
    std::printf("differs: %s\n", text);
  else
    std::printf("differs: call %llu: %s\n", static_cast<unsigned long long>(number), text);
}

void Player::lacks(const Call& call, const char* what) {
  if (++report_.missing <= options_.mostDifferences)
    std::printf("not made: call %llu: %s: %s\n", static_cast<unsigned long long>(call.number), call.symbol, what);
}

void* Player::functionArgument(void* player, uint32_t id) {
  auto& self = *static_cast<Player*>(player);
  const MutexLock lock(self.mutex_);
  Function& function = self.functions_[id];
  function.player = &self;
  function.id = id;
  return &function;
}

void Player::runFunction(void* function) {
  auto& it = *static_cast<Function*>(function);
  it.player->reached(it);
}
void Player::runCallback(CUstream, CUresult, void* function) { runFunction(function); }

// The function has no effect but its place: work behind it waits until what the program's did has been done here.
void Player::reached(Function& function) {
  ReleasableLock lock(mutex_);
  const unsigned turn = ++function.reached;
  changed_.notify_all();
  while (!over_ && function.let < turn) lock.wait(changed_);
}

void Player::functionBegan(uint32_t id) {
  const auto deadline = steady_clock::now() + std::chrono::seconds(options_.patience);
  {
    ReleasableLock lock(mutex_);
    Function& function = functions_[id];
    while (function.reached <= function.let && steady_clock::now() < deadline) {
      const auto glance = steady_clock::now() + kGlance;
      lock.waitUntil(changed_, glance);
      if (steady_clock::now() >= glance) letOthersGo(&function);
    }
    if (function.reached > function.let) return;
  }
  differs(kNoCall, "a host function that the recording has was not reached");
}

void Player::functionEnded(uint32_t id) {
  const MutexLock lock(mutex_);
  functions_[id].let = functions_[id].reached;
  changed_.notify_all();
}

}  // namespace vg::replay
