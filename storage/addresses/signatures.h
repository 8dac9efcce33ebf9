// Signatures of folders: a query that lets whoever has it read a folder of a web server, such as a
// SAS of Azure or a signed cookie's members. It is no part of an address: it is a secret, ends, and
// is the same for all names below. The process keeps it here; requests get it back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "addresses/url.h"

namespace ffkit {

// Whether all members of a query belong to a signature, and one is secret. A query that also says
// which file is meant ("id=7&sig=...") is none.
bool is_signature(std::string_view query);

// Host and path of an address whose query is a signature, which is kept for it and all below; the
// last one counts. Nothing where the query belongs to the address: it is no signature, or one that
// does not say that it ends, and another is kept for that name.
std::optional<std::string> without_signature(std::string_view url);

// The signature for a URL without a query: of the longest kept name that it is or lies in. Empty
// without one.
std::string signature_of(const Url& url);

}  // namespace ffkit
