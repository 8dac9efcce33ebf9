// The predictions of a classifier, and their files.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace ffkit {

struct Prediction {
  int64_t record = 0;                             // its number in what was predicted
  int64_t label = -1;                             // -1: not known
  double loss = 0;                                // of the label: -log of its score; 0 without one
  std::vector<std::pair<int64_t, double>> top{};  // classes and their scores, the likeliest first
};

// What a record is called in files.
struct PredictedRecord {
  int64_t record = 0;  // its number in its whole split
  std::string id;
};

// Rows of f64 [N, 3 + 2k]: record, label, loss, k classes, k scores. `labels` [N] i64, or
// undefined; k is 5, or the number of classes. Scores are the softmax of `logits` [N,C] f32.
at::Tensor prediction_rows(const std::vector<int64_t>& records, const at::Tensor& labels,
                           const at::Tensor& logits);
// In the order of the records.
std::vector<Prediction> predictions_of(const std::vector<at::Tensor>& rows);

// The ending of the file's name says the form: .jsonl, an object a line, or .csv, with a line of
// names. `names` has the predicted records' names by number. Throws Error(io).
//
//   {"id":"cat/1.jpg","record":0,"class":"dog","score":0.93,"label":"cat","loss":2.7,
//    "top":[{"class":"dog","score":0.93},...]}                                       in one line
//
//   id,record,class,score,label,loss,class_2,score_2,...
void write_predictions(const std::filesystem::path& file, const std::vector<Prediction>& all,
                       const std::vector<std::string>& classes,
                       const std::vector<PredictedRecord>& names);

// How often each class was taken for each: counts[label * C + class].
struct ConfusionMatrix {
  std::vector<std::string> classes;
  std::vector<int64_t> counts;
};
ConfusionMatrix confusion_of(const std::vector<Prediction>& all,
                             const std::vector<std::string>& classes);

// The ending says the form: .json, {"classes": [...], "matrix": [[...]], "per_class": [{"class",
// "pictures", "accuracy", "precision"}]}, or .csv, a row for each label and a column for each
// class. A number that does not exist, such as the precision of a class that was never found, is
// null. Throws as write_predictions().
void write_confusion(const std::filesystem::path& file, const ConfusionMatrix& matrix);

// "class  pictures  accuracy  precision  most often taken for", the worst first; at most `most`
// classes, and a line that says how many were left out.
std::string confusion_table(const ConfusionMatrix& matrix, size_t most = 30);

}  // namespace ffkit
