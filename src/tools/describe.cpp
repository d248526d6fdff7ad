#include "tools/describe.h"

#include <cstdio>
#include <cstring>
#include <vector>

namespace vg::tools {
namespace {

using Commands = std::vector<const CLI::App*>;

Commands commandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_name().empty(); });
}

// Options with two dashes, not those that are hidden.
std::vector<const CLI::Option*> optionsOf(const CLI::App& app) {
  return app.get_options(
      [](const CLI::Option* option) { return !option->get_lnames().empty() && !option->get_group().empty(); });
}

std::string longName(const CLI::Option& option) { return "--" + option.get_lnames().front(); }

bool takesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

bool isFolder(const CLI::Option& option) { return option.get_option_text() == "FOLDER"; }

// Of a command that becomes a program, what stands behind its options is that program's.
bool startsPrograms(const CLI::App& command) { return command.get_prefix_command(); }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

void print(const std::string& text) { std::fputs(text.c_str(), stdout); }

// ---- the manual page

std::string roff(const std::string& text) {
  std::string result = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
  return !result.empty() && std::strchr(".'", result[0]) ? "\\&" + result : result;
}

void printManualOptions(const CLI::App& app) {
  for (const CLI::Option* option : optionsOf(app)) {
    print(".TP\n");
    for (const std::string& letter : option->get_snames()) print("\\fB" + roff("-" + letter) + "\\fR, ");
    print("\\fB" + roff(longName(*option)) + "\\fR");
    if (takesValue(*option)) print(" \\fI" + roff(option->get_option_text()) + "\\fR");
    print("\n" + roff(option->get_description()) + "\n");
  }
}

void printManualCommand(const CLI::App& command) {
  print(".SS \"verdigris " + roff(command.get_name()) + " [OPTIONS]");
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional()) print(" [" + option->get_name(true) + "]");
  print(startsPrograms(command) ? " PROGRAM [ARGUMENTS...]\"\n" : "\"\n");
  print(roff(command.get_description()) + ".\n");
  printManualOptions(command);
  if (!command.get_footer().empty()) print(".PP\n" + roff(command.get_footer()) + "\n");
}

void printManual(const CLI::App& app) {
  print(".TH VERDIGRIS 1 \"\" \"" + roff(app.version()) + "\" \"User Commands\"\n");
  print(".SH NAME\nverdigris \\- " + roff(app.get_description()) + "\n");
  print(".SH SYNOPSIS\n\\fBverdigris\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH OPTIONS\n");
  printManualOptions(app);
  print(".SH COMMANDS\n");
  for (const CLI::App* command : commandsOf(app)) printManualCommand(*command);
  print(
      ".SH EXIT STATUS\n2 for bad usage; of \\fBrun\\fR and \\fBcheck\\fR that of the program, 126 when it cannot be "
      "run and "
      "127 when it is not there.\n.SH ENVIRONMENT\n\\fBverdigris info \\-\\-settings\\fR lists the variables that the "
      "library "
      "reads.\n");
}

// ---- bash

std::string namesOf(const CLI::App& app) {
  std::string names;
  for (const CLI::Option* option : optionsOf(app)) names += (names.empty() ? "" : " ") + longName(*option);
  return names;
}

// As a pattern of `case`, of options that have a value, or of commands; never empty.
std::string pattern(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : "|") + word;
  return text.empty() ? "''" : text;
}

void printBash(const CLI::App& app) {
  std::vector<std::string> withValue, starters;
  std::string commands, cases;
  for (const CLI::App* command : commandsOf(app)) {
    commands += (commands.empty() ? "" : " ") + command->get_name();
    cases += "    " + command->get_name() + ") options='" + namesOf(*command) + "' ;;\n";
    if (startsPrograms(*command)) starters.push_back(command->get_name());
    for (const CLI::Option* option : optionsOf(*command))
      if (takesValue(*option)) withValue.push_back(longName(*option));
  }
  print("# Completion of verdigris for bash; made by `verdigris --describe bash`.\n_verdigris() {\n");
  print("  local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} options= at=2\n");
  print("  if ((COMP_CWORD == 1)); then\n    COMPREPLY=($(compgen -W '" + commands + " " + namesOf(app) +
        "' -- \"$current\"))\n    return\n  fi\n");
  print("  case $command in\n" + cases + "  esac\n");
  print("  case $command in\n    " + pattern(starters) + ")\n");
  print("      while ((at < COMP_CWORD)); do\n        case ${COMP_WORDS[at]} in\n          " + pattern(withValue) +
        ") ((at += 2)) ;;\n          --) ((at += 1)); break ;;\n          -*) ((at += 1)) ;;\n          *) break ;;\n"
        "        esac\n      done\n");
  print(
      "      if ((at < COMP_CWORD)) && declare -F _command_offset >/dev/null; then _command_offset $at; return; fi\n");
  print(
      "      if ((at == COMP_CWORD)) && [[ $current != -* ]]; then\n"
      "        [[ $current == */* ]] ||\n"
      "          mapfile -t COMPREPLY < <(compgen -c -- \"$current\"; compgen -d -- \"$current\")\n"
      "        return\n      fi ;;\n"
      "  esac\n");
  print("  [[ $current != -* ]] || COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n}\n");
  // Files are the shell's: it knows what is to be quoted.
  print("complete -o filenames -o default -F _verdigris verdigris\n");
}

// ---- zsh

std::string zshText(const std::string& text) {
  std::string result = replaced(text, "'", "'\\''");
  for (const char* special : {"[", "]", ":"}) result = replaced(result, special, std::string("\\") + special);
  return result;
}

void printZshOptions(const CLI::App& app) {
  for (const CLI::Option* option : optionsOf(app)) {
    print(" \\\n        '" + longName(*option) + "[" + zshText(option->get_description()) + "]");
    if (takesValue(*option))
      print(":" + zshText(option->get_option_text()) + ":" + (isFolder(*option) ? "_files -/" : "_files"));
    print("'");
  }
}

void printZsh(const CLI::App& app) {
  print("#compdef verdigris\n# Completion of verdigris for zsh; made by `verdigris --describe zsh`.\n_verdigris() {\n");
  print("  if ((CURRENT == 2)); then\n    local -a commands=(\n");
  for (const CLI::App* command : commandsOf(app))
    print("      '" + command->get_name() + ":" + zshText(command->get_description()) + "'\n");
  print(
      "    )\n    _describe command commands\n    return\n  fi\n  shift words\n  ((CURRENT--))\n  case $words[1] in\n");
  for (const CLI::App* command : commandsOf(app)) {
    print("    " + command->get_name() + ")\n      _arguments -S");
    printZshOptions(*command);
    print(startsPrograms(*command) ? " \\\n        '(-)1:program:_command_names -e' '*::arguments:_normal' ;;\n"
                                   : " \\\n        '*:file:_files' ;;\n");
  }
  print("  esac\n}\n_verdigris \"$@\"\n");
}

// ---- fish

std::string fishText(const std::string& text) { return replaced(replaced(text, "\\", "\\\\"), "'", "\\'"); }

void printFishOptions(const CLI::App& app, const std::string& condition) {
  for (const CLI::Option* option : optionsOf(app))
    print("complete -c verdigris -n '" + condition + "' -l " + option->get_lnames().front() +
          (takesValue(*option) ? " -r" : "") + " -d '" + fishText(option->get_description()) + "'\n");
}

void printFish(const CLI::App& app) {
  print("# Completion of verdigris for fish; made by `verdigris --describe fish`.\n");
  printFishOptions(app, "__fish_use_subcommand");
  for (const CLI::App* command : commandsOf(app)) {
    const std::string name = command->get_name();
    print("complete -c verdigris -n __fish_use_subcommand -f -a " + name + " -d '" +
          fishText(command->get_description()) + "'\n");
    printFishOptions(*command, "__fish_seen_subcommand_from " + name);
    if (startsPrograms(*command))
      print("complete -c verdigris -n '__fish_seen_subcommand_from " + name +
            "' -x -a '(__fish_complete_subcommand --fcs-skip=2)'\n");
  }
}

}  // namespace

bool describe(const CLI::App& app, const std::string& kind) {
  if (kind == "man") return printManual(app), true;
  if (kind == "bash") return printBash(app), true;
  if (kind == "zsh") return printZsh(app), true;
  if (kind == "fish") return printFish(app), true;
  return false;
}

}  // namespace vg::tools
