// Found before libstdc++'s own, which was configured for a newer glibc than the one that the wheel
// is for: what glibc 2.28 lacks is not called.
#pragma GCC system_header
#include_next <bits/c++config.h>

#undef _GLIBCXX_USE_PTHREAD_COND_CLOCKWAIT
#undef _GLIBCXX_USE_PTHREAD_MUTEX_CLOCKLOCK
#undef _GLIBCXX_USE_PTHREAD_RWLOCK_CLOCKLOCK
#undef _GLIBCXX_USE_UCHAR_C8RTOMB_MBRTOC8_CXX20
#undef _GLIBCXX_USE_UCHAR_C8RTOMB_MBRTOC8_FCHAR8_T
