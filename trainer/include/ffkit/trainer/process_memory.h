// How the C library gives memory back; a policy of the whole process, for programs that train.
#pragma once

namespace ffkit {

// Keeps freed memory in the process instead of returning it to the system. Activations and
// gradients are hundreds of megabytes that come and go in every step; by default glibc maps and
// unmaps each of them, and zeroing the pages anew costs about a tenth of a CPU training step. Call
// it once at the start of main. Does nothing with another C library.
void keep_freed_memory();

}  // namespace ffkit
