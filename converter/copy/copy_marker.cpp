#include "copy/copy_marker.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>

#include <ffkit/base/option_names.h>
#include <ffkit/format/dataset.h>
#include <ffkit/format/unfinished.h>

#include "base/file/file.h"
#include "input/cancel.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCopyKind = "copy";
constexpr int64_t kMostMarkerBytes = 1 << 16;

}  // namespace

CopyMarker::CopyMarker(std::shared_ptr<ObjectStore> store, Place to, const std::string& plan,
                       const CopyOptions& options)
    : store_(std::move(store)),
      to_(std::move(to)),
      address_(to_.child(kUnfinishedMarker).address()) {
  const std::string text = to_text({.kind = kCopyKind, .plan = plan, .command = options.command});
  const auto put = [&] {
    return store_->put(address_, std::as_bytes(std::span(text)), /*only_if_new=*/true);
  };
  bool is_new = false;
  if (to_.is_on_disk()) {
    // A process that ends its copy between two steps makes it necessary to look again.
    do {
      throw_if_cancelled(options.cancel);
      is_new = put();
    } while (!hold_folder_of_marker(options));
  } else {
    claim_.emplace(to_.path(), options.note, [&options] { throw_if_cancelled(options.cancel); });
    is_new = put();
  }
  if (!is_new) require_same(plan, options);
}

// Returns false when the marker is gone.
bool CopyMarker::hold_folder_of_marker(const CopyOptions& options) {
  const fs::path folder = to_.path_on_disk();
  const fs::path marker = folder / kUnfinishedMarker;
  claim_file_.release();
  lock_ = FileLock(open_descriptor(marker, O_RDWR | O_NOFOLLOW));
  if (!lock_.is_open()) {
    if (errno == ENOENT) return false;
    throw Error(ErrorCode::io, "cannot be opened", {.path = marker.string(), .errno_value = errno});
  }
  const FolderHold hold = hold_folder(folder, FileLock::Mode::exclusive, lock_, claim_file_);
  if (!hold.is_taken) {
    refuse(fmt::format("{} is writing to this folder", in_use_by(hold.user, "another process")),
           fmt::format("wait for it or give another folder{}", remedy_for(hold.user)));
  }
  if (!lock_.is_still_at(marker)) return false;
  if (options.note && !hold.note.empty()) {
    options.note(fmt::format("{}: {}", folder.string(), hold.note));
  }
  return true;
}

void CopyMarker::require_same(const std::string& plan, const CopyOptions& options) const {
  const UnfinishedMarker found =
      parse_unfinished_marker(store_->read_all(address_, kMostMarkerBytes));
  if (found.kind != kCopyKind) {
    refuse(fmt::format("an unfinished {} is there ({})",
                       found.kind.empty() ? "data set" : found.kind, kUnfinishedMarker),
           found.command.empty() ? "give another place"
                                 : "give another place, or finish it with: " + found.command);
  }
  if (found.plan != plan) refuse("an unfinished copy of other data is there", "give another place");
  if (!options.resume) {
    refuse("an unfinished copy of the same data is there", "go on with " + option_on("resume"));
  }
}

void CopyMarker::require_held() {
  if (claim_) claim_->require_held();
}

void CopyMarker::remove() {
  require_held();
  store_->remove(address_);
  lock_.close();
  claim_file_.release();
  if (claim_) claim_->release();
}

void CopyMarker::refuse(const std::string& what, const std::string& remedy) const {
  throw Error(ErrorCode::invalid_argument, what,
              {.path = to_.shown(), .subject = ErrorSubject::destination, .remedy = remedy});
}

}  // namespace ffkit
