// A loader for which there is not enough memory: one sentence with a remedy, whichever of its parts
// it is that asks for too much.
#include <ffkit/format/record.h>

#include "little_memory.h"
#include "loader_prelude.h"
#include "test_images.h"

namespace ffkit {
namespace {

TEST(LoaderMemory, TooLittleIsAnErrorThatNamesTheDataSetAndWhatToDo) {
  FFKIT_SKIP_WITHOUT_MEMORY_LIMITS();
  const testing::TempDir dir;
  const Dataset dataset = testing::make_dataset(dir / "train");
  const auto child = [&](auto change) {
    alarm(300);
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
                o.memory.prefetch_batches = 1024;
              }),
              ::testing::ExitedWithCode(0), sentence);
}

// One record whose JPEG claims 65,000 x 2,600 pixels: half a gigabyte.
Dataset make_huge_picture(const std::filesystem::path& folder) {
  const std::vector<std::byte> jpeg = testing::jpeg_that_claims(65000, 2600);
  DatasetWriter writer(folder, {.split = "train", .schema = image_classification_schema()});
  RecordBuilder builder(writer.schema());
  builder.set_bytes(writer.schema().require("image"), jpeg);
  builder.set_scalar<int64_t>(writer.schema().require("label"), 1);
  builder.set_string(writer.schema().require("id"), "huge");
  writer.append(testing::encoded(builder));
  writer.finish();
  return Dataset::open(folder);
}

// It is not the picture that is bad.
TEST(LoaderMemory, APictureThatIsTooLargeNamesItsRecordAndWhatToDo) {
  FFKIT_SKIP_WITHOUT_MEMORY_LIMITS();
  const testing::TempDir dir;
  const Dataset dataset = make_huge_picture(dir / "train");
  const auto load = [&] {
    LoaderOptions options;
    options.num_threads = 1;
    options.batch_size = 1;
    options.image.transform = Resize{.size = {8, 8}};
    options.sampler.tail = Tail::exact;
    options.bad_samples = BadSamples::skip;
    Loader(dataset, options).next();
  };
  testing::expect_error_without_memory(
      400 << 20,
      "train: record 0: there is not enough memory for the record; use fewer threads or smaller "
      "batches, or give the process more",
      load);
}

}  // namespace
}  // namespace ffkit
