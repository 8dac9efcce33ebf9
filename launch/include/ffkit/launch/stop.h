// Stopping a training run from outside: preemption on shared clusters.
// May change in any version (docs/stability.md).
#pragma once

namespace ffkit {

// Exit status of a program that was stopped and can be started again: EX_TEMPFAIL. A batch script
// that sees it puts the job into the queue again.
inline constexpr int kExitStopped = 75;

// From now on, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGHUP (unless ignored, as under nohup) and the
// first SIGINT ask the training to stop: it finishes its step, writes a checkpoint and returns. A
// second SIGINT ends the program. Any process of a run may get the signal.
//
// This function starts a thread that ends a process with stop_exit_status() and a line on stderr:
// at once if it has nothing to lose (it waits for the others to join, it evaluates or measures),
// and if it waits for the others or for data for 20 s more. A run of one process does not wait for
// the next batch: it writes its checkpoint at once.
void stop_on_signals();

// The signal that asked to stop; 0 if none did.
int stop_signal();
// kExitStopped; for SIGINT 130, as in shells.
int stop_exit_status(int signal);

// Asks to stop as a signal does, for programs that learn of it in other ways. Without
// stop_on_signals(), no process is ended. 0 takes the request back. Safe in signal handlers.
void request_stop(int signal) noexcept;

}  // namespace ffkit
