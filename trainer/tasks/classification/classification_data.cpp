#include "tasks/classification/classification_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include <ffkit/image/transform_text.h>
#include <ffkit/trainer/classification.h>

#include "base/make_error.h"
#include "data/held_out.h"

namespace ffkit {
namespace {

LoaderOptions image_loader_options(const TrainOptions& options, const ProcessPlace& place,
                                   c10::Device device) {
  LoaderOptions out = common_loader_options(options, place, device);
  out.image.output.layout = classification(options).channels_last ? Layout::nhwc : Layout::nchw;
  return out;
}

}  // namespace

std::string classification_misfit(const Schema& schema) {
  for (const char* name : {"label", "image"}) {
    if (schema.index_of(name) < 0) {
      return fmt::format("the data set has no field '{}'; training needs pictures with labels",
                         name);
    }
  }
  return {};
}

std::vector<std::string> class_list(const Dataset& dataset) {
  const std::string misfit = classification_misfit(dataset.schema());
  if (!misfit.empty()) {
    throw dataset_error(dataset.path(), ErrorCode::invalid_argument, misfit);
  }
  if (!dataset.manifest().classes.empty()) return dataset.manifest().classes;
  const std::vector<int64_t> labels = dataset.int_column("label");
  const int64_t num_classes = *std::max_element(labels.begin(), labels.end()) + 1;
  std::vector<std::string> classes;
  for (int64_t i = 0; i < num_classes; ++i) classes.push_back(std::to_string(i));
  return classes;
}

Dataset open_train(const TrainOptions& options) {
  const ClassificationOptions& own = classification(options);
  Dataset train = open_mixed_split(options, {own.train_split}, classification_misfit);
  return own.val_share > 0 ? without_held_out(train, own.val_share) : train;
}

Dataset open_val(const TrainOptions& options) {
  const ClassificationOptions& own = classification(options);
  if (own.val_share > 0) {
    return held_out(open_mixed_split(options, {own.train_split}, classification_misfit),
                    own.val_share);
  }
  try {
    return open_mixed_validation(options, {own.val_split}, classification_misfit);
  } catch (const Error& error) {
    const std::string folder = error.context().path, prefix = folder + ": ";
    std::string message = error.what();
    const bool is_folder = !is_local(folder) || std::filesystem::is_directory(folder);
    if (error.code() != ErrorCode::not_found || !is_folder || !message.starts_with(prefix)) throw;
    message.erase(0, prefix.size());
    throw Error(ErrorCode::not_found,
                message +
                    "; --val-split NAME validates another one, --val-share 0.1 a tenth of "
                    "the training split",
                error.context());
  }
}

Dataset open_val(const TrainOptions& options, const std::vector<std::string>& classes) {
  Dataset val = open_val(options);
  const std::vector<std::string>& own = val.manifest().classes;
  if (!own.empty() && own != classes) {
    throw dataset_error(val.path(), ErrorCode::invalid_argument,
                        "its {} classes are not the {} that the model is trained for; convert both "
                        "splits from the same source",
                        own.size(), classes.size());
  }
  return val;
}

std::optional<Dataset> open_to_predict(const TrainOptions& options) {
  namespace fs = std::filesystem;
  const fs::path& data = options.data.only();
  std::string split;
  if ((!is_local(data) || fs::is_directory(data)) && !is_split_folder(data)) {
    const std::vector<std::string> splits = list_splits(data);
    if (splits.empty() && is_local(data)) return std::nullopt;
    const std::string& wanted = classification(options).val_split;
    const bool has_wanted = std::ranges::find(splits, wanted) != splits.end();
    if (!has_wanted && splits.size() > 1) {
      throw dataset_error(
          data, ErrorCode::invalid_argument,
          "there is no split '{}'; the data set has {}; say with --val-split which one "
          "is to be predicted",
          wanted, fmt::join(splits, ", "));
    }
    split = has_wanted || splits.empty() ? wanted : splits.front();
  }
  Dataset found = Dataset::open(data, split, {.max_record_bytes = options.max_record_bytes});
  if (found.schema().index_of("image") < 0) {
    throw dataset_error(found.path(), ErrorCode::invalid_argument,
                        "the data set has no field 'image' to predict");
  }
  return found;
}

Dataset with_valid_labels(Dataset dataset, int64_t num_classes) {
  const std::vector<int64_t> labels = dataset.int_column("label");
  const auto wrong = std::find_if(labels.begin(), labels.end(), [num_classes](int64_t label) {
    return label < 0 || label >= num_classes;
  });
  if (wrong != labels.end()) {
    throw dataset_error(
        dataset.path(), ErrorCode::invalid_argument,
        "record {} has the label {}, but there are {} classes; convert the data set "
        "again, or leave such records out",
        wrong - labels.begin(), *wrong, num_classes);
  }
  return dataset;
}

int64_t train_image_size(const TrainOptions& options, int64_t epoch) {
  const ClassificationOptions& o = classification(options);
  constexpr int64_t kStep = 32;
  if (o.progressive_size == 0 || epoch >= o.progressive_to) return o.image_size;
  if (epoch <= o.progressive_from) return o.progressive_size;
  const double progress =
      double(epoch - o.progressive_from) / double(o.progressive_to - o.progressive_from);
  const double size =
      double(o.progressive_size) + progress * double(o.image_size - o.progressive_size);
  const int64_t nearest = kStep * int64_t(std::llround(size / double(kStep)));
  return std::clamp(nearest, o.progressive_size, o.image_size);
}

LoaderOptions train_loader_options(const TrainOptions& options, const ProcessPlace& place,
                                   c10::Device device, int64_t epoch) {
  const ClassificationOptions& own = classification(options);
  LoaderOptions out = image_loader_options(options, place, device);
  set_training_order(options, out.sampler);
  out.sampler.mixture = training_mixture(options);
  out.sampler.tail = Tail::drop;
  ImageOptions seen = parse_transforms(training_transforms(own, train_image_size(options, epoch)));
  out.image.transform = std::move(seen.transform);
  out.image.augmentations = std::move(seen.augmentations);
  out.image.erasing = seen.erasing;
  out.mixing = {.mixup_alpha = own.mixup_alpha, .cutmix_alpha = own.cutmix_alpha};
  if (device.is_cuda()) write_bytes(out);
  return out;
}

LoaderOptions val_loader_options(const TrainOptions& options, const ProcessPlace& place,
                                 c10::Device device) {
  const ClassificationOptions& own = classification(options);
  LoaderOptions out = image_loader_options(options, place, device);
  out.sampler.order = Order::sequential;
  out.sampler.tail = Tail::exact;
  out.image.transform = ResizeCenterCrop{.resize = own.resolved_eval_resize(),
                                         .size = own.resolved_eval_size(),
                                         .interpolation = own.interpolation};
  if (device.is_cuda()) write_bytes(out);
  return out;
}

void write_bytes(LoaderOptions& options) {
  const bool is_mixed = options.mixing.mixup_alpha > 0 || options.mixing.cutmix_alpha > 0;
  if (is_mixed || options.image.erasing) return;
  options.image.output.dtype = DType::u8;
}

}  // namespace ffkit
