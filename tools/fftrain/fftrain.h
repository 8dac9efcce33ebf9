// fftrain as a function, for programs that add tasks of their own.
#pragma once

namespace ffkit {

// What main() of fftrain does, with every task of the TaskRegistry; returns the exit status.
int run_fftrain(int argc, char** argv);

}  // namespace ffkit
