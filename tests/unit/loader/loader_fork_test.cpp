// A loader in a child process after fork(), which has none of its threads.
#include <gtest/gtest.h>
#include <stdio.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#include <ffkit/base/error.h>
#include <ffkit/loader/loader.h>

#include "child_process.h"
#include "make_dataset.h"
#include "temp_dir.h"

namespace ffkit {
namespace {

using testing::expect;

template <typename Call>
void expect_refused(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    expect(error.code() == ErrorCode::invalid_argument, error.what());
    expect(std::string(error.what()).find("before fork()") != std::string::npos, error.what());
    return;
  }
  expect(false, "an error is thrown");
}

TEST(LoaderFork, InheritedLoaderIsAnErrorAndAnotherOneWorks) {
  FFKIT_SKIP_FORK_BESIDE_THREADS();
  const testing::TempDir dir;
  const Dataset dataset = testing::make_dataset(dir / "train");
  LoaderOptions options;
  options.batch_size = 4;
  options.num_threads = 2;
  options.image.transform = ResizeCenterCrop{.resize = 16, .size = 16};
  std::optional<Loader> loader(std::in_place, dataset, options);
  const std::optional<Batch> held = loader->next();
  const LoaderState state = loader->state();
  const auto child = [&] {
    alarm(20);  // for what hangs
    expect(held->size() == 4, "batches can be read");
    expect(loader->ready(), "next() does not block");
    expect_refused([&] { loader->next(); });
    expect_refused([&] { loader->start_epoch(1); });
    expect_refused([&] { loader->restore(state); });
    expect(loader->state() == state, "the state is known");
    Loader own(dataset, options);
    own.restore(loader->state());
    expect(own.next()->record_indices().size() == 4, "a loader of the child's own reads");
    *loader = std::move(own);
    expect(loader->next().has_value(), "and may take the place of the other");
    loader.reset();
    _exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
  EXPECT_TRUE(loader->next().has_value()) << "the parent's goes on";
}

}  // namespace
}  // namespace ffkit
