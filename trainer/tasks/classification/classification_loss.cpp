#include "tasks/classification/classification_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/roll.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/file/user_text.h"
#include "base/make_error.h"
#include "base/printable.h"

namespace ffkit {

at::Tensor classification_loss(const at::Tensor& logits, const at::Tensor& labels,
                               double mix_lambda, double label_smoothing,
                               const at::Tensor& class_weights) {
  const auto loss = [&](const at::Tensor& wanted) {
    constexpr int64_t kNone = -100;
    if (!class_weights.defined())
      return at::cross_entropy_loss(logits, wanted, {}, at::Reduction::Mean, kNone,
                                    label_smoothing);
    return at::cross_entropy_loss(logits, wanted, class_weights, at::Reduction::Sum, kNone,
                                  label_smoothing) /
           wanted.size(0);
  };
  if (mix_lambda == 1) return loss(labels);
  return loss(labels).mul(mix_lambda).add(loss(at::roll(labels, 1, 0)), 1 - mix_lambda);
}

namespace {

using Weighted = std::vector<std::pair<std::string, double>>;

std::string read_text(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    throw error_at(
        file, ErrorCode::not_found,
        "this file of class weights does not exist; give another file, or the word 'balanced'");
  }
  return read_user_text(file);
}

Weighted read_json(const std::string& file, const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    throw error_at(file, ErrorCode::invalid_argument,
                   "the file is not a JSON object with a weight for each class");
  Weighted out;
  for (const auto& item : json.items()) {
    if (!item.value().is_number())
      throw error_at(file, ErrorCode::invalid_argument,
                     "the weight of the class '{}' is not a number", printable(item.key()));
    out.emplace_back(item.key(), item.value().get<double>());
  }
  return out;
}

// The weight is the last word of a line; names of classes may have spaces.
Weighted read_lines(const std::string& file, const std::string& text) {
  constexpr const char* kBetween = " \t,;\r";
  Weighted out;
  std::istringstream in(text);
  int64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const size_t end = line.find_last_not_of(kBetween);
    if (end == std::string::npos) continue;
    line.resize(end + 1);
    const size_t space = line.find_last_of(kBetween);
    const size_t end_of_name =
        space == std::string::npos ? space : line.find_last_not_of(kBetween, space);
    double weight = 0;
    const char* last = line.data() + line.size();
    const bool is_number = space != std::string::npos && end_of_name != std::string::npos &&
                           std::from_chars(line.data() + space + 1, last, weight).ptr == last;
    if (!is_number)
      throw error_at(file, ErrorCode::invalid_argument,
                     "line {} does not consist of a class and a weight", number);
    out.emplace_back(line.substr(0, end_of_name + 1), weight);
  }
  return out;
}

at::Tensor balanced(size_t num_classes, const std::vector<int64_t>& labels) {
  std::vector<double> counts(num_classes);
  for (const int64_t label : labels) ++counts.at(label);
  at::Tensor out = at::zeros({static_cast<int64_t>(num_classes)});
  auto* weight = out.mutable_data_ptr<float>();
  for (size_t i = 0; i < num_classes; ++i) {
    if (counts[i] > 0) weight[i] = labels.size() / (num_classes * counts[i]);
  }
  return out;
}

}  // namespace

at::Tensor class_weights(const std::string& choice, const std::vector<std::string>& classes,
                         const std::vector<int64_t>& labels) {
  if (choice == "balanced") return balanced(classes.size(), labels);
  const std::string text = read_text(choice);
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string::npos && text[first] == '{';
  const Weighted weights = is_json ? read_json(choice, text) : read_lines(choice, text);
  at::Tensor out = at::zeros({std::ssize(classes)});
  auto* weight = out.mutable_data_ptr<float>();
  std::vector<bool> is_there(classes.size());
  for (const auto& [name, value] : weights) {
    const size_t found = std::ranges::find(classes, name) - classes.begin();
    if (found == classes.size())
      throw error_at(choice, ErrorCode::invalid_argument,
                     "the file has a weight for the class '{}', but the data set has no such class",
                     printable(name));
    if (is_there[found])
      throw error_at(choice, ErrorCode::invalid_argument,
                     "the file has two weights for the class '{}'; remove one of the two",
                     printable(name));
    // Products with them and their sums stay numbers of 32 bits.
    if (value != 0 && !(value >= 1e-12 && value <= 1e12))
      throw error_at(
          choice, ErrorCode::invalid_argument,
          "the weight of the class '{}' is {}, but it must be 0 or between 1e-12 and 1e12",
          printable(name), value);
    is_there[found] = true;
    weight[found] = static_cast<float>(value);
  }
  const auto missing = std::ranges::find(is_there, false);
  if (missing != is_there.end())
    throw error_at(choice, ErrorCode::invalid_argument, "the file has no weight for the class '{}'",
                   printable(classes[missing - is_there.begin()]));
  if (out.sum().item<double>() == 0)
    throw error_at(
        choice, ErrorCode::invalid_argument,
        "the file gives all classes the weight 0; give at least one class a larger weight");
  const auto counts = [weight](int64_t label) { return weight[label] > 0; };
  if (!labels.empty() && std::ranges::none_of(labels, counts))
    throw error_at(choice, ErrorCode::invalid_argument,
                   "all classes that have records in the data set have the weight 0; give at least "
                   "one of these classes a larger weight");
  return out;
}

void AccuracyMeter::add(const at::Tensor& logits, const at::Tensor& labels) {
  const int64_t k = std::min<int64_t>(5, logits.size(1));
  const at::Tensor best = std::get<1>(at::topk(logits, k, /*dim=*/1));
  const at::Tensor right = best.eq(labels.unsqueeze(1));
  const at::Tensor loss = at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum);
  // Counts below 2^53 are exact.
  const auto f64 = loss.options().dtype(at::kDouble);
  const at::Tensor sums =
      at::stack({at::full({}, labels.size(0), f64), right.select(1, 0).sum().to(at::kDouble),
                 right.sum().to(at::kDouble), loss.to(at::kDouble)});
  sums_ = sums_.defined() ? sums_ + sums : sums;
}

void AccuracyMeter::sum_over(Peers& peers) {
  // A process may have had no batch.
  sums_ = sums_.defined() ? sums_.cpu() : at::zeros({4}, at::kDouble);
  peers.sum(sums_);
}

EvalResult AccuracyMeter::result() const {
  const at::Tensor sums = sums_.defined() ? sums_.cpu() : at::zeros({4}, at::kDouble);
  const double* sum = sums.const_data_ptr<double>();
  const double n = std::max(1.0, sum[0]);
  return {.count = static_cast<int64_t>(sum[0]),
          .metrics = {{"loss", sum[3] / n}, {"top1", sum[1] / n}, {"top5", sum[2] / n}}};
}

}  // namespace ffkit
