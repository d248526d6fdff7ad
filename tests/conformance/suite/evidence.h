// What a test says about the rules while it runs, and where it is written: the events of a child process (events.h).
#pragma once

#include <initializer_list>
#include <string_view>

namespace suite {

// The running test proves these rules of rules.tsv. Fails the test for an id that does not exist.
void proves(std::initializer_list<std::string_view> ids);

// The running test asserts what the driver does where that is not what the rule says.
void differs(std::string_view id, std::string_view instead);

// No further test may run in this process (the device is in error): the runner goes on in a new one.
void leaveProcessAfterThisTest();

}  // namespace suite

#define PROVES(...) ::suite::proves({__VA_ARGS__})
#define DIFFERS(id, instead) ::suite::differs(id, instead)
