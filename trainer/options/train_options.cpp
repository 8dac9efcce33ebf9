#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include <ffkit/trainer/train_options.h>

#include "base/enum_names.h"
#include "base/make_error.h"
#include "base/printable.h"

namespace ffkit {
namespace {

bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

DataFolder parse_folder(const std::string& word) {
  const size_t colon = word.rfind(':');
  if (is_there(word) || colon == std::string::npos || colon == 0) return {.path = word};
  // The port of a server: "http://host:8080".
  const size_t host = word.find("://");
  const bool is_of_host =
      host != std::string::npos && word.find('/', host + 3) == std::string::npos;
  if (is_of_host && begins_without_case(word, "http")) return {.path = word};
  const std::optional<double> weight = number_of(std::string_view(word).substr(colon + 1));
  if (!weight) return {.path = word};
  if (!std::isfinite(*weight) || *weight <= 0) {
    throw error_of(ErrorCode::invalid_argument,
                   "data {} has the weight {}, which must be a number more than 0; leave the data "
                   "set out, or give it a share",
                   word, *weight);
  }
  return {.path = word.substr(0, colon), .weight = weight};
}

}  // namespace

constexpr EnumName<Amp> kAmpNames[] = {{Amp::off, "off"}, {Amp::bf16, "bf16"}, {Amp::fp16, "fp16"},
                                       {Amp::off, "O0"},  {Amp::fp16, "O1"},   {Amp::fp16, "O2"}};
std::string_view to_string(Amp amp) {
  return name_of(kAmpNames, amp);
}

Amp parse_amp(std::string_view name) {
  return value_of(kAmpNames, name, "--amp");
}

constexpr EnumName<OnBadSample> kOnBadSampleNames[] = {{OnBadSample::fail, "fail"},
                                                       {OnBadSample::skip, "skip"}};
std::string_view to_string(OnBadSample policy) {
  return name_of(kOnBadSampleNames, policy);
}

OnBadSample parse_on_bad_sample(std::string_view name) {
  return value_of(kOnBadSampleNames, name, "--bad-samples");
}

constexpr EnumName<SampleOrder> kSampleOrderNames[] = {{SampleOrder::automatic, "automatic"},
                                                       {SampleOrder::shuffle, "shuffle"},
                                                       {SampleOrder::windowed, "windowed"}};
std::string_view to_string(SampleOrder order) {
  return name_of(kSampleOrderNames, order);
}

SampleOrder parse_sample_order(std::string_view name) {
  return value_of(kSampleOrderNames, name, "--order");
}

constexpr EnumName<LrScaling> kLrScalingNames[] = {
    {LrScaling::none, "none"}, {LrScaling::linear, "linear"}, {LrScaling::sqrt, "sqrt"}};
std::string_view to_string(LrScaling scaling) {
  return name_of(kLrScalingNames, scaling);
}

LrScaling parse_lr_scaling(std::string_view name) {
  return value_of(kLrScalingNames, name, "--lr-scaling");
}

constexpr EnumName<LrSchedule> kLrScheduleNames[] = {{LrSchedule::cosine, "cosine"},
                                                     {LrSchedule::step, "step"},
                                                     {LrSchedule::polynomial, "polynomial"},
                                                     {LrSchedule::onecycle, "onecycle"},
                                                     {LrSchedule::constant, "constant"}};
std::string_view to_string(LrSchedule schedule) {
  return name_of(kLrScheduleNames, schedule);
}

LrSchedule parse_lr_schedule(std::string_view name) {
  return value_of(kLrScheduleNames, name, "lr schedule");
}

constexpr EnumName<OptimizerKind> kOptimizerKindNames[] = {
    {OptimizerKind::sgd, "sgd"}, {OptimizerKind::adamw, "adamw"}, {OptimizerKind::lars, "lars"}};
std::string_view to_string(OptimizerKind kind) {
  return name_of(kOptimizerKindNames, kind);
}

OptimizerKind parse_optimizer(std::string_view name) {
  return value_of(kOptimizerKindNames, name, "optimizer");
}

DataFolders::DataFolders(const std::filesystem::path& folder) {
  if (!folder.empty()) folders_.push_back({.path = folder});
}
DataFolders::DataFolders(const std::string& folder) : DataFolders(std::filesystem::path(folder)) {}
DataFolders::DataFolders(const char* folder) : DataFolders(std::filesystem::path(folder)) {}

DataFolders::DataFolders(std::vector<DataFolder> folders) : folders_(std::move(folders)) {
  // One folder is all of an epoch, whatever its weight.
  if (folders_.size() == 1) folders_.front().weight.reset();
}

DataFolders DataFolders::parse(const std::vector<std::string>& words) {
  std::vector<DataFolder> folders;
  for (const std::string& word : words) {
    if (!word.empty()) folders.push_back(parse_folder(word));
  }
  return DataFolders(std::move(folders));
}

std::vector<std::string> DataFolders::words() const {
  std::vector<std::string> out;
  for (const DataFolder& folder : folders_) {
    out.push_back(folder.weight ? fmt::format("{}:{}", folder.path.string(), *folder.weight)
                                : folder.path.string());
  }
  return out;
}

std::vector<double> DataFolders::weights() const {
  const bool has_weights = std::ranges::any_of(
      folders_, [](const DataFolder& folder) { return folder.weight.has_value(); });
  std::vector<double> out;
  if (!are_several() || !has_weights) return out;
  for (const DataFolder& folder : folders_) out.push_back(folder.weight.value_or(1));
  return out;
}

const std::filesystem::path& DataFolders::only() const {
  static const std::filesystem::path kNone;
  if (are_several()) {
    throw error_of(ErrorCode::invalid_argument,
                   "this task trains on one data set, but {} were given ({}); give --data once",
                   folders_.size(), string());
  }
  return empty() ? kNone : folders_.front().path;
}

std::string DataFolders::string() const {
  const std::vector<std::string> all = words();
  std::string out;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i > 0) out += i + 1 == all.size() ? " and " : ", ";
    out += all[i];
  }
  return out;
}

const std::string& TrainOptions::task_name() const {
  static const std::string first = kFirstTask;
  return task.empty() ? first : task;
}

void refuse_other_task_options() {
  throw Error(ErrorCode::invalid_argument,
              "the options are those of another task; set the options of the task that is trained");
}

TrainOptions TrainOptions::resolved(int world_size) const {
  TrainOptions out = *this;
  const int64_t shares = world_size * accumulate;
  if (global_batch_size > 0) {
    if (global_batch_size % shares != 0) {
      throw error_of(ErrorCode::invalid_argument,
                     "global-batch-size is {}, which {} processes with {} batches a step cannot "
                     "share evenly; give a multiple of {}",
                     global_batch_size, world_size, accumulate, shares);
    }
    out.batch_size = global_batch_size / shares;
  }
  out.global_batch_size = out.batch_size * shares;
  const double factor = double(out.global_batch_size) / double(lr_base_batch);
  if (lr_scaling == LrScaling::linear) out.lr *= factor;
  if (lr_scaling == LrScaling::sqrt) out.lr *= std::sqrt(factor);
  out.lr_scaling = LrScaling::none;
  return out;
}

}  // namespace ffkit
