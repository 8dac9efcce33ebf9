#include <malloc.h>

#include <ffkit/trainer/process_memory.h>

namespace ffkit {

void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);         // large blocks come from the heap, not from mmap(2)
  mallopt(M_TRIM_THRESHOLD, -1);  // and the top of the heap is never returned
  mallopt(M_TOP_PAD, 64 << 20);   // bytes asked for beyond what is needed
#endif
}

}  // namespace ffkit
