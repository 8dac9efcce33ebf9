// The address under which other machines reach this one: what a process tells the others to connect
// to.
#pragma once

#include <string>

#include <ffkit/trainer/launch.h>

namespace ffkit {

// Of the processes of `place`: 127.0.0.1 when all of them are on this machine, else the address of
// the interface that leads to the meeting point. Where that is this machine's own name, and its
// name stands for 127.0.0.1 or 127.0.1.1, as Debian sets it up: the first interface that is up and
// leads elsewhere. Empty when there is none, or when they meet by a file.
std::string reachable_address(const ProcessPlace& place);

}  // namespace ffkit
