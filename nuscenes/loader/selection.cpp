#include <optional>

#include <ffkit/image/random.h>
#include <ffkit/nuscenes/record.h>
#include <ffkit/nuscenes/selection.h>

#include "base/make_error.h"
#include "nuscenes/field_column.h"
#include "record_reader.h"

namespace ffkit::nuscenes {
namespace {

constexpr uint8_t kBalanceStream = 125;  // of those of the library, before that of the windows

ClassBalance draw_balanced(const KeptBoxes& kept, uint64_t seed, int64_t epoch) {
  std::array<std::vector<int64_t>, kClasses.size()> of_class;
  for (size_t i = 0; i < kept.classes.size(); ++i) {
    for (size_t c = 0; c < of_class.size(); ++c) {
      if (kept.classes[i].test(c)) of_class[c].push_back(i);
    }
  }
  ClassBalance balance;
  int64_t sum = 0;
  for (size_t c = 0; c < of_class.size(); ++c)
    sum += balance.num_before[c] = std::ssize(of_class[c]);
  for (size_t c = 0; c < of_class.size(); ++c) {
    if (of_class[c].empty()) continue;
    // In the order of CBGSDataset, because rounding decides about one draw.
    const auto count = static_cast<double>(of_class[c].size());
    const double share = count / static_cast<double>(sum);
    const double ratio = 1.0 / static_cast<double>(of_class.size()) / share;
    const auto num_draws = static_cast<int64_t>(count * ratio);
    CounterRandom random({seed, epoch, static_cast<int64_t>(c)}, kBalanceStream);
    for (int64_t draw = 0; draw < num_draws; ++draw) {
      const auto at = static_cast<size_t>(random.below(std::ssize(of_class[c])));
      balance.keyframes.push_back(of_class[c][at]);
    }
  }
  for (const int64_t keyframe : balance.keyframes) {
    for (size_t c = 0; c < of_class.size(); ++c) {
      balance.num_after[c] += kept.classes[keyframe].test(c) ? 1 : 0;
    }
  }
  return balance;
}

}  // namespace

KeptBoxes read_kept_boxes(const Dataset& keyframes, const BoxOptions& options) {
  validate(options);
  return errors_only(keyframes.path(), [&] {
    FieldColumn classes(keyframes, keyframe::kBoxClass);
    FieldColumn valid(keyframes, keyframe::kBoxValid);
    FieldColumn boxes(keyframes, keyframe::kBoxLidar);
    const auto count = static_cast<size_t>(keyframes.num_records());
    KeptBoxes kept{.num_boxes = std::vector<int64_t>(count, 0), .classes = {}};
    kept.classes.resize(count);
    for (int64_t record = 0; record < keyframes.num_records(); ++record) {
      const auto at = static_cast<size_t>(record);
      std::optional<FieldView> places;
      if (options.range) places = boxes.read(record);
      const StoredBoxes stored(classes.read(record), valid.read(record), places);
      for (int64_t i = 0; i < stored.size(); ++i) {
        if (!stored.passes(i, options)) continue;
        if (places && !is_in_range(stored.numbers(i), options)) continue;
        ++kept.num_boxes[at];
        const int64_t number = stored.class_number(i);
        if (number >= 0 && number < std::ssize(kClasses)) {
          kept.classes[at].set(static_cast<size_t>(number));
        }
      }
    }
    return kept;
  });
}

std::vector<int64_t> keyframes_with_boxes(const KeptBoxes& kept) {
  return errors_only({}, [&] {
    std::vector<int64_t> keyframes;
    for (size_t i = 0; i < kept.num_boxes.size(); ++i) {
      if (kept.num_boxes[i] > 0) keyframes.push_back(i);
    }
    return keyframes;
  });
}

ClassBalance class_balanced(const KeptBoxes& kept, uint64_t seed, int64_t epoch) {
  return errors_only({}, [&] { return draw_balanced(kept, seed, epoch); });
}

}  // namespace ffkit::nuscenes
