// What is known of each name: rows of the index that scripts/rule-index makes, with the texts that belong to them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace vg::tools::knowledge {

using Words = std::vector<std::string_view>;

// Parts of `text` between separators; none of an empty text.
Words split(std::string_view text, std::string_view separator);

struct Entry {
  std::string_view name;
  bool live;
  int since;  // 12010 is CUDA 12.1; 0: cuGetProcAddress does not know it
  std::string_view parameters, handler;
  Words calls, tests;
};

struct Rule {
  std::string_view id;
  Words entries, checks, users;
  std::string_view state;  // proven, differs or untestable
  Words tests;             // "file: Suite.Name, Suite.Name", or "3 more"
  std::string_view note;
  std::string_view subject, kind, text;  // of rules.tsv
};

struct Error {
  std::string_view name;
  Words places;  // functions that answer with it
};

struct Setting {
  std::string_view name;
  Words readers, tests;
};

// A row of docs/driver-behaviour.md.
struct Behaviour {
  std::string_view number, question, driver, ours;
};

struct Index {
  std::vector<Entry> entries;
  std::vector<Rule> rules;
  std::vector<Error> errors;
  std::vector<Setting> settings;
  std::vector<Behaviour> behaviour;
  std::map<std::string_view, std::string_view> settingTexts;  // of docs/settings.md
};

Index readIndex();

// "cuMemcpy2D" of "cuMemcpy2D_v2" and of "cuMemcpy2D_v2_ptds".
std::string_view baseOf(std::string_view entryPoint);

// Whether `word` stands in `text`, with no letter, digit or underscore beside it; a version may follow.
bool mentions(std::string_view text, std::string_view word);

}  // namespace vg::tools::knowledge
