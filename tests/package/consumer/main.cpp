#include <cstdio>

#include <ffkit/base/version.h>
#include <ffkit/loader/loader.h>

#if FFKIT_VERSION_MAJOR != 1
#error "another major version has another API"
#endif

int main(int, char** argv) {
  ffkit::Loader loader(ffkit::Dataset::open(argv[1], "train"), {.batch_size = 16});
  loader.set_epoch(0);
  int64_t num_batches = 0;
  int64_t num_samples = 0;
  for (; auto batch = loader.next(); ++num_batches) num_samples += batch->size();
  std::printf("%lld batches of 16 images, %lld samples\n", static_cast<long long>(num_batches),
              static_cast<long long>(num_samples));
}
