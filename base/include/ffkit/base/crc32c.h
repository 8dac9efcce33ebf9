// CRC-32C (Castagnoli polynomial 0x1EDC6F41, reflected 0x82F63B78, initial value and final xor
// 0xFFFFFFFF, RFC 3720 §12.1), the checksum of everything in a shard. Uses the CRC and carry-less
// multiplication instructions of x86-64 (SSE4.2 or AVX-512) and of Arm where the processor has
// them. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ffkit {

// Returns the CRC-32C of `data`. To continue, pass the CRC of the bytes before as `crc`.
// crc32c("123456789") == 0xE3069283.
uint32_t crc32c(std::span<const std::byte> data, uint32_t crc = 0);

}  // namespace ffkit
