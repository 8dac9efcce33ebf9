// Destination: the data set folder while it is being made: claimed by a locked marker, taken back
// unless committed. It may be an address: a store has no locks, and store_claim.h says what stands
// for them there. The parts of a conversion may write to one place, which is an address then
// (place_of_part() in store_parts.h):
//
//   DST/.ffkit-unfinished          from the first part to the merge; readers refuse DST
//   DST/train/shard-00012.ffr      of whichever part makes it
//   DST/.part-2-of-4/              folder() of that part: its marker, report and manifests, which
//                                  "ffconvert merge DST" joins
//
//   claim ─▶ (splits are written) ─▶ commit(): fsync, marker removed last
//                   └─▶ destructor without commit(): what was made is removed, folders made for it
//                   too; but a conversion's finished work and the marker stay for `resume`
//
// After kill -9 the marker stays; the next claim finds it unlocked and removes what a conversion
// makes, or goes on with it. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/base/enum_names.h>
#include <ffkit/base/error.h>
#include <ffkit/converter/options.h>
#include <ffkit/format/unfinished.h>

namespace ffkit {

// What lies in a claimed place, sorted into what a conversion makes and the first thing that it
// does not. Names are relative to the place.
struct WorkThere {
  std::vector<std::string> files;    // without the marker and claims
  std::vector<std::string> folders;  // of splits, on a disk
  std::string foreign;
  bool has_marker = false;

  bool is_empty() const { return files.empty() && folders.empty() && foreign.empty(); }
  int64_t num_shards() const;
  // Shards, or samples that were all gathered.
  bool holds_work() const;
};

class Destination {
 public:
  // What is made in a folder.
  enum class Kind {
    conversion,  // hours of work: only a conversion may remove what another one has left
    // The next two take no time or the speed of the disk, and their sources are still there.
    merge,
    v1,
    split,  // one split, in the folder itself; such a conversion cannot be continued
  };
  enum class Unfinished { remove, go_on };
  struct Claim {
    Kind kind = Kind::conversion;
    // What becomes of an unfinished data set in the folder.
    Unfinished unfinished = Unfinished::remove;
    std::string command;  // for the marker (UnfinishedMarker)
    // A sentence about the file system, or about what is waited for.
    std::function<void(const std::string&)> note = {};
    // Called every 0.1 s while a store's newcomer waits (store_claim.h); what it throws ends that.
    std::function<void()> poll = {};
    ConvertPart part = {};  // of a conversion; a folder takes no notice of it
  };

  struct Shards {
    std::string split;
    int64_t begin = 0;
    int64_t end = 0;  // the first one that is not this conversion's
  };

  // Throws Error(invalid_argument) when `folder` is no folder or holds what no unfinished
  // conversion left. Changes nothing.
  static void require_usable(const std::filesystem::path& folder, Kind kind = Kind::conversion,
                             const ConvertPart& part = {});

  // Makes `folder` (and its parents) if need be and claims it. Throws Error(invalid_argument) when
  // it holds anything that was not left unfinished, work that this claim's kind may neither remove
  // nor go on with, or when another process has claimed it; Error(io) when it cannot be made.
  // Nothing is changed then.
  static std::unique_ptr<Destination> claim(const std::filesystem::path& folder, Claim claim);
  static std::unique_ptr<Destination> claim(const std::filesystem::path& folder) {
    return claim(folder, Claim());
  }
  virtual ~Destination() = default;
  Destination(const Destination&) = delete;
  Destination& operator=(const Destination&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  // True when something unfinished was found and removed.
  bool started_over() const { return found_unfinished_ && claim_.unfinished == Unfinished::remove; }
  // True when an unfinished conversion was found and is there.
  bool goes_on() const { return found_unfinished_ && claim_.unfinished == Unfinished::go_on; }
  // Sends `note` a sentence when started_over(). `name`: of the folder, as the user gave it.
  void note_start_over(const std::function<void(const std::string&)>& note,
                       const std::filesystem::path& name) const;
  // Where the shards of a split are: folder() / split, but for a part in a store.
  virtual std::filesystem::path shards_folder(const std::string& split) const = 0;
  // Says which shards this conversion makes, before the first of them. `plan` is the same for all
  // parts of one conversion, and for no others: Error(invalid_argument) where the store has those
  // of another one.
  virtual void set_shards(std::vector<Shards> shards, const std::string& plan) = 0;
  // Finished shards of this conversion.
  virtual int64_t num_shards() const = 0;
  // Whether there are finished shards, or samples that were all gathered.
  virtual bool holds_work() const = 0;
  // Whether goes_on(), and this part of a conversion to a shared place has finished before and has
  // all its shards: then nothing but its manifests may be looked at, and keep() called.
  virtual bool is_finished() const { return false; }

  // What set_plan() was given for the conversion that was found; empty when it had not come that
  // far.
  const std::string& found_plan() const { return found_.plan; }
  // Writes durably into the marker what is being made here: one line.
  virtual void set_plan(const std::string& plan) = 0;
  std::filesystem::path report_path() const;
  std::filesystem::path v1_meta_path() const;

  // Throws Error(invalid_argument) when another process has taken a store's data set over, since
  // nothing was heard of this one. Before each step that others would see.
  virtual void require_held() = 0;
  // Makes everything durable and the folder readable: afterwards it stays.
  virtual void commit() = 0;
  // Leaves everything as it is, unreadable, for a conversion that goes on.
  virtual void keep() = 0;

 protected:
  explicit Destination(Claim claim) : claim_(std::move(claim)) {}
  // For subclasses: what was found is in found_ and found_unfinished_. `foreign`: WorkThere's.
  // Throws Error(invalid_argument) where it can neither be continued nor removed. Returns true when
  // it is to be removed.
  bool judge_found(const std::string& foreign, bool holds_work) const;
  std::string text_of_marker(const std::string& plan) const;
  [[noreturn]] void refuse(const std::string& message) const;

  Claim claim_;
  std::filesystem::path folder_;
  bool found_unfinished_ = false;
  UnfinishedMarker found_;
};

// The kinds in markers.
template <>
inline constexpr auto kNames<Destination::Kind> =
    enum_names<Destination::Kind>("kind", {{Destination::Kind::conversion, "conversion"},
                                           {Destination::Kind::merge, "merge"},
                                           {Destination::Kind::v1, "v1"},
                                           {Destination::Kind::split, "split"}});
// The error for a folder that holds anything that was not left unfinished.
Error folder_is_used(const std::filesystem::path& folder, Destination::Kind kind);

// Claims a folder of this machine.
std::unique_ptr<Destination> claim_folder(const std::filesystem::path& folder,
                                          Destination::Claim claim);
void require_usable_folder(const std::filesystem::path& folder, Destination::Kind kind);
// The same of an address.
std::unique_ptr<Destination> claim_address(const std::filesystem::path& address,
                                           Destination::Claim claim);
void require_usable_address(const std::filesystem::path& address, Destination::Kind kind,
                            const ConvertPart& part);

}  // namespace ffkit
