// The address under which other machines reach this one: what a process tells the others to connect
// to.
#pragma once

#include <string>

#include <ffkit/trainer/launch.h>

namespace ffkit {

// The address where the other processes reach this one: 127.0.0.1 if all are on this machine, else
// that of the interface that leads to the meeting point. If the meeting point is this machine's own
// name, and the name stands for 127.0.0.1 or 127.0.1.1 as on Debian, it is that of the first
// interface that is up and leads elsewhere. Empty without one, or if they meet by a file.
std::string reachable_address(const ProcessPlace& place);

}  // namespace ffkit
