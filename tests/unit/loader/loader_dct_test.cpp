// Records in the dct code load as those with the JPEGs do: the same order, and the same bytes in
// every batch.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <ffkit/loader/loader.h>

#include "collect_epoch.h"
#include "make_dataset.h"
#include "temp_dir.h"

namespace ffkit {
namespace {

using testing::collect_epoch;
using testing::DatasetSpec;
using testing::make_dataset;

TEST(LoaderDct, GivesTheBatchesOfTheJpegs) {
  const testing::TempDir dir;
  // Some are no pictures: the same records are replaced.
  const DatasetSpec spec{.num_records = 24, .width = 300, .height = 210, .undecodable = {5, 17}};
  DatasetSpec in_dct = spec;
  in_dct.dct = true;
  const Dataset jpegs = make_dataset(dir / "jpeg", spec);
  const Dataset codes = make_dataset(dir / "dct", in_dct);
  std::vector<std::byte> record;
  codes.read(0, record);
  ASSERT_EQ(detect_image_encoding(RecordView(codes.schema(), record).bytes(0)), ImageEncoding::dct);

  const RandomResizedCrop scaled{.size = 24, .scale_min = 0.4};
  const RandomResizedCrop exact{.size = 96, .scale_max = 0.3, .scaled_decode = false};
  for (const auto order : {Order::shuffle, Order::windowed}) {
    for (const auto& transform :
         std::vector<ImageTransform>{scaled, exact, ResizeCenterCrop{.resize = 64, .size = 56},
                                     RandomCrop{.size = 64, .padding = 4}}) {
      LoaderOptions options;
      options.batch_size = 8;
      options.num_threads = 2;
      options.image.transform = transform;
      options.image.output = {.dtype = DType::u8, .normalize = false};
      options.image.augmentations = {ColorJitter{}};
      options.sampler.order = order;
      options.sampler.window_block = 4;
      options.sampler.window_blocks = 3;
      options.sampler.seed = 11;
      options.bad_samples = BadSamples::skip;
      Loader of_jpegs(jpegs, options);
      Loader of_codes(codes, options);
      EXPECT_EQ(collect_epoch(of_jpegs, 1), collect_epoch(of_codes, 1))
          << "transform " << transform.index();
    }
  }
}

}  // namespace
}  // namespace ffkit
