// Stopping a training run from outside: preemption on shared clusters.
#pragma once

namespace ffkit {

// Exit status of a program that was stopped and can be started again: EX_TEMPFAIL, what a batch
// script looks for to put the job into the queue again.
inline constexpr int kExitStopped = 75;

// From now on SIGTERM, SIGUSR1 and SIGHUP (unless that is ignored, as under nohup) ask for the end
// of the training that runs, and the first SIGINT does (a second one ends the program): it finishes
// its step, writes a checkpoint and returns. Any of the processes that train together may get the
// signal. A process that is asked to stop while it waits and has nothing to lose (the others are
// not there yet, evaluate(), measurements), or that waits for the others or for data for 20 s more,
// is ended at once with stop_exit_status() by a thread that this function starts; it says so on
// stderr.
void stop_on_signals();

// The signal that asked for the end, 0 when none did.
int stop_signal();
// kExitStopped, and for SIGINT 130 as shells have it.
int stop_exit_status(int signal);

// What a signal does, for programs that are told in other ways; these are never ended without
// stop_on_signals(). 0 takes the request back. Safe in signal handlers.
void request_stop(int signal) noexcept;

}  // namespace ffkit
