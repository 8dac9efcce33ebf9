#include "tasks/classification/predictions.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/topk.h>
#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/file/file.h"
#include "base/printable.h"

namespace ffkit {
namespace {

using Json = nlohmann::ordered_json;
constexpr int64_t kTop = 5;
constexpr int64_t kColumnsBefore = 3;

// As RFC 4180 has it.
std::string csv_field(const std::string& text) {
  if (text.find_first_of("\",\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string json_line(const Prediction& p, const std::vector<std::string>& classes,
                      const PredictedRecord& name) {
  Json line = {{"id", name.id},
               {"record", name.record},
               {"class", classes.at(p.top.front().first)},
               {"score", p.top.front().second}};
  if (p.label >= 0) {
    line["label"] = classes.at(p.label);
    line["loss"] = p.loss;
  }
  for (const auto& [number, score] : p.top)
    line["top"].push_back({{"class", classes.at(number)}, {"score", score}});
  return dump(line) + "\n";
}

std::string csv_line(const Prediction& p, const std::vector<std::string>& classes,
                     const PredictedRecord& name) {
  std::string line = fmt::format("{},{},{},{},{},{}", csv_field(name.id), name.record,
                                 csv_field(classes.at(p.top.front().first)), p.top.front().second,
                                 p.label < 0 ? "" : csv_field(classes.at(p.label)),
                                 p.label < 0 ? "" : fmt::format("{}", p.loss));
  for (size_t i = 1; i < p.top.size(); ++i) {
    line += fmt::format(",{},{}", csv_field(classes.at(p.top[i].first)), p.top[i].second);
  }
  return line + "\n";
}

// Of one class.
struct ClassFigures {
  size_t number = 0;
  int64_t pictures = 0, right = 0, found = 0;  // found: how often any picture was taken for it
  size_t taken_for = 0;                        // most often, of those that were wrong
  int64_t num_taken = 0;

  Json accuracy() const {
    return pictures > 0 ? Json(static_cast<double>(right) / pictures) : Json();
  }
  Json precision() const { return found > 0 ? Json(static_cast<double>(right) / found) : Json(); }
};

std::vector<ClassFigures> figures_of(const ConfusionMatrix& matrix) {
  const size_t n = matrix.classes.size();
  std::vector<ClassFigures> out(n);
  for (size_t label = 0; label < n; ++label) {
    out[label].number = label;
    for (size_t c = 0; c < n; ++c) {
      const int64_t count = matrix.counts[label * n + c];
      out[label].pictures += count;
      out[c].found += count;
      if (c == label) out[label].right = count;
      if (c == label || count <= out[label].num_taken) continue;
      out[label].num_taken = count;
      out[label].taken_for = c;
    }
  }
  return out;
}

std::string percent(const Json& share) {
  return share.is_null() ? "-" : fmt::format("{:.1f} %", 100 * share.get<double>());
}

}  // namespace

at::Tensor prediction_rows(const std::vector<int64_t>& records, const at::Tensor& labels,
                           const at::Tensor& logits) {
  const int64_t n = logits.size(0);
  const at::Tensor log_scores = at::log_softmax(logits.to(at::kDouble), 1).cpu();
  const auto [scores, numbers] = at::topk(log_scores, std::min(kTop, logits.size(1)), 1);
  at::Tensor label = at::full({n, 1}, -1.0, at::kDouble), loss = at::full({n, 1}, 0.0, at::kDouble);
  if (labels.defined()) {
    const at::Tensor own = labels.cpu().unsqueeze(1);
    label = own.to(at::kDouble);
    loss = -log_scores.gather(1, own);
  }
  return at::cat({at::tensor(records, at::kDouble).unsqueeze(1), label, loss,
                  numbers.to(at::kDouble), scores.exp()},
                 1);
}

std::vector<Prediction> predictions_of(const std::vector<at::Tensor>& rows) {
  std::vector<Prediction> out;
  for (const at::Tensor& share : rows) {
    if (share.numel() == 0) continue;
    const at::Tensor all = share.contiguous();
    const int64_t k = (all.size(1) - kColumnsBefore) / 2;
    const auto* row = all.const_data_ptr<double>();
    for (int64_t i = 0; i < all.size(0); ++i, row += all.size(1)) {
      Prediction& p = out.emplace_back(
          Prediction{static_cast<int64_t>(row[0]), static_cast<int64_t>(row[1]), row[2]});
      for (int64_t j = 0; j < k; ++j)
        p.top.emplace_back(static_cast<int64_t>(row[kColumnsBefore + j]),
                           row[kColumnsBefore + k + j]);
    }
  }
  std::ranges::stable_sort(out, {}, &Prediction::record);
  return out;
}

void write_predictions(const std::filesystem::path& file, const std::vector<Prediction>& all,
                       const std::vector<std::string>& classes,
                       const std::vector<PredictedRecord>& names) {
  const bool is_csv = file.extension() == ".csv";
  std::string text;
  if (is_csv) {
    text = "id,record,class,score,label,loss";
    const auto k = std::min<size_t>(kTop, classes.size());
    for (size_t i = 2; i <= k; ++i) text += fmt::format(",class_{0},score_{0}", i);
    text += "\n";
  }
  for (const Prediction& p : all) {
    const PredictedRecord& name = names.at(p.record);
    text += is_csv ? csv_line(p, classes, name) : json_line(p, classes, name);
  }
  write_durably(file, text);
}

ConfusionMatrix confusion_of(const std::vector<Prediction>& all,
                             const std::vector<std::string>& classes) {
  ConfusionMatrix out{.classes = classes,
                      .counts = std::vector<int64_t>(classes.size() * classes.size())};
  for (const Prediction& p : all) {
    if (p.label < 0) continue;
    ++out.counts.at(p.label * classes.size() + p.top.front().first);
  }
  return out;
}

void write_confusion(const std::filesystem::path& file, const ConfusionMatrix& matrix) {
  const size_t n = matrix.classes.size();
  const auto count = [&](size_t label, size_t c) { return matrix.counts[label * n + c]; };
  std::string text;
  if (file.extension() == ".json") {
    Json json = {
        {"classes", matrix.classes}, {"matrix", Json::array()}, {"per_class", Json::array()}};
    for (size_t label = 0; label < n; ++label) {
      Json row = Json::array();
      for (size_t c = 0; c < n; ++c) row.push_back(count(label, c));
      json["matrix"].push_back(std::move(row));
    }
    for (const ClassFigures& f : figures_of(matrix)) {
      json["per_class"].push_back({{"class", matrix.classes[f.number]},
                                   {"pictures", f.pictures},
                                   {"accuracy", f.accuracy()},
                                   {"precision", f.precision()}});
    }
    text = dump(json) + "\n";
  } else {
    text = "label";
    for (const std::string& name : matrix.classes) text += "," + csv_field(name);
    text += "\n";
    for (size_t label = 0; label < n; ++label) {
      text += csv_field(matrix.classes[label]);
      for (size_t c = 0; c < n; ++c) text += fmt::format(",{}", count(label, c));
      text += "\n";
    }
  }
  write_durably(file, text);
}

std::string confusion_table(const ConfusionMatrix& matrix, size_t most) {
  std::vector<ClassFigures> figures = figures_of(matrix);
  std::erase_if(figures, [](const ClassFigures& f) { return f.pictures == 0; });
  std::ranges::stable_sort(figures, [](const ClassFigures& a, const ClassFigures& b) {
    return a.right * b.pictures < b.right * a.pictures;
  });
  const size_t num_left_out = figures.size() > most ? figures.size() - most : 0;
  figures.resize(figures.size() - num_left_out);
  size_t width = 5;
  for (const ClassFigures& f : figures)
    width = std::max(width, printable(matrix.classes[f.number]).size());
  std::string out =
      fmt::format("{:<{}}  pictures  accuracy  precision  most often taken for\n", "class", width);
  for (const ClassFigures& f : figures) {
    out += fmt::format(
        "{:<{}}  {:>8}  {:>8}  {:>9}  {}\n", printable(matrix.classes[f.number]), width, f.pictures,
        percent(f.accuracy()), percent(f.precision()),
        f.num_taken == 0
            ? ""
            : fmt::format("{} ({} times)", printable(matrix.classes[f.taken_for]), f.num_taken));
  }
  if (num_left_out > 0) out += fmt::format("{} better classes are left out\n", num_left_out);
  return out;
}

}  // namespace ffkit
