#include <array>
#include <functional>
#include <string_view>
#include <unordered_set>

#include <ffkit/image/random.h>
#include <ffkit/nuscenes/record.h>
#include <ffkit/nuscenes/windows.h>

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
      const StoredBoxes stored(classes.read(record), valid.read(record), boxes.read(record));
      for (int64_t i = 0; i < stored.size(); ++i) {
        if (!stored.is_box(i) || !stored.passes(i, options)) continue;
        if (!is_in_range(stored.numbers(i), options)) continue;
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

namespace {

// Of those of the library (0 .. 127), beside the order of weighted samples.
constexpr uint8_t kWindowStream = 126;

std::shared_ptr<const std::vector<int64_t>> find_scenes(const Dataset& keyframes) {
  const std::vector<std::string> scenes = keyframes.string_column(keyframe::kScene);
  const std::vector<int64_t> times = keyframes.int_column(keyframe::kTimestamp);
  auto starts = std::make_shared<std::vector<int64_t>>();
  std::unordered_set<std::string_view> seen;
  const auto refuse = [&](size_t record, const char* why) {
    throw dataset_error(
        keyframes.path(), ErrorCode::invalid_argument,
        "keyframe {} belongs to {}, {}; put the keyframes of a scene next to each other and in the "
        "order of time, as ffconvert does",
        record, scenes[record], why);
  };
  for (size_t i = 0; i < scenes.size(); ++i) {
    if (i > 0 && scenes[i] == scenes[i - 1]) {
      if (times[i] < times[i - 1]) refuse(i, "but is earlier than the keyframe before it");
      continue;
    }
    if (!seen.insert(scenes[i]).second) refuse(i, "but keyframes of another scene are in between");
    starts->push_back(i);
  }
  return starts;
}

// `skip(i)` of the frames before keyframe i, counted backwards from 1, is left out; 0: none.
Windows windows_of(const Dataset& keyframes, int64_t num_previous,
                   const std::function<int64_t(int64_t keyframe)>& skip) {
  const auto scenes = find_scenes(keyframes);
  std::vector<int64_t> records;
  std::vector<uint8_t> is_repeated;
  auto groups = std::make_shared<std::vector<int64_t>>();
  size_t scene = 0;
  for (int64_t i = 0; i < keyframes.num_records(); ++i) {
    if (scene + 1 < scenes->size() && (*scenes)[scene + 1] == i) ++scene;
    const int64_t first = (*scenes)[scene];
    groups->push_back(std::ssize(records));
    const int64_t skipped = skip(i);
    for (int64_t back = num_previous + (skipped > 0 ? 1 : 0); back >= 0; --back) {
      if (back > 0 && back == skipped) continue;
      records.push_back(std::max(first, i - back));
      is_repeated.push_back(i - back < first ? 1 : 0);
    }
  }
  return {.frames = keyframes.subset(records),
          .length = num_previous + 1,
          .is_repeated = std::move(is_repeated),
          .groups = std::move(groups)};
}

void check_num_previous(int64_t num_previous) {
  constexpr int64_t kMaxPrevious = 1000;
  if (num_previous >= 0 && num_previous <= kMaxPrevious) return;
  throw error_of(ErrorCode::invalid_argument, "num_previous is {}; expected 0 to {}", num_previous,
                 kMaxPrevious);
}

}  // namespace

std::shared_ptr<const std::vector<int64_t>> scene_groups(const Dataset& keyframes) {
  return errors_only(keyframes.path(), [&] { return find_scenes(keyframes); });
}

Windows make_windows(const Dataset& keyframes, int64_t num_previous) {
  check_num_previous(num_previous);
  return errors_only(keyframes.path(), [&] {
    return windows_of(keyframes, num_previous, [](int64_t) { return 0; });
  });
}

Windows draw_windows(const Dataset& keyframes, int64_t num_previous, uint64_t seed, int64_t epoch) {
  check_num_previous(num_previous);
  return errors_only(keyframes.path(), [&] {
    return windows_of(keyframes, num_previous, [&](int64_t keyframe) {
      CounterRandom random({seed, epoch, keyframes.index_in_split(keyframe)}, kWindowStream);
      return 1 + random.below(num_previous + 1);
    });
  });
}

void Windows::apply(SamplerOptions& options) const {
  options.groups = groups;
  options.share_randomness = true;
}

std::vector<uint8_t> Windows::mask(std::span<const int64_t> record_indices) const {
  std::vector<uint8_t> repeated;
  errors_only(frames.path(), [&] { repeated.reserve(record_indices.size()); });
  for (const int64_t record : record_indices) {
    if (record < 0 || record >= std::ssize(is_repeated)) {
      throw error_of(ErrorCode::invalid_argument,
                     "there is no record {} in the windows; the windows have {} frames, and the "
                     "first is frame 0",
                     record, is_repeated.size());
    }
    repeated.push_back(is_repeated[record]);
  }
  return repeated;
}

std::vector<uint8_t> Windows::has_previous(std::span<const int64_t> record_indices) const {
  const std::vector<uint8_t> repeated = mask(record_indices);
  std::vector<uint8_t> has;
  errors_only(frames.path(), [&] { has.resize(repeated.size(), 0); });
  for (size_t i = 1; i < repeated.size(); ++i) {
    const int64_t record = record_indices[i];
    const bool is_next = record % length > 0 && record_indices[i - 1] == record - 1;
    has[i] = is_next && repeated[i - 1] == 0 ? 1 : 0;
  }
  return has;
}

Windows Windows::select(std::span<const int64_t> windows) const {
  return errors_only(frames.path(), [&] {
    std::vector<int64_t> records;
    Windows out{.frames = frames, .length = length};
    auto starts = std::make_shared<std::vector<int64_t>>();
    records.reserve(windows.size() * static_cast<size_t>(length));
    out.is_repeated.reserve(records.capacity());
    starts->reserve(windows.size());
    for (const int64_t window : windows) {
      if (window < 0 || window >= num_windows()) {
        throw error_of(ErrorCode::invalid_argument,
                       "there is no window {}; there are {} windows, and the first is window 0",
                       window, num_windows());
      }
      starts->push_back(std::ssize(records));
      for (int64_t record = window * length; record < (window + 1) * length; ++record) {
        records.push_back(record);
        out.is_repeated.push_back(is_repeated[record]);
      }
    }
    out.frames = frames.subset(records);
    out.groups = std::move(starts);
    return out;
  });
}

void to_differences(std::span<double> motion, std::span<const uint8_t> has_previous) {
  constexpr size_t kNumbersEach = 18;
  constexpr std::array<size_t, 4> kDifferences = {0, 1, 2, 17};
  if (motion.size() != kNumbersEach * has_previous.size()) {
    throw error_of(ErrorCode::invalid_argument,
                   "there are {} numbers of motion for {} samples; expected {} numbers per sample",
                   motion.size(), has_previous.size(), kNumbersEach);
  }
  if (!has_previous.empty() && has_previous.front() != 0) {
    throw Error(
        ErrorCode::invalid_argument,
        "has_previous of the first sample is 1, but no sample comes before the first sample");
  }
  // From the last one on: the sample before must still be absolute.
  for (size_t sample = has_previous.size(); sample-- > 0;) {
    const std::span<double> numbers = motion.subspan(kNumbersEach * sample, kNumbersEach);
    for (const size_t i : kDifferences) {
      numbers[i] =
          has_previous[sample] == 0 ? 0 : numbers[i] - motion[kNumbersEach * (sample - 1) + i];
    }
  }
}

}  // namespace ffkit::nuscenes
