// With VERDIGRIS_SEED a program's work runs in the same order in each run, other seeds try other orders, and what is
// right in any order stays right.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "interleaving/subject.h"

namespace interleaving {
namespace {

constexpr int kSeeds = 12, kTimes = 20;

using Answers = std::map<std::string, std::string>;  // by part

struct Ran {
  Answers answers;
  std::string log;
};

// What this program prints when it is told to be the subject. Without a shell, which a sanitizer's runtime ends.
std::string output(const std::string& seed, const char* how, int* status) {
  int ends[2];
  if (pipe(ends)) return "";
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    setenv("VERDIGRIS_LOG", "warn", 1);
    setenv("VERDIGRIS_SEED", seed.c_str(), 1);
    execl("/proc/self/exe", "interleaving_test", how, nullptr);
    _exit(127);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  if (child < 0 || waitpid(child, status, 0) != child) *status = -1;
  return text;
}

// What the subject prints; its log too, whose lines begin with "[".
Ran run(const std::string& seed, const char* how = "--subject") {
  int status = 0;
  const std::string text = output(seed, how, &status);
  std::istringstream lines(text);
  Ran ran;
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.find(' ');
    if (line.find("VERDIGRIS_SEED") != std::string::npos)
      ran.log += line + "\n";
    else
      ran.answers[line.substr(0, space)] = line.substr(space + 1);
  }
  EXPECT_EQ(status, 0) << "seed " << seed << ", which printed:\n" << text;
  return ran;
}

const std::map<std::string, std::string> kRight = {{"right:events", "0 1 2 3 4 5 6 7"},
                                                   {"right:doubled", "0"},
                                                   {"right:chain", "48"},
                                                   {"right:wait", "6"},
                                                   {"right:host", "6"}};

bool interpreted() {
  const char* const way = std::getenv("VERDIGRIS_KERNELS");
  return way && !std::strcmp(way, "interpret");
}

void expectRight(const Answers& answers, int seed) {
  for (const auto& [part, right] : kRight) {
    const auto found = answers.find(part);
    ASSERT_NE(found, answers.end()) << part << " is missing with seed " << seed;
    EXPECT_EQ(found->second, right) << part << ", seed " << seed;
  }
}

TEST(Interleaving, ASeedGivesTheSameOrderEachTime) {
  const Ran first = run("7");
  expectRight(first.answers, 7);
  EXPECT_EQ(first.answers.size(), 14u);
  for (int i = 1; i < kTimes; ++i) ASSERT_EQ(run("7").answers, first.answers) << "run " << i;
}

TEST(Interleaving, SeedsGiveDifferentOrders) {
  std::map<std::string, std::set<std::string>> seen;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    const Ran ran = run(std::to_string(seed));
    expectRight(ran.answers, seed);
    EXPECT_EQ(ran.log, "") << "seed " << seed;
    for (const auto& [part, answer] : ran.answers) seen[part].insert(answer);
  }
  for (const char* const part : {"streams", "blocks", "fibres", "beside", "devices", "copies", "functions", "graph"})
    EXPECT_GT(seen[part].size(), 2u) << part << ": " << *seen[part].begin();
  EXPECT_EQ(seen["warps"].size() > 2, interpreted()) << "native code takes the warps of a block in their order";
}

TEST(Interleaving, AProgramThatAsksMemoryForItsKernelsGoesOnAndIsTold) {
  const Ran ran = run("3", "--untold");
  EXPECT_EQ(ran.answers.at("right:memory"), "6");
  EXPECT_EQ(ran.answers.at("right:later"), "6");
  EXPECT_NE(ran.log.find("has made no call for 0.5 s"), std::string::npos) << ran.log;
}

TEST(Interleaving, WhatIsNoNumberIsTold) {
  const Ran ran = run("many");
  expectRight(ran.answers, 0);
  EXPECT_NE(ran.log.find("VERDIGRIS_SEED=many is no number"), std::string::npos) << ran.log;
}

}  // namespace
}  // namespace interleaving

int main(int argc, char** argv) {
  if (argc > 1 && !std::strcmp(argv[1], "--subject")) return interleaving::runSubject(false);
  if (argc > 1 && !std::strcmp(argv[1], "--untold")) return interleaving::runSubject(true);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
