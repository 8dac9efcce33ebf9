// CopyMarker: keeps others away from the destination of a copy, and says what is being made there.
//
//   on a disk   the marker, locked as a conversion's
//   in a store  a StoreClaim, and the marker
//
// A copy that ends early leaves the marker, and nothing that holds it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <ffkit/converter/copy.h>

#include "base/file/file_lock.h"
#include "output/store_claim.h"
#include "storage/addresses/place.h"
#include "storage/stores/object_store.h"

namespace ffkit {

class CopyMarker {
 public:
  // `to` is asked as a store, `plan` what identifies the data that are copied. Throws
  // Error(invalid_argument) where another process writes, and where anything unfinished is there
  // but a copy of the same data under CopyOptions::resume.
  CopyMarker(std::shared_ptr<ObjectStore> store, Place to, const std::string& plan,
             const CopyOptions& options);

  // Throws Error(invalid_argument) where another process has taken over.
  void require_held();
  // The copy is whole.
  void remove();

 private:
  bool hold_folder_of_marker(const CopyOptions& options);
  void require_same(const std::string& plan, const CopyOptions& options) const;
  [[noreturn]] void refuse(const std::string& what, const std::string& remedy) const;

  const std::shared_ptr<ObjectStore> store_;
  const Place to_;
  const std::string address_;  // of the marker
  std::optional<StoreClaim> claim_;
  FileLock lock_;
  ClaimFile claim_file_;  // where the file system has no locks
};

}  // namespace ffkit
