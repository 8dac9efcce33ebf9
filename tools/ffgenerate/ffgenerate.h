// ffgenerate as a function: the wheel ffkit-train has its programs in one file.
#pragma once

namespace ffkit {

// What main() of ffgenerate does; returns the exit status.
int run_ffgenerate(int argc, char** argv);

}  // namespace ffkit
