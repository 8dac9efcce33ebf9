#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <span>

#include <nlohmann/json.hpp>

#include <ffkit/format/dtype_visitor.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "serve/site.h"

namespace ffkit::serve {
namespace {

constexpr int64_t kMaxPoints = 20'000;              // of a map; of more records some are drawn
constexpr int64_t kMaxNumbers = int64_t{32} << 20;  // that a map is made from
constexpr int kMaxTurns = 50;                       // of the power iteration
constexpr int64_t kRecordsToAsk = 20;               // for the dimensions of a field

using Vector = std::vector<float>;

// The numbers of a vector; empty for null, for what is no vector of numbers, and a damaged record.
Vector read_vector(const ServedSplit& split, int64_t record, size_t i) {
  thread_local std::vector<std::byte> bytes;
  Vector numbers;
  try {
    if (!split.whole().read_field(record, i, bytes)) return {};
    const TensorView tensor = FieldView(split.schema().fields[i], bytes, false).tensor();
    if (tensor.shape.size() != 1 || is_integer(tensor.dtype)) return {};
    visit_dtype(tensor.dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      for (size_t at = 0; at < tensor.data.size(); at += sizeof(T)) {
        numbers.push_back(static_cast<float>(load_number<T>(tensor.data.data() + at)));
      }
    });
  } catch (const Error&) {
    return {};
  }
  const auto is_finite = [](float value) { return std::isfinite(value); };
  return std::ranges::all_of(numbers, is_finite) ? numbers : Vector();
}

// Empty for null, and for a damaged record.
std::vector<int64_t> shape_of(const ServedSplit& split, int64_t record, size_t i) {
  std::vector<std::byte> bytes;
  try {
    if (!split.whole().read_field(record, i, bytes)) return {};
    return FieldView(split.schema().fields[i], bytes, false).tensor().shape;
  } catch (const Error&) {
    return {};
  }
}

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
  return sum;
}

size_t vector_field_of(const ServedSplit& split, const http::Request& request) {
  const std::string name = request.text("field");
  const auto names = vector_fields(split);
  if (std::ranges::find(names, name) == names.end()) {
    throw error_of(ErrorCode::invalid_argument, "the split '{}' has no field '{}' of vectors",
                   split.name(), printable(name));
  }
  return split.schema().require(name);
}

struct Points {
  std::vector<int64_t> records;
  std::vector<Vector> vectors;  // of one length
  int64_t num_left_out = 0;
};

// Vectors as long as the first one, of records spread evenly over the choice.
Points read_points(const ServedSplit& split, const Choice& choice, size_t field) {
  Points points;
  int64_t length = 0;
  for (int64_t i = 0; length == 0 && i < choice.size(); ++i) {
    length = std::ssize(read_vector(split, choice.at(i), field));
  }
  if (length == 0) {
    points.num_left_out = choice.size();
    return points;
  }
  const int64_t count =
      std::min({choice.size(), kMaxPoints, std::max<int64_t>(2, kMaxNumbers / length)});
  std::vector<int64_t> records(static_cast<size_t>(count));
  std::vector<Vector> vectors(records.size());
  tbb::parallel_for(size_t{0}, records.size(), [&](size_t i) {
    const auto k = static_cast<int64_t>(i);
    records[i] = choice.at(choice.size() / count * k + choice.size() % count * k / count);
    vectors[i] = read_vector(split, records[i], field);
  });
  for (size_t i = 0; i < records.size(); ++i) {
    if (std::ssize(vectors[i]) != length) {
      ++points.num_left_out;
      continue;
    }
    points.records.push_back(records[i]);
    points.vectors.push_back(std::move(vectors[i]));
  }
  return points;
}

void centre(std::vector<Vector>& vectors) {
  std::vector<double> sum(vectors.front().size());
  for (const Vector& vector : vectors) {
    for (size_t k = 0; k < sum.size(); ++k) sum[k] += vector[k];
  }
  for (Vector& vector : vectors) {
    for (size_t k = 0; k < sum.size(); ++k) {
      vector[k] -= static_cast<float>(sum[k] / double(vectors.size()));
    }
  }
}

// The direction in which centred vectors spread most, by power iteration from a fixed begin.
Vector widest_axis(const std::vector<Vector>& vectors) {
  const size_t length = vectors.front().size();
  Vector axis(length);
  for (size_t k = 0; k < length; ++k) axis[k] = 1.0F + float(k * 7919 % 101) / 101;
  for (int turn = 0; turn < kMaxTurns; ++turn) {
    std::vector<double> next(length);
    std::mutex mutex;
    tbb::parallel_for(tbb::blocked_range<size_t>(0, vectors.size(), 512), [&](const auto& range) {
      std::vector<double> part(length);
      for (size_t i = range.begin(); i < range.end(); ++i) {
        const double along = dot(vectors[i], axis);
        for (size_t k = 0; k < length; ++k) part[k] += along * vectors[i][k];
      }
      const std::lock_guard lock(mutex);
      for (size_t k = 0; k < length; ++k) next[k] += part[k];
    });
    double norm = 0;
    for (const double value : next) norm += value * value;
    if (!(norm > 0)) return Vector(length);  // no spread is left
    double change = 0;
    for (size_t k = 0; k < length; ++k) {
      const auto value = static_cast<float>(next[k] / std::sqrt(norm));
      change = std::max(change, double{std::abs(value - axis[k])});
      axis[k] = value;
    }
    if (change < 1e-5) break;
  }
  return axis;
}

// How far each vector reaches along the axis; takes that from them.
std::vector<double> take_axis(std::vector<Vector>& vectors, const Vector& axis) {
  std::vector<double> along(vectors.size());
  tbb::parallel_for(size_t{0}, vectors.size(), [&](size_t i) {
    along[i] = dot(vectors[i], axis);
    for (size_t k = 0; k < axis.size(); ++k) {
      vectors[i][k] -= static_cast<float>(along[i] * axis[k]);
    }
  });
  return along;
}

}  // namespace

std::vector<std::string> vector_fields(const ServedSplit& split) {
  std::vector<std::string> names;
  const int64_t last = std::min(kRecordsToAsk, split.whole().num_records());
  for (size_t i = 0; i < split.schema().fields.size(); ++i) {
    const Field& field = split.schema().fields[i];
    if (field.type != FieldType::tensor || is_integer(field.dtype)) continue;
    // The first record that has the field says what it is.
    std::vector<int64_t> shape;
    for (int64_t record = 0; shape.empty() && record < last; ++record) {
      shape = shape_of(split, record, i);
    }
    if (shape.size() == 1 && shape[0] > 1) names.push_back(field.name);
  }
  return names;
}

http::Response answer_map(SiteState& state, const http::Request& request) {
  const ServedSplit& split = state.set.split_of(request);
  const size_t field = vector_field_of(split, request);
  const auto choice = state.choice(split, parse_choice(request));
  Points points = read_points(split, *choice, field);
  std::array<std::vector<double>, 2> places;
  if (!points.vectors.empty()) {
    centre(points.vectors);
    for (auto& place : places) place = take_axis(points.vectors, widest_axis(points.vectors));
  }
  std::shared_ptr<const Column> labels;
  if (split.has_labels()) labels = split.columns().get("label");
  Json list = Json::array();
  for (size_t i = 0; i < points.records.size(); ++i) {
    list.push_back({points.records[i], places[0][i], places[1][i],
                    labels ? Json(label_in(*labels, points.records[i])) : Json()});
  }
  return json_response({{"points", list},
                        {"length", points.vectors.empty() ? 0 : points.vectors.front().size()},
                        {"num_records", choice->size()},
                        {"num_left_out", points.num_left_out}});
}

http::Response answer_near(SiteState& state, const http::Request& request) {
  const ServedSplit& split = state.set.split_of(request);
  const size_t field = vector_field_of(split, request);
  const int64_t record = ServedSet::record_of(split, request);
  const int64_t count = request.number("count", 24, 1, 200);
  const Vector own = read_vector(split, record, field);
  const double own_norm = std::sqrt(dot(own, own));
  if (!(own_norm > 0)) {
    throw error_of(ErrorCode::not_found,
                   "record {} has no finite vector with a nonzero number in '{}'", record,
                   split.schema().fields[field].name);
  }
  constexpr double kNone = -2;
  const auto choice = state.choice(split, {});
  std::vector<std::pair<double, int64_t>> found(static_cast<size_t>(choice->size()), {kNone, 0});
  tbb::parallel_for(size_t{0}, found.size(), [&](size_t i) {
    const int64_t other = choice->at(static_cast<int64_t>(i));
    if (other == record || *request.is_abandoned) return;
    const Vector vector = read_vector(split, other, field);
    const double norm = vector.size() == own.size() ? std::sqrt(dot(vector, vector)) : 0;
    if (norm > 0) found[i] = {dot(own, vector) / own_norm / norm, other};
  });
  std::erase_if(found, [](const auto& one) { return one.first == kNone; });
  const auto end = found.begin() + std::min(count, std::ssize(found));
  std::partial_sort(found.begin(), end, found.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  Json list = Json::array();
  for (auto at = found.begin(); at != end; ++at) {
    list.push_back({{"split", split.name()}, {"record", at->second}, {"cosine", at->first}});
  }
  return json_response({{"near", list}, {"num_left_out", choice->size() - 1 - std::ssize(found)}});
}

}  // namespace ffkit::serve
