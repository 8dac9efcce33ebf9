#include "output/store_claim.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <random>
#include <set>
#include <string_view>
#include <vector>

#include "base/file/file_lock.h"
#include "base/machine/wait_check.h"
#include "base/make_error.h"
#include "base/printable.h"
#include "storage/addresses/place.h"
#include "storage/reader/random_reader.h"
#include "storage/stores/object_store.h"
#include "storage/writer/file_sink.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kClaimPrefix = ".ffkit-in-use-";
constexpr int64_t kMaxClaimBytes = 1 << 16;

int64_t number_of_claim(const std::string& name) {
  int64_t number = 0;
  std::from_chars(name.data() + kClaimPrefix.size(), name.data() + name.size(), number);
  return number;
}

// Empty: it was removed.
std::string text_of_claim(const fs::path& path) {
  try {
    return read_text_at(path, kMaxClaimBytes);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found) return {};
    throw;
  }
}

// The claims of a folder; numbers in order.
std::vector<int64_t> list_claim_numbers(const fs::path& folder) {
  std::vector<int64_t> numbers;
  for (const std::string& name : names_in_folder(folder).files) {
    if (StoreClaim::is_claim(name)) numbers.push_back(number_of_claim(name));
  }
  std::ranges::sort(numbers);
  return numbers;
}

fs::path path_of_claim(const fs::path& folder, int64_t number) {
  return folder / fmt::format("{}{}", kClaimPrefix, number);
}

std::string token_of(const std::string& text) {
  constexpr std::string_view kToken = "\ntoken ";
  const size_t at = text.find(kToken);
  if (at == std::string::npos) return {};
  const size_t begin = at + kToken.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

std::string words_of(const Claimant& claimant, const fs::path& path) {
  return fmt::format("process {} on {} (its object is {})", claimant.pid,
                     claimant.host.empty() ? "an unknown machine" : printable(claimant.host),
                     Place(path).shown());
}

// The claims that this process holds now: the object of one that is gone may have stayed.
class LiveTokens {
 public:
  static LiveTokens& of_process() {
    static LiveTokens tokens;
    return tokens;
  }
  std::string add() {
    static std::atomic<int64_t> count = 0;
    std::random_device random;
    std::string token = fmt::format("{:08x}{:08x}-{}", random(), random(), count.fetch_add(1));
    const std::lock_guard lock(mutex_);
    tokens_.insert(token);
    return token;
  }
  void remove(const std::string& token) {
    const std::lock_guard lock(mutex_);
    tokens_.erase(token);
  }
  bool has(const std::string& token) {
    const std::lock_guard lock(mutex_);
    return tokens_.contains(token);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> tokens_;
};

ClaimantState state_of_claim(const Claimant& claimant, const std::string& text) {
  const Claimant here = this_process();
  const ClaimantState state = state_of(claimant, here);
  const bool is_own = state == ClaimantState::alive && claimant.pid == here.pid;
  return is_own && !LiveTokens::of_process().has(token_of(text)) ? ClaimantState::dead : state;
}

// Whether the object stays as it is for as long as a newcomer watches. Also where it is removed.
bool stands_still(const fs::path& path, const std::string& text, const std::string& who,
                  const std::function<void(const std::string&)>& note,
                  const std::function<void()>& poll) {
  const StoreClaim::Pace pace = StoreClaim::pace();
  if (note) {
    note(fmt::format("{}: {} was writing to it; waiting {} s to see if it still writes",
                     Place(path.parent_path()).shown(), who,
                     static_cast<double>(pace.patience.count()) / 1000));
  }
  const auto end = Clock::now() + pace.patience;
  auto next_look = Clock::now() + pace.beat;
  while (Clock::now() < end) {
    std::this_thread::sleep_for(
        std::min<std::chrono::milliseconds>(pace.beat, std::chrono::milliseconds(100)));
    if (poll) poll();
    if (Clock::now() < next_look && Clock::now() < end) continue;
    next_look = Clock::now() + pace.beat;
    if (text_of_claim(path) != text) return false;
  }
  return true;
}

}  // namespace

StoreClaim::Pace& StoreClaim::pace() {
  static Pace pace;
  return pace;
}

bool StoreClaim::is_claim(const std::string& name) {
  return name.starts_with(kClaimPrefix);
}

StoreClaim::StoreClaim(fs::path folder, const std::function<void(const std::string&)>& note,
                       const std::function<void()>& poll)
    : folder_(std::move(folder)), token_(LiveTokens::of_process().add()) {
  try {
    claim(note, poll);
    thread_ = std::thread([this] { beat(); });
  } catch (...) {
    release();
    throw;
  }
}

StoreClaim::~StoreClaim() {
  release();
}

void StoreClaim::claim(const std::function<void(const std::string&)>& note,
                       const std::function<void()>& poll) {
  std::vector<int64_t> gone;
  int64_t last = 0;
  while (true) {
    gone = list_claim_numbers(folder_);
    last = gone.empty() ? 0 : gone.back();
    bool is_changed = false;
    // The highest one counts: those below were left when it was made.
    if (last > 0) {
      const fs::path path = path_of_claim(folder_, last);
      const std::string found = text_of_claim(path);
      const Claimant claimant = parse_claimant(found);
      const ClaimantState state = state_of_claim(claimant, found);
      const std::string who = words_of(claimant, path);
      if (state == ClaimantState::alive ||
          (state == ClaimantState::unknown && !found.empty() &&
           !stands_still(path, found, who, note, poll) && !text_of_claim(path).empty())) {
        throw error_at(folder_, ErrorCode::invalid_argument,
                       "{} is writing to this folder; wait for it or give another folder", who);
      }
      is_changed = text_of_claim(path) != found;
    }
    if (is_changed) continue;
    number_ = last + 1;
    path_ = path_of_claim(folder_, number_);
    const std::string words = text();
    const auto store = store_of(path_.native());
    if (store->put(path_.native(), std::as_bytes(std::span(words)), /*only_if_new=*/true)) break;
    path_.clear();  // another newcomer's
  }
  for (const int64_t number : gone) remove_file_at(path_of_claim(folder_, number));
  require_held();
}

std::string StoreClaim::text() const {
  return fmt::format("{}token {}\nbeat {}\n", to_text(this_process()), token_, num_beats_);
}

std::string StoreClaim::taken_by() const {
  const std::string found = text_of_claim(path_);
  const std::vector<int64_t> numbers = list_claim_numbers(folder_);
  const bool is_highest = !numbers.empty() && numbers.back() == number_;
  if (is_highest && token_of(found) == token_) return {};
  if (numbers.empty()) return "another process";
  const fs::path path = path_of_claim(folder_, numbers.back());
  return words_of(parse_claimant(text_of_claim(path)), path);
}

void StoreClaim::require_held() {
  const std::string who = taken_by();
  if (who.empty()) return;
  const std::string address = path_.native();
  if (address.find("//", address.find("://") + 3) != std::string::npos &&
      list_claim_numbers(folder_).empty()) {
    throw error_at(
        folder_, ErrorCode::invalid_argument,
        "the store does not keep two slashes in a row, as in '{}'; write the address with "
        "one slash",
        shown_address(address));
  }
  throw error_at(folder_, ErrorCode::invalid_argument,
                 "{} has taken over, because this process did not answer for {} s; wait for it. "
                 "If both run the same conversion, they write the same files",
                 who, static_cast<double>(pace().patience.count()) / 1000);
}

void StoreClaim::beat() {
  const WaitCheck check(ends_own_waits_once([this] {
    const std::lock_guard lock(mutex_);
    return is_ending_;
  }));
  std::unique_lock lock(mutex_);
  while (!is_ending_changed_.wait_for(lock, pace().beat, [this] { return is_ending_; })) {
    ++num_beats_;
    const std::string words = text();
    lock.unlock();
    try {
      // Who was taken over has nothing to say any more, and is told by require_held().
      if (!taken_by().empty()) return;
      write_text_at(path_, words);
    } catch (const std::exception&) {
      // A store that does not answer is tried again.
    }
    lock.lock();
  }
}

void StoreClaim::release() noexcept {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  is_ending_changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  try {
    if (!path_.empty() && token_of(text_of_claim(path_)) == token_) remove_file_at(path_);
  } catch (const std::exception&) {
    // It stays, and stands still.
  }
  path_.clear();
  LiveTokens::of_process().remove(token_);
}

}  // namespace ffkit
