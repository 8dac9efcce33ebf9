// Stopping a training run from outside: preemption on shared clusters.
// May change in any version (docs/stability.md).
#pragma once

namespace ffkit {

// Exit status of a program that was stopped and can be started again: EX_TEMPFAIL. A batch script
// that sees it puts the job into the queue again.
inline constexpr int kExitStopped = 75;

// From now on, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGHUP (unless ignored, as under nohup) and the
// first SIGINT ask the training to stop: it finishes its step, writes a checkpoint and returns. A
// second SIGINT ends the program. Any process of a run may get the signal. A process that waits for
// data asks itself to stop within a second after another process of its run was asked.
//
// This function starts a thread that ends the process with stop_exit_status() and a line on stderr.
// It does so at once if nothing is lost (the process waits for others to join, evaluates or
// measures), and after 20 s if the process waits for others or for data. A run that was asked does
// not wait for the next batch: it leaves the step and writes its checkpoint at once. Waits for a
// store end with Error(cancelled).
void stop_on_signals();

// The signal that asked to stop; 0 if none did.
int stop_signal();
// kExitStopped; for SIGINT 130, as in shells.
int stop_exit_status(int signal);

// Asks to stop, like a signal, for programs that use other ways. Without stop_on_signals(), no
// process is ended. 0 cancels the request. Safe in signal handlers.
void request_stop(int signal) noexcept;

}  // namespace ffkit
