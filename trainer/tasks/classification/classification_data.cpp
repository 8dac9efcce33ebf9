#include "tasks/classification/classification_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include <ffkit/base/machine.h>
#include <ffkit/base/option_names.h>
#include <ffkit/image/image_options.h>
#include <ffkit/trainer/classification.h>

#include "base/fnv.h"
#include "base/make_error.h"
#include "base/mix64.h"
#include "base/printable.h"
#include "model/model_registry.h"

namespace ffkit {
namespace {

void add_split_options(OptionTable& t, ClassificationOptions& o) {
  t.group("Splits");
  t.add("train-split", o.train_split, "Split to train on")
      .set_stored(o.train_split != ClassificationOptions().train_split)
      .require(!o.train_split.empty(), "the name of a split");
  t.add("val-split", o.val_split, "Split to validate on")
      .set_stored(o.val_split != ClassificationOptions().val_split)
      .require(!o.val_split.empty(), "the name of a split");
  t.add("val-share", o.val_share,
        "Share of the training split that is used for validation instead of --val-split, and not "
        "for training. The ids of the records decide, so pictures that you add later do not move "
        "other records. 0 means that --val-split is used")
      .set_stored(o.val_share != 0)
      .set_of_data()
      .set_yields_to({"val-split"})
      .require(o.val_share >= 0 && o.val_share < 1, "0 or more and less than 1")
      .require(o.val_share == 0 || o.val_split == ClassificationOptions().val_split,
               "0 if --val-split is given");
}

}  // namespace

std::vector<std::string> arch_names() {
  return ModelRegistry::instance().names();
}

void ClassificationOptions::describe(OptionTable& t, const TrainOptions& general) {
  // Where checkpoints had them before there were tasks.
  t.store_behind("data");
  add_split_options(t, *this);
  t.group("Network");
  t.add("arch", arch,
        "Network, by the name that torchvision has for it. --list-archs prints the names")
      .set_choices(arch_names())
      .set_names_model();
  t.store_behind("pretrained");
  describe_pictures(*this, t, general.epochs);
  t.store_behind("clip-grad-norm");
  t.group("Network");
  t.add("label-smoothing", label_smoothing,
        "Amount of label smoothing in the training loss. 0 means no smoothing")
      .require(label_smoothing >= 0 && label_smoothing < 1, "0 or more and less than 1");
  t.add("dropout", dropout,
        "Probability that an input of the head is dropped in training. -1: the probability that "
        "torchvision's network has, for example 0 in ResNet, 0.2 in MobileNet and 0.5 in VGG")
      .set_stored(dropout != -1)
      .require(dropout == -1 || (dropout >= 0 && dropout < 1), "0 or more and less than 1, or -1");
  t.add("class-weights", class_weights,
        "Weights of the classes in the training loss. With the word 'balanced', the weight of a "
        "class is inverse to its number of pictures. Other values are files with lines CLASS "
        "WEIGHT, or with a JSON object")
      .set_stored(!class_weights.empty());
  t.add("balance", balance,
        "Draws samples with replacement in training, so that each class appears equally often, "
        "even if some classes have more pictures")
      .set_stored(balance)
      .require(!balance || !general.data.are_several(), "off if several data sets are given")
      .require(!balance || general.order == Order::automatic, "off if --order is given");
  t.store_behind("ema-steps");
  t.add("zero-init-residual", zero_init_residual,
        "Sets the weights of the last norm of each residual block to 0 at the beginning of the "
        "training");
  t.store_behind("loss-scale");
  t.add("channels-last", channels_last,
        "Uses the memory format NHWC for pictures and convolutions (default: on)");
}

namespace {

// FNV-1a, whose high bits splitmix64's last step, without what mix64() adds before it, makes as
// even as its low ones.
uint64_t hash_of(std::string_view text) {
  return mix64(fnv1a64(std::as_bytes(std::span(text))) - 0x9E3779B97F4A7C15);
}

// The records of `split` that are held out, or all others, in its order, by their column "id".
// Throws Error(invalid_argument) when there is no such column, and when none would be left on one
// side.
Dataset side_of(const Dataset& split, double share, bool is_held) {
  const std::optional<std::vector<std::string>> ids = record_ids(split);
  if (!ids) {
    throw dataset_error(split.path(), ErrorCode::invalid_argument,
                        "has no column 'id' with texts, which chooses the records for validation");
  }
  std::vector<int64_t> chosen;
  for (size_t i = 0; i < ids->size(); ++i) {
    if (is_held_out((*ids)[i], share) == is_held) chosen.push_back(i);
  }
  if (chosen.empty() || chosen.size() == ids->size()) {
    throw dataset_error(
        split.path(), ErrorCode::invalid_argument,
        "a share of {} chooses {} of its {} records for validation; give another share", share,
        is_held == chosen.empty() ? "none" : "all", ids->size());
  }
  return split.subset(chosen);
}

}  // namespace

std::optional<std::vector<std::string>> record_ids(const Dataset& dataset) {
  const int at = dataset.schema().index_of("id");
  if (at < 0) return std::nullopt;
  const Field& field = dataset.schema().fields[at];
  if (field.type != FieldType::string || !field.column) return std::nullopt;
  return dataset.string_column("id");
}

bool is_held_out(std::string_view id, double share) {
  constexpr double kTwoTo53 = 9007199254740992;
  return static_cast<double>(hash_of(id) >> 11) < share * kTwoTo53;
}

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

namespace {

// Of a head and its gradients, for `label` and all below it.
void require_memory_for(const Dataset& dataset, int64_t record, int64_t label,
                        const std::function<int64_t()>& bytes_per_class) {
  rlimit limit{};
  auto usable = static_cast<double>(usable_memory_bytes());
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    usable = std::min(usable, static_cast<double>(limit.rlim_cur));
  constexpr double kMostBytesOfAny = 1 << 17;
  const double num_classes = static_cast<double>(label) + 1;
  if (num_classes * kMostBytesOfAny <= usable) return;
  const double wanted = num_classes * static_cast<double>(bytes_per_class());
  if (wanted <= usable) return;
  throw dataset_error(
      dataset.path(), ErrorCode::invalid_argument,
      "record {} has the label {}: a head for that number of classes needs {:.1f} GB, but this "
      "process may use {:.1f} GB; convert the data set again with labels that count from 0",
      dataset.index_in_split(record), label, wanted * 1e-9, usable * 1e-9);
}

}  // namespace

std::vector<std::string> class_list(const Dataset& dataset,
                                    const std::function<int64_t()>& bytes_per_class) {
  const std::string misfit = classification_misfit(dataset.schema());
  if (!misfit.empty()) {
    throw dataset_error(dataset.path(), ErrorCode::invalid_argument, misfit);
  }
  if (!dataset.manifest().classes.empty()) return dataset.manifest().classes;
  const std::vector<int64_t> labels = dataset.int_column("label");
  const auto largest = std::ranges::max_element(labels);
  require_memory_for(dataset, largest - labels.begin(), *largest, bytes_per_class);
  std::vector<std::string> classes;
  for (int64_t i = 0; i <= *largest; ++i) classes.push_back(std::to_string(i));
  return classes;
}

Dataset open_train(const TrainOptions& options) {
  const ClassificationOptions& own = classification(options);
  Dataset train = open_mixed_split(options, {own.train_split}, classification_misfit);
  return own.val_share > 0 ? side_of(train, own.val_share, /*is_held=*/false) : train;
}

Dataset open_val(const TrainOptions& options) {
  const ClassificationOptions& own = classification(options);
  if (own.val_share > 0) {
    return side_of(open_mixed_split(options, {own.train_split}, classification_misfit),
                   own.val_share, /*is_held=*/true);
  }
  try {
    return open_mixed_validation(options, {own.val_split}, classification_misfit);
  } catch (const Error& error) {
    const std::string folder = error.context().path, prefix = folder + ": ";
    std::string message = error.what();
    const bool is_folder = !is_local(folder) || std::filesystem::is_directory(folder);
    if (error.code() != ErrorCode::not_found || !is_folder || !message.starts_with(prefix)) throw;
    message.erase(0, prefix.size());
    throw Error(
        ErrorCode::not_found,
        fmt::format("{}; give {} for another split, or {} for a tenth of the training split",
                    message, option_set("val_split", "NAME"), option_set("val_share", "0.1")),
        error.context());
  }
}

std::string class_difference(const std::vector<std::string>& first,
                             const std::vector<std::string>& second) {
  const auto [a, b] = std::ranges::mismatch(first, second);
  const auto name = [](const auto& at, const auto& all) {
    return at == all.end() ? "missing" : fmt::format("'{}'", printable(*at));
  };
  return fmt::format("class {} is {} here and {} there", a - first.begin(), name(a, first),
                     name(b, second));
}

Dataset open_val(const TrainOptions& options, const std::vector<std::string>& classes) {
  Dataset val = open_val(options);
  const std::vector<std::string>& own = val.manifest().classes;
  if (!own.empty() && own != classes) {
    throw dataset_error(val.path(), ErrorCode::invalid_argument,
                        "the {} classes of this split differ from the {} classes of the model "
                        "({}); convert both splits from the same source",
                        own.size(), classes.size(), class_difference(own, classes));
  }
  return val;
}

std::optional<Dataset> open_to_predict(const TrainOptions& options) {
  namespace fs = std::filesystem;
  const fs::path& data = options.data.only();
  std::string split;
  if (fs::is_regular_file(data) && data.extension() != ".ffr") return std::nullopt;
  if ((!is_local(data) || fs::is_directory(data)) && !is_split_folder(data)) {
    const std::vector<std::string> splits = list_splits(data);
    if (splits.empty() && is_local(data)) return std::nullopt;
    const std::string& wanted = classification(options).val_split;
    const bool has_wanted = std::ranges::find(splits, wanted) != splits.end();
    if (!has_wanted && splits.size() > 1) {
      throw dataset_error(
          data, ErrorCode::invalid_argument,
          "there is no split '{}' (the data set has {}); choose the split to predict with {}",
          wanted, fmt::join(splits, ", "), option_name("val_split"));
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
      static_cast<double>(epoch - o.progressive_from) / (o.progressive_to - o.progressive_from);
  const double size = o.progressive_size + progress * (o.image_size - o.progressive_size);
  const int64_t nearest = kStep * std::llround(size / kStep);
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
  out.io.read_ahead_epochs = false;  // an evaluation has one, and names each bad sample once
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
