// DestinationPlace: what a Destination is on a disk, and in a store. See destination.h for what the
// functions do; what both places decide alike is here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "output/destination.h"

namespace ffkit {

class DestinationPlace {
 public:
  using Kind = Destination::Kind;
  using Unfinished = Destination::Unfinished;
  using Claim = Destination::Claim;

  explicit DestinationPlace(Claim claim) : claim_(std::move(claim)) {}
  virtual ~DestinationPlace() = default;
  DestinationPlace(const DestinationPlace&) = delete;
  DestinationPlace& operator=(const DestinationPlace&) = delete;

  virtual std::filesystem::path shards_folder(const std::string& split) const = 0;
  virtual void set_shards(std::vector<Destination::Shards> shards, const std::string& plan) = 0;
  virtual int64_t num_shards() const = 0;
  virtual bool holds_work() const = 0;
  virtual bool is_finished() const { return false; }
  virtual void set_plan(const std::string& plan) = 0;
  virtual void require_held() = 0;
  virtual void commit() = 0;
  virtual void keep() = 0;

  const std::filesystem::path& folder() const { return folder_; }
  const Claim& claim() const { return claim_; }
  bool found_unfinished() const { return found_unfinished_; }
  const UnfinishedMarker& found() const { return found_; }

 protected:
  // For subclasses: what was found is in found_ and found_unfinished_. `foreign`: the first thing
  // in the folder that no conversion makes; empty: none. Throws Error(invalid_argument) where it
  // can neither be continued nor removed. Returns true when it is to be removed.
  bool judge_found(const std::filesystem::path& foreign, bool holds_work) const;
  [[noreturn]] void refuse(const std::string& message) const;

  Claim claim_;
  std::filesystem::path folder_;
  bool found_unfinished_ = false;
  UnfinishedMarker found_;
};

// The kind in a marker.
const char* word_of(Destination::Kind kind);
// Whether a file of this name belongs to a split's folder, or to that of a data set.
bool is_name_in_split(const std::string& name);
bool is_name_in_data_set(const std::string& name);
// The error for a folder that holds anything that was not left unfinished.
Error folder_is_used(const std::filesystem::path& folder, Destination::Kind kind);

// Claims a folder of this machine.
std::unique_ptr<DestinationPlace> claim_folder(const std::filesystem::path& folder,
                                               Destination::Claim claim);
void require_usable_folder(const std::filesystem::path& folder, Destination::Kind kind);
// The same of an address (destination_store.h).
std::unique_ptr<DestinationPlace> claim_address(const std::filesystem::path& address,
                                                Destination::Claim claim);
void require_usable_address(const std::filesystem::path& address, Destination::Kind kind,
                            const ConvertPart& part);

}  // namespace ffkit
