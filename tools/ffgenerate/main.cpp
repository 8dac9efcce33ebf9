// ffgenerate: text from a GPT-2.
#include "tools/common/programs.h"

int main(int argc, char** argv) {
  return ffkit::run_ffgenerate(argc, argv);
}
