#include "output/destination_checks.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <new>
#include <system_error>

#include "base/make_error.h"
#include "storage/addresses/place.h"

namespace ffkit {

namespace fs = std::filesystem;

namespace {

bool is_inside(const fs::path& path, const fs::path& folder) {
  const auto [in_folder, in_path] = std::ranges::mismatch(folder, path);
  return in_folder == folder.end();
}

// Without links and dots; an address as it is, but a file's as its path.
fs::path comparable(const fs::path& path) {
  const Place place(path);
  if (!place.is_on_disk()) return place.path();
  return fs::weakly_canonical(fs::absolute(place.path_on_disk()));
}

Error not_enough_memory(const fs::path& place) {
  return error_at(place, ErrorCode::io, "there is not enough memory")
      .with_remedy(fmt::format("raise the limit on memory (ulimit -v, or of the container), or "
                               "give fewer {}",
                               option_name("num_threads")));
}

}  // namespace

void refuse_destination_inside(const std::vector<fs::path>& roots, const fs::path& destination) {
  const fs::path canonical = comparable(destination);
  for (const fs::path& root : roots) {
    if (is_inside(canonical, comparable(root))) {
      throw error_at(destination, ErrorCode::invalid_argument,
                     "the destination is inside the source '{}'; give a folder outside the source",
                     root.string());
    }
  }
}

int64_t free_space(const fs::path& folder) {
  std::error_code unknown;
  const fs::space_info space = fs::space(folder, unknown);
  constexpr auto kMost = std::numeric_limits<int64_t>::max();
  if (unknown) return kMost;
  return static_cast<int64_t>(std::min(space.available, static_cast<uintmax_t>(kMost)));
}

void require_free_space(int64_t num_bytes, const fs::path& folder) {
  const int64_t num_free = free_space(folder);
  if (num_bytes > num_free) {
    throw error_at(folder, ErrorCode::io,
                   "the disk is too small: {} MB are needed, but only {} MB are free; free some "
                   "space or give a folder on another disk",
                   num_bytes / 1'000'000, num_free / 1'000'000);
  }
}

Error current_error(const fs::path& place) {
  try {
    throw;
  } catch (const Error& error) {
    if (is_out_of_memory(error) && error.context().path.empty()) return not_enough_memory(place);
    return error;
  } catch (const fs::filesystem_error& error) {
    return {ErrorCode::io,
            "the path cannot be examined or changed",
            {.path = (error.path1().empty() ? place : error.path1()).string(),
             .errno_value = error.code().value()}};
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again) {
      const bool is_errno = error.code().category() == std::generic_category() ||
                            error.code().category() == std::system_category();
      return io_error_at(place, error.what(), is_errno ? error.code().value() : 0);
    }
    return io_error_at(place, "a thread cannot be started", error.code().value())
        .with_remedy(fmt::format("raise the limit on processes (ulimit -u, or of the container) or "
                                 "on memory (ulimit -v), or give fewer {}",
                                 option_name("num_threads")));
  } catch (const std::bad_alloc&) {
    return not_enough_memory(place);
  } catch (const std::exception& error) {
    return {ErrorCode::io, error.what(), {.path = place.string()}};
  } catch (...) {
    return {ErrorCode::io, "failed for an unknown reason", {.path = place.string()}};
  }
}

Error after_removal(const Error& error) {
  const std::string remedy = remedy_of_errno(error.context().errno_value);
  if (remedy.empty()) return error;
  const bool is_too_large = error.context().errno_value == EFBIG;
  return error.with_remedy(fmt::format(
      "{} or give {}, then start again, because ffkit removed the files written so far", remedy,
      is_too_large ? "a smaller " + option_name("shard_size") : std::string("another folder")));
}

}  // namespace ffkit
