// What run_local_processes() tells the processes that it starts, beside the variables that torchrun
// sets.
#pragma once

namespace ffkit {

inline constexpr char kStartedVariable[] = "FFKIT_STARTED_BY_FFTRAIN";
// Descriptor of the socket on which rank 0 is to serve the store; it listens already, so no other
// program can take its port.
inline constexpr char kSocketVariable[] = "FFKIT_LISTENING_SOCKET";

}  // namespace ffkit
