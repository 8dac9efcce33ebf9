// A loader for which there is not enough memory: one sentence with a remedy, whichever of its parts it is that asks for too much.
#include <gtest/gtest.h>
#include <stdio.h>
#include <unistd.h>

#include <exception>

#include <ffkit/format/error.h>
#include <ffkit/loader/loader.h>

#include "little_memory.h"
#include "make_dataset.h"
#include "temp_dir.h"

namespace ffkit {
namespace {

TEST(LoaderMemory, TooLittleIsAnErrorThatNamesTheDataSetAndWhatToDo) {
  FFKIT_SKIP_WITHOUT_MEMORY_LIMITS();
  const testing::TempDir dir;
  const Dataset dataset = testing::make_dataset(dir / "train");
  const auto child = [&](auto change) {
    alarm(20);
    LoaderOptions options;
    options.num_threads = 1;
    options.batch_size = 4;
    options.image.transform = ResizeCenterCrop{.resize = 8, .size = 8};
    options.sampler.tail = Tail::exact;
    change(options);
    testing::leave_memory(256 << 20);
    try {
      Loader(dataset, options).next();
    } catch (const Error& error) {
      fprintf(stderr, "%s\n", error.what());
      _exit(error.code() == ErrorCode::io ? 0 : 1);
    } catch (const std::exception& error) {
      fprintf(stderr, "not an Error: %s\n", error.what());
      _exit(2);
    }
    _exit(3);
  };
  const char* const sentence =
      "there is not enough memory.*prefetch_batches.*give the process more";
  EXPECT_EXIT(child([](LoaderOptions& o) { o.batch_size = 1 << 20; }), ::testing::ExitedWithCode(0),
              sentence);
  EXPECT_EXIT(child([](LoaderOptions& o) { o.io.max_bytes_in_flight = int64_t{1} << 40; }),
              ::testing::ExitedWithCode(0),
              "train: there is not enough memory.*max_bytes_in_flight");
  EXPECT_EXIT(child([](LoaderOptions& o) {
                o.image_field = "";  // batches of 32 kB, and 4 million samples on their way
                o.batch_size = 4096;
                o.prefetch_batches = 1024;
              }),
              ::testing::ExitedWithCode(0), sentence);
}

}  // namespace
}  // namespace ffkit
