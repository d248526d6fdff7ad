#include "activity/timeline_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "activity/json.h"
#include "activity/output_name.h"
#include "base/log.h"
#include "base/system/file_size_guard.h"

namespace vg::activity {
namespace {

constexpr size_t kEnough = 256 << 10;  // bytes that are written at once
constexpr size_t kBuffer = kEnough + (64 << 10);
// Of an arrow: the event that it leaves and those that it leads to have one number.
constexpr std::string_view kArrow = ",\"bind_id\":";
constexpr size_t kNumbers = 192;  // bytes for the numbers of an event

// Tracks of a device that are no streams: numbers that streams, which count from 1, do not reach.
constexpr uint64_t kMemoryTrack = 0;

const char* const kMemoryNames[] = {"device memory",   "array",           "pool memory",    "managed memory",
                                    "pinned memory",   "registered",      "mapped memory",  "graph memory",
                                    "imported memory", "physical memory", "module's memory"};
static_assert(std::size(kMemoryNames) == kMemoryKinds);

std::string readLine(const std::string& path) {
  char text[256];
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t size = ::read(file, text, sizeof text);
  ::close(file);
  std::string line(text, size > 0 ? static_cast<size_t>(size) : 0);
  if (!line.empty() && line.back() == '\n') line.pop_back();
  return line;
}

// Two looks at the clock by different threads may differ by some tens of nanoseconds.
template <class Event>
uint64_t lasted(const Event& event) {
  return event.end > event.begin ? event.end - event.begin : 0;
}

double gigabytesPerSecond(const Work& work) {
  return static_cast<double>(work.bytes) / static_cast<double>(std::max<uint64_t>(lasted(work), 1));
}

void appendTriple(std::string& out, const uint32_t (&values)[3]) {
  out += '[';
  for (int i = 0; i < 3; ++i) {
    if (i) out += ',';
    appendNumber(out, uint64_t{values[i]});
  }
  out += ']';
}

const char* categoryOf(WorkKind kind) {
  switch (kind) {
    case WorkKind::Kernel:
      return "kernel";
    case WorkKind::Copy:
      return "copy";
    case WorkKind::Fill:
      return "fill";
    case WorkKind::HostFunction:
      return "host_function";
    case WorkKind::Graph:
      return "graph";
  }
  return "work";
}

}  // namespace

const char* titleOf(const Work& work) {
  if (work.kind == WorkKind::Fill) return "fill";
  if (work.kind == WorkKind::HostFunction) return "host function";
  if (work.kind == WorkKind::Graph) return "graph";
  switch (work.copy) {
    case CopyKind::HostToDevice:
      return "copy host to device";
    case CopyKind::DeviceToHost:
      return "copy device to host";
    case CopyKind::DeviceToDevice:
      return "copy device to device";
    case CopyKind::HostToHost:
      return "copy host to host";
    case CopyKind::PeerToPeer:
      return "copy peer to peer";
    default:
      return "copy";
  }
}

std::unique_ptr<TimelineFile> TimelineFile::open(const std::string& wanted, bool keep) {
  std::string path;
  const int file = openOutput(wanted, keep, &path);
  if (file >= 0) return std::unique_ptr<TimelineFile>(new TimelineFile(file, path));
  VG_LOG(Error, "VERDIGRIS_TIMELINE: cannot write %s: %s; the program runs without a timeline", path.c_str(),
         std::strerror(errno));
  return nullptr;
}

TimelineFile::TimelineFile(int file, std::string path)
    : file_(file), path_(std::move(path)), process_(static_cast<uint64_t>(getpid())), buffer_(new char[kBuffer]) {
  metadata("process_name", process_, process_, readLine("/proc/self/comm") + " (host)");
  sortIndex("process_sort_index", process_, process_, 0);
  flush();
}

TimelineFile::~TimelineFile() {
  if (file_ >= 0) ::close(file_);
}

// {"ph":"X","pid":1,"tid":2
void TimelineFile::begin(const char* phase, uint64_t process, uint64_t thread) {
  text_ += first_ ? "[\n{\"ph\":\"" : ",\n{\"ph\":\"";
  first_ = false;
  text_ += phase;
  text_ += "\",\"pid\":";
  appendNumber(text_, process);
  text_ += ",\"tid\":";
  appendNumber(text_, thread);
}

void TimelineFile::at(uint64_t nanoseconds) {
  text_ += ",\"ts\":";
  appendMicroseconds(text_, nanoseconds);
}

void TimelineFile::metadata(const char* what, uint64_t process, uint64_t thread, std::string_view name) {
  begin("M", process, thread);
  text_ += ",\"name\":\"";
  text_ += what;
  text_ += "\",\"args\":{\"name\":";
  appendJsonText(text_, name);
  text_ += "}";
  end();
}

void TimelineFile::sortIndex(const char* what, uint64_t process, uint64_t thread, uint64_t index) {
  begin("M", process, thread);
  text_ += ",\"name\":\"";
  text_ += what;
  text_ += "\",\"args\":{\"sort_index\":";
  appendNumber(text_, index);
  text_ += "}";
  end();
}

// A number that no process of the system has beside this one's devices: those of Linux end at 2^22.
uint64_t TimelineFile::deviceProcess(unsigned device) {
  const uint64_t process = (process_ << 8) + 1 + device;
  if (process == lastDevice_) return process;
  const bool isNew = devices_.insert(process).second;
  lastDevice_ = process;
  if (!isNew) return process;
  sortIndex("process_sort_index", process, kMemoryTrack, 1 + device);
  metadata("thread_name", process, kMemoryTrack, "memory");
  return process;
}

uint64_t TimelineFile::streamTrack(const Origin& origin) {
  const uint64_t process = deviceProcess(origin.device);
  if (process == lastProcess_ && origin.stream == lastTrack_) return origin.stream;  // it was written
  const bool isNew = tracks_.insert(process << 32 ^ origin.stream).second;
  lastProcess_ = process;
  lastTrack_ = origin.stream;
  if (!isNew) return origin.stream;
  std::string name = "stream " + std::to_string(origin.stream);
  if (origin.streamKind == LegacyStream) name += " (default)";
  if (origin.streamKind == PerThreadStream) name += " (per thread)";
  metadata("thread_name", process, origin.stream, name);
  sortIndex("thread_sort_index", process, origin.stream, origin.stream);
  return origin.stream;
}

void TimelineFile::knowThread(uint32_t thread) {
  if (thread == lastThread_) return;
  lastThread_ = thread;
  if (!thread || !threads_.insert(thread).second) return;
  std::string name = readLine("/proc/self/task/" + std::to_string(thread) + "/comm");
  if (name.empty()) name = "thread";
  if (thread == process_) name += " (main)";
  metadata("thread_name", process_, thread, name + " " + std::to_string(thread));
}

void TimelineFile::take(const Record& record) {
  if (file_ < 0) return;
  text_.clear();  // of an event that there was no memory for
  switch (record.kind) {
    case RecordKind::Call:
      write(record.call);
      break;
    case RecordKind::Work:
      write(record.work);
      break;
    case RecordKind::Memory:
      write(record.memory);
      break;
    case RecordKind::Note:
      write(record.note);
      break;
    case RecordKind::Name:
      write(record.name);
      break;
  }
  keepText();
  if (used_ >= kEnough) writeToFile();
}

// Events of any length are parts of text_ first.
void TimelineFile::keepText() {
  std::string_view left = text_;
  while (!left.empty()) {
    if (used_ == kBuffer) writeToFile();
    const size_t part = std::min(left.size(), kBuffer - used_);
    std::memcpy(buffer_.get() + used_, left.data(), part);
    used_ += part;
    left.remove_prefix(part);
  }
  text_.clear();
}

char* TimelineFile::room(size_t bytes) {
  keepText();
  if (bytes > kBuffer) [[unlikely]] {  // names of kernels have any length: in pieces, as text_
    text_.resize(bytes);
    return text_.data();
  }
  if (used_ + bytes > kBuffer) writeToFile();
  return buffer_.get() + used_;
}

void TimelineFile::wrote(const char* end) {
  if (text_.empty()) [[likely]]
    used_ = static_cast<size_t>(end - buffer_.get());
  else
    text_.resize(static_cast<size_t>(end - text_.data()));
}

// Microseconds with three digits behind the point.
char* TimelineFile::time(char* to, uint64_t nanoseconds) {
  const uint64_t microseconds = nanoseconds / 1000;
  to = near_.milliseconds.write(to, microseconds);
  *to++ = '.';
  return writeThreeDigits(to, static_cast<uint32_t>(nanoseconds - microseconds * 1000));
}

// Names that end with X, Y and Z become one with three values, which is what is written most often.
std::vector<TimelineFile::Argument> TimelineFile::argumentsOf(const CallDescription& what) {
  std::vector<std::string_view> names;
  std::string_view left(what.names);
  left = left.substr(1, left.size() - 2);  // the parentheses
  while (names.size() < std::min(what.count, Call::kMostArguments)) {
    const size_t comma = std::min(left.find(','), left.size());
    names.push_back(left.substr(0, comma));
    left.remove_prefix(std::min(comma + 2, left.size()));
  }
  std::vector<Argument> arguments;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto last = [&](size_t of) { return of < names.size() && !names[of].empty() ? names[of].back() : ' '; };
    if (last(i) == 'X' && last(i + 1) == 'Y' && last(i + 2) == 'Z') {
      arguments.push_back({",\"" + std::string(names[i].substr(0, names[i].size() - 1)) + "\":[", ""});
      arguments.push_back({",", ""});
      arguments.push_back({",", "]"});
      i += 2;
    } else {
      arguments.push_back({",\"" + std::string(names[i]) + "\":", ""});
    }
  }
  return arguments;
}

// Texts that are kept are made whole before they are known by what they are of: there may be no memory for a part.
TimelineFile::CallTexts& TimelineFile::textsOf(DescribeCall describe) {
  if (describe == lastCall_) return *lastCallTexts_;
  auto found = calls_.find(describe);
  if (found == calls_.end()) {
    const CallDescription what = describe();
    CallTexts texts;
    texts.write = what.write;
    texts.nameResult = what.nameResult;
    texts.begin = std::string(",\n{\"ph\":\"X\",\"cat\":\"api\",\"name\":\"") + what.symbol + "\",\"pid\":";
    appendNumber(texts.begin, process_);
    texts.begin += ",\"tid\":";
    texts.arguments = argumentsOf(what);
    found = calls_.emplace(describe, std::move(texts)).first;
  }
  lastCall_ = describe;
  lastCallTexts_ = &found->second;
  return found->second;
}

const std::string& TimelineFile::trackOf(CallTexts& texts, uint32_t thread) {
  if (texts.thread == thread && !texts.track.empty()) return texts.track;
  texts.thread = thread;
  texts.track.clear();
  std::string track = texts.begin;
  appendNumber(track, uint64_t{thread});
  track += ",\"ts\":";
  texts.track = std::move(track);
  return texts.track;
}

const std::string& TimelineFile::endOf(CallTexts& texts, const Call& call) {
  const size_t bytes = call.count * sizeof *call.arguments;
  uint64_t hash = static_cast<uint64_t>(call.result);
  for (unsigned i = 0; i < call.count; ++i) hash = (hash ^ call.arguments[i]) * 0x9e3779b97f4a7c15;
  CallEnd& end = texts.ends[hash >> 62];
  if (!end.text.empty() && end.result == call.result && !std::memcmp(end.arguments, call.arguments, bytes))
    return end.text;
  end.text.clear();
  end.result = call.result;
  std::memcpy(end.arguments, call.arguments, bytes);
  std::string text = ",\"result\":";
  if (const char* const name = texts.nameResult ? texts.nameResult(call.result) : nullptr)
    text += '"' + std::string(name) + '"';
  else
    appendNumber(text, int64_t{call.result});
  for (unsigned i = 0; i < texts.arguments.size() && i < call.count; ++i) {
    const size_t before = text.size();
    text += texts.arguments[i].before;
    if (texts.write(i, text, call.arguments[i]))
      text += texts.arguments[i].behind;
    else
      text.resize(before);
  }
  text += "}}";
  end.text = std::move(text);
  return end.text;
}

// A call that has submitted work is where the arrow begins that has the call's number.
void TimelineFile::write(const Call& call) {
  knowThread(call.thread);
  CallTexts& texts = textsOf(call.describe);
  const std::string &begin = trackOf(texts, call.thread), &end = endOf(texts, call);
  char* to = writeText(room(begin.size() + end.size() + kNumbers), begin);
  to = writeText(time(to, call.begin), ",\"dur\":");
  to = writeMicroseconds(to, lasted(call));
  if (call.submitted) {
    to = near_.arrows.write(writeText(to, kArrow), everywhere(call.correlation));
    to = writeText(to, ",\"flow_out\":true");
  }
  to = near_.correlations.write(writeText(to, ",\"args\":{\"correlation\":"), call.correlation);
  wrote(writeText(to, end));
}

bool TimelineFile::LaunchTexts::are(const Work& work, uint64_t ofProcess, uint64_t onTrack) const {
  return kernel == work.kernel && process == ofProcess && track == onTrack && dynamicShared == work.dynamicShared &&
         !std::memcmp(grid, work.grid, sizeof grid) && !std::memcmp(block, work.block, sizeof block) && !begin.empty();
}

const TimelineFile::LaunchTexts& TimelineFile::textsOf(const Work& work, uint64_t process, uint64_t track) {
  const uint64_t hash =
      (reinterpret_cast<uintptr_t>(work.kernel) >> 4) + work.grid[0] + work.block[0] * 31u + track * 7;
  LaunchTexts& texts = launches_[hash % launches_.size()];
  if (texts.are(work, process, track)) return texts;
  texts.begin.clear();  // should there be no memory for the rest
  texts.kernel = work.kernel;
  texts.process = process;
  texts.track = track;
  std::memcpy(texts.grid, work.grid, sizeof texts.grid);
  std::memcpy(texts.block, work.block, sizeof texts.block);
  texts.dynamicShared = work.dynamicShared;
  std::string begin = ",\n{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":";
  appendJsonText(begin, names_.shortName(work.kernel->name));
  begin += ",\"pid\":";
  appendNumber(begin, process);
  begin += ",\"tid\":";
  appendNumber(begin, track);
  begin += ",\"args\":{\"grid\":";
  appendTriple(begin, work.grid);
  begin += ",\"block\":";
  appendTriple(begin, work.block);
  if (work.dynamicShared) {
    begin += ",\"dynamic shared\":";
    appendNumber(begin, uint64_t{work.dynamicShared});
  }
  if (names_.shortName(work.kernel->name) != work.kernel->name) {
    begin += ",\"symbol\":";
    appendJsonText(begin, work.kernel->name);
  }
  begin += ",\"correlation\":";
  texts.begin = std::move(begin);
  return texts;
}

void TimelineFile::writeLaunch(const Work& work, uint64_t process, uint64_t track) {
  const std::string& begin = textsOf(work, process, track).begin;
  char* to = writeText(room(begin.size() + kNumbers), begin);
  to = near_.correlations.write(to, work.origin.correlation);
  to = time(writeText(to, "},\"ts\":"), work.begin);
  to = writeMicroseconds(writeText(to, ",\"dur\":"), lasted(work));
  if (work.origin.correlation) {
    to = near_.arrows.write(writeText(to, kArrow), everywhere(work.origin.correlation));
    to = writeText(to, ",\"flow_in\":true");
  }
  *to++ = '}';
  wrote(to);
}

void TimelineFile::write(const Work& work) {
  const uint64_t process = deviceProcess(work.origin.device);
  const uint64_t track = streamTrack(work.origin);
  if (work.kind == WorkKind::Kernel && work.kernel) return writeLaunch(work, process, track);
  begin("X", process, track);
  at(work.begin);
  text_ += ",\"dur\":";
  appendMicroseconds(text_, lasted(work));
  text_ += ",\"cat\":\"";
  text_ += categoryOf(work.kind);
  text_ += "\",\"name\":\"";
  text_ += titleOf(work);
  text_ += "\",\"args\":{\"correlation\":";
  appendNumber(text_, work.origin.correlation);
  writeDetails(work);
  text_ += '}';
  if (work.origin.correlation) {
    text_ += kArrow;
    appendNumber(text_, everywhere(work.origin.correlation));
    text_ += ",\"flow_in\":true";
  }
  end();
}

void TimelineFile::writeDetails(const Work& work) {
  if (work.kind == WorkKind::Graph) {
    text_ += ",\"nodes\":";
    appendNumber(text_, uint64_t{work.nodes});
  } else if (work.kind != WorkKind::HostFunction) {
    text_ += ",\"bytes\":";
    appendNumber(text_, work.bytes);
    text_ += ",\"GB/s\":";
    appendReal(text_, gigabytesPerSecond(work));
  }
  if (work.pageable) text_ += ",\"pageable\":true";
}

void TimelineFile::write(const Memory& memory) {
  const char* const kind = kMemoryNames[static_cast<size_t>(memory.kind)];
  const uint64_t process = memory.ofDevice ? deviceProcess(memory.device) : process_;
  const uint64_t track = memory.ofDevice ? kMemoryTrack : memory.thread;
  if (!memory.ofDevice) knowThread(memory.thread);
  begin("i", process, track);
  at(memory.time);
  text_ += ",\"s\":\"t\",\"cat\":\"memory\",\"name\":\"";
  text_ += memory.freed ? "free " : "allocate ";
  text_ += kind;
  text_ += "\",\"args\":{\"bytes\":";
  appendNumber(text_, memory.bytes);
  text_ += ",\"address\":";
  appendAddress(text_, memory.address);
  text_ += ",\"thread\":";
  appendNumber(text_, uint64_t{memory.thread});
  text_ += ",\"correlation\":";
  appendNumber(text_, memory.correlation);
  text_ += '}';
  end();
  writeCounter(memory);
}

void TimelineFile::writeCounter(const Memory& memory) {
  begin("C", memory.ofDevice ? deviceProcess(memory.device) : process_, kMemoryTrack);
  at(memory.time);
  text_ += ",\"name\":\"";
  text_ += memory.ofDevice ? "memory in use" : kMemoryNames[static_cast<size_t>(memory.kind)];
  text_ += "\",\"args\":{\"bytes\":";
  appendNumber(text_, memory.inUse);
  text_ += '}';
  end();
}

// An end is written behind its start: chrome://tracing finds the beginning by the name, too.
void TimelineFile::write(const Note& note) {
  if (note.kind == NoteKind::End && ranges_.keep(note)) return;
  writeNote(note);
  if (note.kind != NoteKind::Start) return;
  keepText();
  ranges_.ended(note.id, [this](const Note& end) { writeNote(end); });
}

void TimelineFile::writeNote(const Note& note) {
  constexpr const char* kPhases[] = {"i", "B", "E", "b", "e"};
  knowThread(note.thread);
  begin(kPhases[static_cast<size_t>(note.kind)], process_, note.thread);
  at(note.time);
  text_ += ",\"cat\":\"nvtx\",\"name\":";
  appendJsonText(text_, note.kind == NoteKind::End ? ranges_.end(note.id) : std::string(note.name.view()));
  if (note.kind == NoteKind::Mark) text_ += ",\"s\":\"t\"";
  if (note.kind == NoteKind::Start) ranges_.start(note);
  if (note.kind == NoteKind::Start || note.kind == NoteKind::End) {
    text_ += ",\"id\":";
    appendNumber(text_, everywhere(note.id));
  }
  if (note.kind != NoteKind::Pop && note.kind != NoteKind::End) writeDetails(note);
  end();
}

void TimelineFile::writeDetails(const Note& note) {
  text_ += ",\"args\":{\"domain\":";
  appendJsonText(text_, note.domain.view());
  if (note.category) {
    text_ += ",\"category\":";
    appendNumber(text_, uint64_t{note.category});
  }
  if (note.colored) {
    text_ += ",\"color\":";
    appendAddress(text_, note.color);
  }
  if (note.payloadType) {
    text_ += ",\"payload\":";
    double real = 0;
    float shorter = 0;
    std::memcpy(&real, &note.payload, sizeof real);
    std::memcpy(&shorter, &note.payload, sizeof shorter);
    if (note.payloadType == 3 || note.payloadType == 6)
      appendReal(text_, note.payloadType == 3 ? real : double{shorter});
    else if (note.payloadType == 2)
      appendNumber(text_, static_cast<int64_t>(note.payload));
    else if (note.payloadType == 5)
      appendNumber(text_, int64_t{static_cast<int32_t>(note.payload)});
    else
      appendNumber(text_, note.payloadType == 4 ? note.payload & 0xffffffff : note.payload);
  }
  text_ += '}';
}

void TimelineFile::write(const Name& name) {
  if (name.what == Named::Device) {
    const uint64_t process = deviceProcess(name.device);
    metadata("process_name", process, kMemoryTrack,
             "device " + std::to_string(name.device) + ": " + std::string(name.name.view()));
  } else if (name.what == Named::Stream) {
    const uint64_t process = deviceProcess(name.device);
    tracks_.insert(process << 32 ^ name.number);
    metadata("thread_name", process, name.number, name.name.view());
  } else {
    threads_.insert(static_cast<uint32_t>(name.number));
    metadata("thread_name", process_, name.number, name.name.view());
  }
}

void TimelineFile::lost(uint64_t records) {
  VG_LOG(Warn, "timeline: %llu events were dropped because they came too fast",
         static_cast<unsigned long long>(records));
}

void TimelineFile::flush() {
  keepText();
  if (used_) writeToFile();
}

void TimelineFile::finish() {
  text_.clear();  // of an event that there was no memory for
  ranges_.endAll([this](const Note& end) {
    writeNote(end);
    keepText();
  });
  text_ = "\n]\n";
  flush();
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

void TimelineFile::writeToFile() {
  const FileSizeGuard guard;
  const std::string_view all(buffer_.get(), used_);
  std::string_view left = all;
  while (file_ >= 0 && !left.empty()) {
    const ssize_t written = ::write(file_, left.data(), left.size());
    if (written >= 0) {
      left.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      VG_LOG(Error, "timeline: cannot write %s: %s; the rest is missing, and the program goes on", path_.c_str(),
             std::strerror(errno));
      const size_t whole = all.rfind(",\n", all.size() - left.size());  // no half of an event
      (void)!ftruncate(file_, static_cast<off_t>(whole == std::string_view::npos ? lastEvent_ : size_ + whole));
      ::close(file_);
      file_ = -1;
    }
  }
  if (const size_t last = all.rfind(",\n"); last != std::string_view::npos) lastEvent_ = size_ + last;
  size_ += used_;
  used_ = 0;
}

}  // namespace vg::activity
