// Which tier runs; compiled for the baseline, as this decides before anything else may execute.
#include "abi.h"

extern "C" {
extern const lg_tier lg_tier_baseline;
#ifdef LG_X86_TIERS
extern const lg_tier lg_tier_avx2, lg_tier_avx512;
#endif
}

namespace {
bool same(const char *a, const char *b) {
    while (*a && *a == *b) ++a, ++b;
    return *a == *b;
}
const lg_tier *candidate(int i) {
    switch (i) {
#ifdef LG_X86_TIERS
    case 0:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
                       __builtin_cpu_supports("fma")
                   ? &lg_tier_avx512
                   : nullptr;
    case 1:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &lg_tier_avx2 : nullptr;
#endif
    case 2:
        return &lg_tier_baseline;
    default:
        return nullptr;
    }
}
} // namespace

extern "C" const lg_tier *lg_compact_tier(const char *name) {
#ifdef LG_X86_TIERS
    __builtin_cpu_init();
#endif
    for (int i = 0; i < 3; i++) {
        const lg_tier *t = candidate(i);
        if (t && (!name || same(name, t->name))) return t;
    }
    return nullptr;
}
