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
#include <vector>

#include <ffkit/converter/options.h>
#include <ffkit/format/unfinished.h>

namespace ffkit {

class DestinationPlace;

class Destination {
 public:
  static constexpr const char* kReport = "report.jsonl";
  // Of a split's folder: its samples are gathered (gather.h).
  static constexpr const char* kGathered = "gathered.tmp";

  // What is made in a folder.
  enum class Kind {
    conversion,  // hours of work: only a conversion may remove what another one has left
    // The next two take no time or the speed of the disk, and their sources are still there.
    merge,
    v1,
    split,  // one split, in the folder itself; such a conversion cannot be continued
  };
  // Throws Error(invalid_argument) when `folder` is no folder or holds what no unfinished
  // conversion left. Changes nothing.
  static void require_usable(const std::filesystem::path& folder, Kind kind = Kind::conversion,
                             const ConvertPart& part = {});

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

  // Makes `folder` (and its parents) if need be and claims it. Throws Error(invalid_argument) when
  // it holds anything that was not left unfinished, work that this claim's kind may neither remove
  // nor go on with, or when another process has claimed it; Error(io) when it cannot be made.
  // Nothing is changed then.
  explicit Destination(const std::filesystem::path& folder, Claim claim);
  explicit Destination(const std::filesystem::path& folder) : Destination(folder, Claim()) {}
  ~Destination();
  Destination(const Destination&) = delete;
  Destination& operator=(const Destination&) = delete;

  const std::filesystem::path& folder() const;
  // True when something unfinished was found and removed.
  bool started_over() const;
  // True when an unfinished conversion was found and is there.
  bool goes_on() const;
  // Sends `note` a sentence when started_over(). `name`: of the folder, as the user gave it.
  void note_start_over(const std::function<void(const std::string&)>& note,
                       const std::filesystem::path& name) const;
  // Where the shards of a split are: folder() / split, but for a part in a store.
  std::filesystem::path shards_folder(const std::string& split) const;
  struct Shards {
    std::string split;
    int64_t begin = 0;
    int64_t end = 0;  // the first one that is not this conversion's
  };
  // Says which shards this conversion makes, before the first of them. `plan` is the same for all
  // parts of one conversion, and for no others: Error(invalid_argument) where the store has those
  // of another one.
  void set_shards(std::vector<Shards> shards, const std::string& plan);
  // Finished shards of this conversion.
  int64_t num_shards() const;
  // Whether there are finished shards, or samples that were all gathered.
  bool holds_work() const;
  // Whether goes_on(), and this part of a conversion to a shared place has finished before and has
  // all its shards: then nothing but its manifests may be looked at, and keep() called.
  bool is_finished() const;

  // What set_plan() was given for the conversion that was found; empty when it had not come that
  // far.
  const std::string& found_plan() const;
  // Writes durably into the marker what is being made here: one line.
  void set_plan(const std::string& plan);
  std::filesystem::path report_path() const;
  std::filesystem::path v1_meta_path() const;

  // Throws Error(invalid_argument) when another process has taken a store's data set over, since
  // nothing was heard of this one. Before each step that others would see.
  void require_held();
  // Makes everything durable and the folder readable: afterwards it stays.
  void commit();
  // Leaves everything as it is, unreadable, for a conversion that goes on.
  void keep();

 private:
  const std::unique_ptr<DestinationPlace> place_;
};

}  // namespace ffkit
