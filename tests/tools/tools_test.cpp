// `verdigris run`, `info` and `doctor` from outside: what they print, what they pass on and how they end.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "scratch.h"

namespace {

struct Outcome {
  std::string text;  // both streams
  int code;
};

// A clean environment: what the tests' own environment holds must not change the answers.
Outcome verdigris(const std::string& arguments, const std::string& environment = "") {
  const std::string command = "env -u LD_LIBRARY_PATH -u LD_PRELOAD -u CUDA_VISIBLE_DEVICES VERDIGRIS_DEVICES=cpu:1 " +
                              environment + " " VERDIGRIS " " + arguments + " 2>&1";
  Outcome outcome;
  FILE* const pipe = popen(command.c_str(), "r");
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) outcome.text.append(buffer, n);
  const int status = pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

testing::AssertionResult says(const Outcome& outcome, const std::string& pattern) {
  if (std::regex_search(outcome.text, std::regex(pattern))) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no \"" << pattern << "\" in\n" << outcome.text;
}

std::string ourLibrary() {
  char* const path = realpath(LIBCUDA, nullptr);
  const std::string result = path ? path : "";
  std::free(path);
  return result;
}

std::string ourFolder() { return ourLibrary().substr(0, ourLibrary().rfind('/')); }

std::string contentOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string scratch(const char* name) { return vg::test::scratchFile(name); }

TEST(Help, EverySubcommandExplainsItself) {
  for (const char* subcommand : {"", "run", "profile", "check", "info", "doctor", "conform", "explain"}) {
    const Outcome outcome = verdigris(std::string(subcommand) + " --help");
    EXPECT_EQ(outcome.code, 0) << subcommand;
    EXPECT_TRUE(says(outcome, "Usage|Options"));
  }
  EXPECT_TRUE(says(verdigris("check --help"), "Usage: verdigris check \\[OPTIONS\\] PROGRAM \\[ARGUMENTS...\\]"));
}

// What `--help` says of a command: "--devices".
std::set<std::string> optionsOf(const std::string& command) {
  const Outcome outcome = verdigris(command + " --help");
  std::set<std::string> options;
  const std::regex option("^ +(?:-\\w,)?(--[a-z-]+)", std::regex::multiline);
  for (std::sregex_iterator at(outcome.text.begin(), outcome.text.end(), option), end; at != end; ++at)
    options.insert((*at)[1]);
  return options;
}

// What `--help` lists as commands.
std::vector<std::string> commandsOfHelp() {
  const std::string text = verdigris("--help").text;
  std::vector<std::string> commands;
  const std::regex command("^  ([a-z][a-z-]*)  ", std::regex::multiline);
  for (std::sregex_iterator at(text.begin(), text.end(), command), end; at != end; ++at) commands.push_back((*at)[1]);
  return commands;
}

TEST(Help, TheManualPageAndCompletionsHaveEveryOption) {
  const std::map<std::string, Outcome> described = {{"man", verdigris("--describe man")},
                                                    {"bash", verdigris("--describe bash")},
                                                    {"zsh", verdigris("--describe zsh")},
                                                    {"fish", verdigris("--describe fish")}};
  const std::vector<std::string> commands = commandsOfHelp();
  EXPECT_GE(commands.size(), 9u);
  for (const std::string& command : commands) {
    const std::set<std::string> options = optionsOf(command);
    EXPECT_GE(options.size(), 2u) << command;
    for (const auto& [kind, outcome] : described) {
      EXPECT_EQ(outcome.code, 0) << kind;
      const std::string plain =
          kind == "man" ? std::regex_replace(outcome.text, std::regex("\\\\-"), "-") : outcome.text;
      EXPECT_NE(plain.find(command), std::string::npos) << kind << " lacks " << command;
      for (const std::string& option : options)
        EXPECT_NE(plain.find(kind == "fish" ? "-l " + option.substr(2) + " " : option), std::string::npos)
            << kind << " lacks " << option;
    }
  }
  EXPECT_EQ(verdigris("--describe html").code, 2);
}

// Those shells that are installed read them without complaint.
TEST(Help, ShellsAcceptTheirCompletions) {
  const std::string script = scratch("completion");
  for (const auto& [shell, check] : {std::pair{"bash", "bash -n"}, {"zsh", "zsh -n"}, {"fish", "fish --no-execute"}}) {
    if (std::system(("command -v " + std::string(shell) + " >/dev/null").c_str()) != 0) continue;
    std::ofstream(script) << verdigris("--describe " + std::string(shell)).text;
    EXPECT_EQ(std::system((check + (" " + script)).c_str()), 0) << shell;
  }
  unlink(script.c_str());
}

TEST(Help, TheWordHelpIsUnderstood) {
  EXPECT_EQ(verdigris("help").text, verdigris("--help").text);
  EXPECT_EQ(verdigris("help smi").text, verdigris("smi --help").text);
}

TEST(Help, BashCompletesCommandsAndOptions) {
  const std::string script = scratch("completion");
  std::ofstream(script) << verdigris("--describe bash").text;
  const auto completed = [&script](const std::string& words, int at) {
    const std::string command = "bash -c 'source " + script + "; COMP_WORDS=(" + words +
                                "); COMP_CWORD=" + std::to_string(at) + "; _verdigris; echo \"${COMPREPLY[*]}\"'";
    FILE* const pipe = popen(command.c_str(), "r");
    char line[4096] = "";
    if (!fgets(line, sizeof line, pipe)) line[0] = 0;
    pclose(pipe);
    return std::string(line);
  };
  EXPECT_EQ(completed("verdigris do", 1), "doctor\n");
  EXPECT_EQ(completed("verdigris run --mem", 2), "--memory\n");
  EXPECT_EQ(completed("verdigris check --devices cpu:1 --to", 4), "--tools\n");
  // Names of files are left to the shell, which quotes blanks in them; folders and commands have none of it to do.
  EXPECT_EQ(completed("verdigris run /bin/tru", 2), "\n");
  EXPECT_EQ(completed("verdigris run dirnam", 2).find("dirname"), 0u);
  EXPECT_NE(contentOf(script).find("complete -o filenames -o default"), std::string::npos);
  unlink(script.c_str());
}

TEST(Help, WhatIsNotThereIsNamedInOneLine) {
  const Outcome nothing = verdigris("");
  EXPECT_EQ(nothing.code, 2);
  EXPECT_TRUE(says(nothing, "Subcommands"));
  for (const auto& [arguments, answer] :
       {std::pair{"dance", "verdigris: there is no command dance\nRun `verdigris --help`.\n"},
        {"--verson", "verdigris: there is no option --verson\n"},
        {"dance info", "verdigris: there is no command dance\n"},
        {"run --memry 5 true", "verdigris run: there is no option --memry\nRun `verdigris run --help`.\n"},
        {"doctor a b", "verdigris doctor: .*: b\n"}}) {
    const Outcome outcome = verdigris(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_TRUE(says(outcome, "^" + std::string(answer)));
  }
}

TEST(Run, TheProgramGetsOurLibraryItsArgumentsAndItsExitCode) {
  const Outcome outcome = verdigris("run " PROGRAMS "/which_driver one -- --devices two");
  EXPECT_EQ(outcome.code, 7);
  EXPECT_TRUE(says(outcome, "driver .*libcuda.so.1\nargument one\nargument --\nargument --devices\nargument two\n$"));
  EXPECT_NE(outcome.text.find("driver " + ourFolder()), std::string::npos) << outcome.text;
}

TEST(Run, OptionsBecomeSettings) {
  const Outcome outcome = verdigris(
      "run --devices cpu:2 --memory 8GiB,4GiB --capability 9.0 --profile h200 --timeout 2.5 --log off --trace -- env");
  EXPECT_EQ(outcome.code, 0);
  for (const char* line :
       {"VERDIGRIS_DEVICES=cpu:2", "VERDIGRIS_MEMORY=8GiB,4GiB", "VERDIGRIS_COMPUTE_CAPABILITY=9.0",
        "VERDIGRIS_PROFILE=h200", "VERDIGRIS_LAUNCH_TIMEOUT=2.5", "VERDIGRIS_LOG=off", "VERDIGRIS_TRACE=1"})
    EXPECT_NE(outcome.text.find(std::string(line) + "\n"), std::string::npos) << line << "\n" << outcome.text;
}

TEST(Run, KeepsTheLibraryPathOfTheUserBehindOurs) {
  const Outcome outcome = verdigris("run env", "LD_LIBRARY_PATH=/mine");
  EXPECT_NE(outcome.text.find("LD_LIBRARY_PATH=" + ourFolder() + ":" + ourFolder() + "/nvml:" + ourFolder() +
                              "/cupti:/mine\n"),
            std::string::npos)
      << outcome.text;
}

TEST(Run, ARelativeTraceFileIsMeantFromHere) {
  const Outcome outcome = verdigris("run --trace-file calls.txt env");
  EXPECT_TRUE(says(outcome, "VERDIGRIS_TRACE=/.*/calls.txt\n"));
}

TEST(Run, PreloadGoesBeforeAnRpath) {
  if (SANITIZED) GTEST_SKIP() << "a sanitized library cannot be preloaded";
  EXPECT_TRUE(says(verdigris("run " PROGRAMS "/with_rpath"), "driver .*/elsewhere/libcuda.so.1"));
  const Outcome outcome = verdigris("run --preload " PROGRAMS "/with_rpath");
  EXPECT_NE(outcome.text.find("driver " + ourFolder()), std::string::npos) << outcome.text;
}

// Names that cannot be written in the dynamic linker's variables.
TEST(Run, FoldersThatTheDynamicLinkerCannotBeSentToAreRefused) {
  for (const std::string name : {"a:b", "a;b", "a$LIB", "a b"}) {
    const std::string folder = testing::TempDir() + std::to_string(getpid()) + name, link = folder + "/libcuda.so.1";
    ASSERT_EQ(mkdir(folder.c_str(), 0755), 0);
    ASSERT_EQ(symlink(ourLibrary().c_str(), link.c_str()), 0);
    const std::string where = " --library-dir '" + folder + "'";
    const std::string reason = name == "a$LIB" ? "the dynamic linker puts another name in place of .LIB"
                                               : "the dynamic linker ends .* at '" + name.substr(1, 1) + "'";
    if (name == "a b") {
      EXPECT_EQ(verdigris("run" + where + " true").code, 0);
      EXPECT_FALSE(says(verdigris("doctor" + where), reason));
    } else {
      EXPECT_EQ(verdigris("run" + where + " true").code, 2);
      EXPECT_TRUE(says(verdigris("doctor" + where), reason));
    }
    const Outcome outcome = verdigris("run --preload" + where + " true");
    EXPECT_EQ(outcome.code, 2);
    EXPECT_TRUE(says(outcome, "verdigris run: --preload: " + reason));
    unlink(link.c_str());
    rmdir(folder.c_str());
  }
}

TEST(Run, BadOptionsAreRefusedWithWhatIsExpected) {
  EXPECT_TRUE(says(verdigris("run --memory plenty true"), "--memory plenty: expected a size such as 16GiB"));
  EXPECT_TRUE(says(verdigris("run --capability 12 true"), "--capability 12: expected major.minor"));
  EXPECT_TRUE(says(verdigris("run --memory 999TiB true"), "--memory 999TiB: expected a size .* up to 64TiB"));
  EXPECT_TRUE(says(verdigris("run --memory 1GiB,999TiB true"), "--memory 1GiB,999TiB: expected"));
  EXPECT_TRUE(says(verdigris("run --capability 99.9 true"), "--capability 99.9: expected .* from 5.0 to 12.1"));
  EXPECT_TRUE(says(verdigris("run --profile h300 true"), "--profile h300: expected default or h200"));
  for (const std::string devices : {":2", "foo", "foo:2", "cpu:", "cpu:2,bar"})
    EXPECT_TRUE(
        says(verdigris("run --devices " + devices + " true"), "--devices " + devices + ": expected auto, or a list"));
  for (const std::string options :
       {"--devices auto", "--devices cpu", "--devices cpu:2,gpu:all", "--capability 9.0,12.1"})
    EXPECT_EQ(verdigris("run " + options + " true").code, 0) << options;
  EXPECT_TRUE(says(verdigris("run --timeout soon true"), "--timeout soon: expected a number of seconds"));
  EXPECT_TRUE(says(verdigris("run --log loud true"), "--log loud: expected trace, debug"));
  EXPECT_TRUE(says(verdigris("check --exit-code 256 true"), "verdigris check: --exit-code 256: expected a number"));
  EXPECT_TRUE(says(verdigris("check --tools hammer true"),
                   "verdigris check: --tools hammer: expected memory, .*there is no tool hammer"));
  EXPECT_EQ(verdigris("run --timeout soon true").code, 2);
  EXPECT_EQ(verdigris("run").code, 2);
  EXPECT_EQ(verdigris("run --library-dir /no/such/folder true").code, 2);
  EXPECT_TRUE(says(verdigris("run --library-dir /no/such/folder true"),
                   "run: --library-dir /no/such/folder: there is no libcuda.so.1"));
}

TEST(Run, FilesThatCannotBeWrittenAreSaidBeforeTheProgramStarts) {
  for (const std::string option : {"run --timeline", "run --trace-file", "profile --html", "check --report"}) {
    const std::string name = option.substr(option.find("--"));
    const Outcome missing = verdigris(option + " /no/such/folder/file echo started");
    EXPECT_EQ(missing.code, 2) << option;
    EXPECT_TRUE(says(missing, name + " /no/such/folder/file: there is no folder /no/such/folder\n$"));
    EXPECT_TRUE(says(verdigris(option + " /tmp echo started"), name + " /tmp: it is a folder\n$"));
  }
  EXPECT_EQ(verdigris("run --trace-file /dev/null true").code, 0);
}

TEST(Run, OnlyRegularFilesAreRemovedBeforeTheProgramStarts) {
  const std::string pipe = scratch("pipe"), file = scratch("file.json"), link = scratch("link.json");
  for (const std::string& path : {pipe, file, link}) unlink(path.c_str());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::ofstream(file) << "kept";
  ASSERT_EQ(symlink(file.c_str(), link.c_str()), 0);
  struct stat found;
  for (const std::string option : {"run --timeline ", "profile --html "}) {
    EXPECT_EQ(verdigris(option + pipe + " true").code, 0);
    EXPECT_TRUE(!lstat(pipe.c_str(), &found) && S_ISFIFO(found.st_mode)) << option;
    EXPECT_EQ(verdigris(option + link + " true").code, 0);
    EXPECT_TRUE(!lstat(link.c_str(), &found) && S_ISLNK(found.st_mode)) << option;
  }
  EXPECT_EQ(contentOf(file), "kept");
  EXPECT_TRUE(says(verdigris("run --timeline " + link + " " VERDIGRIS " info"), "Emulated Device"));
  EXPECT_TRUE(std::regex_search(contentOf(file), std::regex("process_name"))) << contentOf(file);
  const std::string read = "sh -c 'timeout 20 cat " + pipe + " > " + file + " & " VERDIGRIS " info > /dev/null; wait'";
  EXPECT_EQ(verdigris("run --timeline " + pipe + " " + read).code, 0);
  EXPECT_TRUE(std::regex_search(contentOf(file), std::regex("process_name[^]*\n\\]\n$"))) << contentOf(file);
  EXPECT_EQ(verdigris("run --timeline " + file + " true").code, 0);
  EXPECT_NE(lstat(file.c_str(), &found), 0);
  for (const std::string& path : {pipe, link}) unlink(path.c_str());
}

TEST(Run, ProgramsThatCannotStartAreExplained) {
  const std::string script = scratch("script");
  std::ofstream(script) << "#!/no/such/interpreter\n";
  chmod(script.c_str(), 0755);
  const Outcome outcome = verdigris("run " + script);
  EXPECT_EQ(outcome.code, 127);
  EXPECT_TRUE(says(outcome, "the interpreter that it names is not: verdigris doctor " + script));
  EXPECT_TRUE(says(verdigris("run no-such-program"), "Give its path, such as ./no-such-program"));
  unlink(script.c_str());
}

TEST(Run, BadSettingsAreSaidOnce) {
  const Outcome outcome = verdigris("run " VERDIGRIS " info", "VERDIGRIS_PROFILE=h300 VERDIGRIS_LOG=loud");
  for (const std::string value : {"h300", "loud"}) {
    EXPECT_NE(outcome.text.find(value), std::string::npos) << outcome.text;
    EXPECT_EQ(outcome.text.find(value), outcome.text.rfind(value)) << outcome.text;
  }
}

TEST(Run, AProgramThatCannotBeRunIsExplained) {
  Outcome outcome = verdigris("run no-such-program");
  EXPECT_EQ(outcome.code, 127);
  EXPECT_TRUE(says(outcome, "Give its path, such as ./no-such-program"));
  outcome = verdigris("run no/such/program");
  EXPECT_EQ(outcome.code, 127);
  EXPECT_FALSE(says(outcome, "Give its path"));
  outcome = verdigris("run /etc/passwd");
  EXPECT_EQ(outcome.code, 126);
  EXPECT_TRUE(says(outcome, "execute permission"));
}

TEST(Info, PrintsEachDeviceAndTheCoverage) {
  const Outcome outcome = verdigris("info", "VERDIGRIS_DEVICES=cpu:2");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_TRUE(says(outcome, "driver API +13\\.5"));
  EXPECT_TRUE(says(outcome, "devices +2"));
  EXPECT_TRUE(says(outcome, "Device 1: .+\n  compute capability +\\d+\\.\\d"));
  EXPECT_TRUE(says(outcome, "implemented +\\d+ of 618"));
  EXPECT_TRUE(says(outcome, "UUID +GPU-[0-9a-f]{8}-[0-9a-f]{4}-"));
}

TEST(Info, AndDoctorSayHowHostMemoryIsPageLocked) {
  EXPECT_TRUE(says(verdigris("info", "VERDIGRIS_DEVICES=cpu:1"), "page-locked by +(io_uring|mlock)"));
  EXPECT_TRUE(says(verdigris("doctor"), "page-locked host memory is kept by (io_uring|mlock)"));
}

TEST(Info, ListsStubsAndSettingsOnRequest) {
  EXPECT_TRUE(says(verdigris("info --settings", "VERDIGRIS_LOG=error"), "\\* VERDIGRIS_LOG .*now: error"));
  EXPECT_TRUE(says(verdigris("info --stubs"), "not implemented:\n    cu"));
}

TEST(Info, SettingsThatCannotBeFollowedAreSaid) {
  EXPECT_TRUE(says(verdigris("info", "VERDIGRIS_LOG=loud"), "VERDIGRIS_LOG=loud is no level"));
  EXPECT_TRUE(says(verdigris("info", "VERDIGRIS_LOG_FILE=/dev/null/log"), "VERDIGRIS_LOG_FILE: cannot write"));
}

TEST(Info, SaysWhereItLookedForTheLibrary) {
  const Outcome outcome = verdigris("info --library-dir /no/such/folder");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(says(outcome, "info: --library-dir /no/such/folder: there is no libcuda.so.1"));
}

// Whether `doctor` finds this problem and gives this advice.
testing::AssertionResult finds(const Outcome& outcome, const std::string& problem, const std::string& advice) {
  if (outcome.code != 1) return testing::AssertionFailure() << "code " << outcome.code << "\n" << outcome.text;
  return says(outcome, "FAIL  .*" + problem + "[^\n]*(\n +->[^\n]*)*\n +->[^\n]*" + advice);
}

TEST(Doctor, FindsNothingWhereAllIsWell) {
  const Outcome outcome = verdigris("doctor " PROGRAMS "/with_ptx", "LD_LIBRARY_PATH=" + ourFolder());
  EXPECT_TRUE(says(outcome, "cuInit finds 1 device"));
  EXPECT_TRUE(says(outcome, "has the CUDA runtime inside"));
  EXPECT_TRUE(says(outcome, "resolves to ours, through LD_LIBRARY_PATH"));
  EXPECT_TRUE(says(outcome, "with_ptx: PTX for sm_75; native code \\(not used\\) for sm_90"));
}

TEST(Doctor, SaysWhichOtherDriverAProgramGets) {
  EXPECT_TRUE(finds(verdigris("doctor " PROGRAMS "/with_rpath", "LD_LIBRARY_PATH=" + ourFolder()),
                    "resolves to .*/elsewhere/libcuda.so.1, through RPATH of", "verdigris run --preload"));
  EXPECT_TRUE(finds(verdigris("doctor " PROGRAMS "/which_driver", "LD_LIBRARY_PATH=" PROGRAMS "/elsewhere"),
                    "resolves to .*/elsewhere/libcuda.so.1, through LD_LIBRARY_PATH", "verdigris run"));
  if (SANITIZED) return;  // a sanitized library cannot be preloaded
  EXPECT_TRUE(says(verdigris("doctor " PROGRAMS "/with_rpath", "LD_PRELOAD=" + ourLibrary()),
                   "resolves to ours, through LD_PRELOAD"));
}

TEST(Doctor, KnowsProgramsWithoutPtxAndDamagedOnes) {
  EXPECT_TRUE(finds(verdigris("doctor " PROGRAMS "/native_only"), "native GPU code only \\(sm_80, sm_90\\)",
                    "nvcc -gencode arch=compute_75"));
  EXPECT_TRUE(finds(verdigris("doctor " PROGRAMS "/damaged"), "its GPU code is damaged", "build or install"));
}

TEST(Doctor, KnowsProgramsThatCannotLoadALibrary) {
  EXPECT_TRUE(finds(verdigris("doctor " PROGRAMS "/static_program"), "linked statically", "without -static"));
  EXPECT_TRUE(finds(verdigris("doctor no-such-program"), "no-such-program is not there", "./no-such-program"));

  // A copy for another machine: only the machine number of the header differs.
  const std::string foreign = testing::TempDir() + "foreign-" + std::to_string(getpid());
  {
    std::ifstream original(PROGRAMS "/with_ptx", std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(original)), {});
    ASSERT_GT(bytes.size(), 64u);
    bytes[18] = static_cast<char>(0xB7);  // AArch64
    std::ofstream(foreign, std::ios::binary) << bytes;
  }
  EXPECT_TRUE(finds(verdigris("doctor " + foreign), "is not for x86-64", "build it for this machine"));
  unlink(foreign.c_str());
}

TEST(Doctor, KnowsWhichDevicesPtxIsFor) {
  const std::string program = "doctor " PROGRAMS "/specific_ptx";
  EXPECT_TRUE(finds(verdigris(program), "PTX for sm_90a, none of which a device of compute capability 12.1 takes",
                    "verdigris run --capability 9.0"));
  EXPECT_TRUE(says(verdigris(program, "VERDIGRIS_COMPUTE_CAPABILITY=9.0"), "ok .*PTX for sm_90a;"));
  EXPECT_TRUE(finds(verdigris("doctor " PROGRAMS "/with_ptx", "VERDIGRIS_COMPUTE_CAPABILITY=7.0"),
                    "PTX for sm_75, none of which a device of compute capability 7.0 takes", "--capability 7.5"));
}

TEST(Doctor, KnowsFoldersAndProgramsOfOtherCLibraries) {
  EXPECT_TRUE(finds(verdigris("doctor /usr"), "/usr is a folder", "name a program"));
  EXPECT_TRUE(finds(verdigris("doctor " PROGRAMS "/of_musl"), "of the C library musl", "with glibc"));
  EXPECT_TRUE(finds(verdigris("doctor " PROGRAMS "/of_elsewhere"),
                    "dynamic linker /lib/elsewhere.so, which is not there", "run it on a system"));
}

TEST(Doctor, KnowsProgramsForWhichTheLoaderIgnoresTheEnvironment) {
  if (geteuid() != 0) GTEST_SKIP() << "making a file of another owner setuid needs root";
  const std::string copy = testing::TempDir() + "setuid-" + std::to_string(getpid());
  ASSERT_EQ(std::system(("cp " PROGRAMS "/with_ptx " + copy).c_str()), 0);
  ASSERT_EQ(chown(copy.c_str(), 1, 1), 0);
  ASSERT_EQ(chmod(copy.c_str(), 04755), 0);
  EXPECT_TRUE(finds(verdigris("doctor " + copy), "is setuid", "RPATH"));
  unlink(copy.c_str());
}

TEST(Doctor, ExplainsScripts) {
  const std::string script = testing::TempDir() + "script-" + std::to_string(getpid());
  std::ofstream(script) << "#!/usr/bin/env python3\n";
  chmod(script.c_str(), 0755);
  EXPECT_TRUE(
      says(verdigris("doctor " + script), "is a script for /usr/bin/env python3.*\n.*verdigris doctor /.*python3"));
  for (const std::string interpreter : {"/no/such/python", "/usr/bin/env no-such-python"}) {
    std::ofstream(script) << "#!" << interpreter << "\n";
    EXPECT_TRUE(
        finds(verdigris("doctor " + script), "is a script for " + interpreter + ", which is not there", "install"));
  }
  std::ofstream(script) << "#!/bin/sh\r\n";
  EXPECT_TRUE(finds(verdigris("doctor " + script), "whose lines end as on Windows", "sed -i"));
  unlink(script.c_str());
}

TEST(Doctor, ExplainsWhyNoDeviceIsVisible) {
  EXPECT_TRUE(finds(verdigris("doctor", "CUDA_VISIBLE_DEVICES="), "cuInit answers CUDA_ERROR_NO_DEVICE",
                    "CUDA_VISIBLE_DEVICES is \"\""));
  EXPECT_TRUE(
      finds(verdigris("doctor", "VERDIGRIS_DEVICES=warp:9"), "cuInit answers", "VERDIGRIS_DEVICES is \"warp:9\""));
}

TEST(Doctor, LooksAtTheCacheAndAtWhatForbidsCompilation) {
  EXPECT_TRUE(says(verdigris("doctor", "CUDA_CACHE_PATH=/dev/null/nowhere"), "/dev/null/nowhere cannot be written"));
  EXPECT_TRUE(finds(verdigris("doctor", "CUDA_DISABLE_PTX_JIT=1"), "CUDA_DISABLE_PTX_JIT is set", "unset it"));
}

TEST(Doctor, KnowsSettingsThatNobodyReads) {
  EXPECT_TRUE(says(verdigris("doctor", "VERDIGRIS_MEMRY=1GiB"), "VERDIGRIS_MEMRY is set, which is no setting"));
  EXPECT_FALSE(says(verdigris("doctor", "VERDIGRIS_MEMORY=1GiB"), "is no setting"));
}

// With a GPU or without one.
TEST(GpuCheck, AReportHoldsAllThatWasPrintedAndKnowsTheMachine) {
  const std::string report = scratch("gpu-check");
  const Outcome outcome = verdigris("gpu-check --quick --report " + report);
  EXPECT_TRUE(outcome.code == 77 || outcome.code == 0) << outcome.code;
  EXPECT_TRUE(says(outcome, "Linux .*\n"));
  EXPECT_TRUE(says(outcome, "/sys/module/nvidia/version: "));
  EXPECT_EQ(contentOf(report), outcome.text);
  EXPECT_EQ(verdigris("gpu-check --report /no/such/folder/report").code, 2);
}

TEST(Persist, EndsWhenItsTimeIsOverOrAtOnceWhereThereIsNoGpu) {
  const Outcome outcome = verdigris("persist --seconds 0.1");
  EXPECT_TRUE(outcome.code == 77 || (outcome.code == 0 && says(outcome, "is kept awake"))) << outcome.text;
  EXPECT_EQ(verdigris("persist --seconds never").code, 2);
}

TEST(Conform, EndsWithATableByFunctionAndAReport) {
  const std::string record = scratch("conform.tsv"), page = scratch("conform.html");
  const std::string command = "conform --filter 'MemoryLayouts.*' ";
  const Outcome outcome = verdigris(command + "--record " + record + " --html " + page);
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_TRUE(says(outcome, "CUmemorytype +4 +4 +0 +0"));
  EXPECT_TRUE(says(outcome, "cuMemAlloc +6 +0 +0 +6"));
  EXPECT_NE(contentOf(record).find("MemoryLayouts.MemoryTypesHaveTheirValues\tMEMTYPE-001"), std::string::npos);
  EXPECT_NE(contentOf(page).find("MEMTYPE-004"), std::string::npos);
  EXPECT_EQ(verdigris(command + "--compare " + record).code, 0) << "the same again";
}

TEST(Conform, AnotherResultThanTheRecordedOneDiffers) {
  const std::string record = scratch("other.tsv");
  std::ofstream(record)
      << "# device\tX\n# driver\tY\nMemoryLayouts.MemoryTypesHaveTheirValues\tMEMTYPE-001\tfail\t\tno\n";
  const Outcome outcome = verdigris("conform --filter 'MemoryLayouts.*' --compare " + record);
  EXPECT_EQ(outcome.code, 1) << outcome.text;
  EXPECT_TRUE(says(outcome, "CUmemorytype +4 +3 +1 +0"));
}

TEST(Conform, WhatCannotBeUsedIsSaid) {
  const Outcome none = verdigris("conform --filter NoSuchTest.*");
  EXPECT_EQ(none.code, 2);
  EXPECT_TRUE(says(none, "--filter NoSuchTest.\\*: no test has such a name"));
  EXPECT_EQ(verdigris("conform --compare /dev/null").code, 2);
  const Outcome outcome = verdigris("conform --library " PROGRAMS "/no/libcuda.so.1");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(says(outcome, "no/libcuda.so.1"));
}

}  // namespace
