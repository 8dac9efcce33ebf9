// Multi-sensor batches of nuScenes, plain and in windows of three frames.
//
//   nuscenes DATA SPLIT     e.g. the folder that `ffconvert nuscenes SRC DATA --version v1.0-mini`
//                           has made, and mini_train
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

#include <ffkit/loader/loader.h>
#include <ffkit/nuscenes/loading.h>
#include <ffkit/nuscenes/windows.h>

namespace ns = ffkit::nuscenes;

namespace {

void print_batch(const ffkit::Batch& batch) {
  for (size_t i = 0; i < batch.num_fields(); ++i) {
    std::string shape;
    for (const int64_t extent : batch.field(i).shape) shape += " " + std::to_string(extent);
    std::printf("  %s [%s ]\n", std::string(batch.field_name(i)).c_str(), shape.c_str());
  }
}

void run(const std::string& data, const std::string& split_name) {
  const ns::Split split = ns::open_split(data, split_name);

  ns::KeyframeOptions fields;
  fields.cameras.image.transform = ffkit::ResizeCrop{.size = {256, 704},
                                                     .factor_min = 0.38,
                                                     .factor_max = 0.55,
                                                     .centered = false,
                                                     .flip_probability = 0.5};
  fields.lidar.num_sweeps = 10;
  fields.bev = {.rotation_min = -0.39,
                .rotation_max = 0.39,
                .scale_min = 0.95,
                .scale_max = 1.05,
                .flip_x_probability = 0.5,
                .flip_y_probability = 0.5};

  ffkit::LoaderOptions options{.batch_size = 2, .image_field = "", .label_field = ""};
  options.sampler.tail = ffkit::Tail::exact;
  options.fields = ns::keyframe_fields(split, fields);
  int64_t num_samples = 0;
  int64_t num_boxes = 0;
  ffkit::Loader loader(split.keyframes, options);
  while (const auto batch = loader.next()) {
    if (num_samples == 0) print_batch(*batch);
    num_samples += batch->size();
    num_boxes += batch->row_offsets("boxes").back();
  }
  std::printf("%lld keyframes, %lld boxes\n", static_cast<long long>(num_samples),
              static_cast<long long>(num_boxes));

  // Two windows a batch, of a keyframe and the two before it: [6, ...] is [2, 3, ...].
  const ns::Windows windows = ns::make_windows(split.keyframes, 2);
  options.batch_size = 2 * windows.length;
  windows.apply(options.sampler);
  ffkit::Loader sequences(windows.frames, options);
  int64_t num_repeated = 0;
  while (const auto batch = sequences.next()) {
    for (const uint8_t repeated : windows.mask(batch->record_indices())) num_repeated += repeated;
  }
  std::printf("%lld windows, %lld frames repeated at beginnings of scenes\n",
              static_cast<long long>(windows.frames.num_records() / windows.length),
              static_cast<long long>(num_repeated));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: nuscenes DATA SPLIT\n");
    return 2;
  }
  try {
    run(argv[1], argv[2]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "nuscenes: error: %s\n", e.what());
    return 1;
  }
}
