// Prints what ffkit::transform_signatures() gives, a line each, for a test that compares it with
// Python's classes.
#include <cstdio>

#include <ffkit/image/image_options.h>

int main() {
  for (const std::string& signature : ffkit::transform_signatures()) {
    std::printf("%s\n", signature.c_str());
  }
  return 0;
}
