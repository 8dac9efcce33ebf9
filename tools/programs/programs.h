// The programs as functions: the Python package has them in one file, which holds the library once.
#pragma once

namespace ffkit {

// As main() of the program that each is named after.
int run_ffconvert(int argc, char** argv);
int run_ffeval(int argc, char** argv);
int run_ffinspect(int argc, char** argv);

}  // namespace ffkit
