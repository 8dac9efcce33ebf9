// A tool that is told to stop ends its work in order: the signals only set a flag, which the work
// looks at.
#pragma once

#include <atomic>

namespace ffkit {

// From now on SIGINT, SIGTERM and SIGHUP only set the flag; a second one of the same kind ends the
// process at once. A signal that is ignored stays so, as SIGHUP under nohup.
void catch_stop_signals();

// Whether one came.
const std::atomic<bool>* stop_flag();

}  // namespace ffkit
