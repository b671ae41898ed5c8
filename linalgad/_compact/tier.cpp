// The table of one tier; compiled once per instruction set, as the kernels are.
#include "layout.hpp"

#define LG_OP(name) extern "C" const lg_entry LG_PASTE(lg_, name, LG_TIER)[LG_DTYPES];
#include "ops.def"
#undef LG_OP

#define LG_STRING_(x) #x
#define LG_STRING(x) LG_STRING_(x)
#define LG_TABLE_(tier) lg_tier_##tier
#define LG_TABLE(tier) LG_TABLE_(tier)

extern "C" {
extern const lg_tier LG_TABLE(LG_TIER);
const lg_tier LG_TABLE(LG_TIER) = {
    LG_STRING(LG_TIER),
    {lg::pack<float>::W, lg::pack<double>::W, lg::pack<float>::W, lg::pack<double>::W},
    {
#define LG_OP(name) LG_PASTE(lg_, name, LG_TIER),
#include "ops.def"
#undef LG_OP
    }};
}
