// Stopping a training run from outside: preemption on shared clusters.
#pragma once

namespace ffkit {

// From now on SIGTERM and SIGUSR1 ask for the end of the training that runs, and the first SIGINT does (a second one ends the program):
// it finishes its step, writes a checkpoint and returns. Any of the processes that train together may get the signal.
void stop_on_signals();

// The signal that asked for the end, 0 when none did.
int stop_signal();

// What a signal does, for programs that are told in other ways. Safe in signal handlers.
void request_stop(int signal) noexcept;

}  // namespace ffkit
