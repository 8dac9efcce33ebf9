// Files of ~/.aws: sections of names and values. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace ffkit {

// Values by name; "s3.addressing_style" of a value that is indented below "s3 =".
using IniSection = std::map<std::string, std::string, std::less<>>;
// Sections by what stands between brackets: "profile dev".
using IniFile = std::map<std::string, IniSection, std::less<>>;

// What is no section, no value and no comment is passed over, as the AWS CLI does. Of a name that
// is there twice the last counts.
IniFile parse_ini(std::string_view text);

}  // namespace ffkit
