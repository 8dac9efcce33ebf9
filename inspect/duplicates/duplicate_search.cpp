#include "duplicates/duplicate_search.h"

#include <tbb/task_arena.h>

#include <algorithm>
#include <bit>
#include <tuple>

#include <ffkit/base/error.h>
#include <ffkit/base/machine.h>

namespace ffkit {

Duplicates::Duplicates(std::vector<DuplicateSplit> splits, std::vector<DuplicateGroup> groups,
                       std::vector<std::string> notes, int max_distance)
    : splits_(std::move(splits)),
      groups_(std::move(groups)),
      notes_(std::move(notes)),
      max_distance_(max_distance) {
  std::ranges::sort(groups_, {}, [](const DuplicateGroup& group) {
    const DuplicateRecord& first = group.records.front();
    return std::tuple(!group.across, -std::ssize(group.records), first.split, first.record);
  });
  num_across_ = std::ranges::count(groups_, true, &DuplicateGroup::across);
  for (DuplicateSplit& split : splits_) split.num_also_in.assign(splits_.size(), 0);
  for (int64_t g = 0; g < std::ssize(groups_); ++g) {
    std::vector<int64_t> num_of(splits_.size());
    for (const DuplicateRecord& record : groups_[g].records) {
      entries_.push_back({record.split, record.record, g});
      ++num_of[record.split];
    }
    for (size_t a = 0; a < num_of.size(); ++a) {
      for (size_t b = 0; b < num_of.size(); ++b) {
        if (num_of[b] > (a == b ? 1 : 0)) splits_[a].num_also_in[b] += num_of[a];
      }
    }
  }
  std::ranges::sort(entries_, {}, [](const Entry& e) { return std::pair(e.split, e.record); });
}

std::optional<int64_t> Duplicates::group_of(int split, int64_t record) const {
  const auto found =
      std::ranges::lower_bound(entries_, std::pair(split, record), {},
                               [](const Entry& e) { return std::pair(e.split, e.record); });
  if (found == entries_.end() || found->split != split || found->record != record) {
    return std::nullopt;
  }
  return found->group;
}

std::vector<int64_t> Duplicates::kept(int split, const std::vector<int64_t>& records) const {
  const auto is_same = [&](const DuplicateRecord& a, const DuplicateRecord& b) {
    return a.content == b.content || std::popcount(a.hash ^ b.hash) <= max_distance_;
  };
  // In each group: which of its records stay. Those of other splits do.
  std::vector<int64_t> dropped;
  for (const DuplicateGroup& group : groups_) {
    std::vector<const DuplicateRecord*> stay;
    for (const DuplicateRecord& record : group.records) {
      if (record.split != split) stay.push_back(&record);
    }
    for (const DuplicateRecord& record : group.records) {
      if (record.split != split) continue;
      if (std::ranges::any_of(stay, [&](const auto* other) { return is_same(*other, record); })) {
        dropped.push_back(record.record);
      } else {
        stay.push_back(&record);
      }
    }
  }
  std::ranges::sort(dropped);
  std::vector<int64_t> kept;
  kept.reserve(records.size());
  for (const int64_t record : records) {
    if (!std::ranges::binary_search(dropped, record)) kept.push_back(record);
  }
  return kept;
}

void DuplicateSearch::set(State new_state, std::string why,
                          std::shared_ptr<const Duplicates> found) {
  const std::scoped_lock lock(mutex_);
  state_ = new_state;
  message_ = std::move(why);
  result_ = std::move(found);
}

void DuplicateSearch::work() {
  try {
    std::shared_ptr<const Duplicates> found;
    tbb::task_arena(usable_cores()).execute([&] {
      found = std::make_shared<const Duplicates>(find_duplicates(splits_, options_, progress_));
    });
    set(State::done, "", std::move(found));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) {
      set(State::none);
    } else {
      set(State::failed, error.text(OptionStyle::command_line));
    }
  } catch (const std::exception& error) {
    set(State::failed, error.what());
  }
}

void DuplicateSearch::start() {
  const std::scoped_lock lock(start_mutex_);
  const State now = state();
  if (now == State::running || now == State::done) return;
  if (worker_.joinable()) worker_.join();
  progress_.stop = false;
  set(State::running);
  worker_ = std::thread([this] { work(); });
}

void DuplicateSearch::stop() {
  const std::scoped_lock lock(start_mutex_);
  progress_.stop = true;
  if (worker_.joinable()) worker_.join();
}

DuplicateSearch::State DuplicateSearch::state() const {
  const std::scoped_lock lock(mutex_);
  return state_;
}

double DuplicateSearch::share_done() const {
  if (state() == State::done) return 1;
  const int64_t total = progress_.num_total;
  return total == 0 ? 0 : static_cast<double>(progress_.num_done) / static_cast<double>(total);
}

std::string DuplicateSearch::message() const {
  const std::scoped_lock lock(mutex_);
  return message_;
}

std::shared_ptr<const Duplicates> DuplicateSearch::result() const {
  const std::scoped_lock lock(mutex_);
  return result_;
}

}  // namespace ffkit
