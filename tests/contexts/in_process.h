// Checks in a process of their own, for what is decided once in the life of a process.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

using Settings = std::vector<std::pair<const char*, std::string>>;

// Sets the environment and runs the checks in a fork, which has not called cuInit yet. 0 when none has failed, and the
// negative number of the signal that ended it.
template <class Checks>
int inProcess(const Settings& settings, Checks checks) {
  const pid_t pid = fork();
  if (pid == 0) {
    for (const auto& [name, value] : settings) setenv(name, value.c_str(), 1);
    checks();
    _exit(testing::Test::HasFailure());
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}
