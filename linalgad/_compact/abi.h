/* What the compact kernels offer to Cython: one table of function pointers per instruction set.
 *
 * A kernel treats matrices of one shape, `width` at a time, wherever each lies in memory. It allocates nothing, raises
 * nothing, keeps no state, and reads the inputs of a pack before it writes any output, so outputs may overlay inputs.
 * Results of a matrix whose info is not zero are not written.
 */
#ifndef LINALGAD_COMPACT_ABI_H
#define LINALGAD_COMPACT_ABI_H

#include <stddef.h>

enum { LG_MAX_WIDTH = 16, LG_MAX_VIEWS = 6 };
/* The least orders for which SIMD within one matrix pays, real and complex: from here on the kernels for one matrix,
 * which have the same results, take what would fill no more than half of a pack. */
enum { LG_ALONE_REAL = 24, LG_ALONE_COMPLEX = 16 };

/* One operand: where the matrices lie, and their strides in bytes (any sign, zero too). */
typedef struct lg_view {
    char *base;        /* matrix l lies at base + l step, */
    ptrdiff_t step;
    char *const *list; /* or at list[l], if this is not NULL */
    ptrdiff_t rs, cs;
} lg_view;

typedef struct lg_call {
    ptrdiff_t m, n, k; /* core sizes; the list of operations in ops.def says what they mean */
    int count;         /* matrices: at most `width` where an operand has a list */
    int flags;         /* LG_LOWER and friends */
    int *info;         /* [count]; 0, or what LAPACK's info would be, or 1 where the kernel leaves it to LAPACK */
    char *ws;          /* workspace(m, n, k, flags) bytes, aligned to 64 */
    lg_view x[LG_MAX_VIEWS];
} lg_call;

enum {
    LG_UPPER = 1,   /* the triangle read or returned; lower without it */
    LG_TRANS = 2,   /* the matrix is transposed */
    LG_CONJ = 4,    /* the matrix is conjugated (with LG_TRANS: Hermitian transpose) */
    LG_UNIT = 8,    /* the diagonal is one and not read */
    LG_COMPLETE = 16, /* qr: a square q; svd: square u and v */
    LG_RAW = 32,    /* qr: reflectors and tau instead of q and r */
    LG_VALUES = 64, /* qr: r alone; eigh, svd: no vectors */
    LG_CONJ_B = 128, /* matmul: the second factor is conjugated */
    LG_TRANS_B = 256, /* matmul: the second factor is transposed */
    LG_POSITIVE = 512, /* qr: the diagonal of r is not negative */
    LG_PERMUTE_L = 1024, /* lu: l with its rows in the order of the matrix, and no p */
    LG_INDICES = 2048 /* lu: p as the row of l for each row of the matrix */
};

typedef struct lg_entry {
    int (*run)(const lg_call *call); /* whether any info is not zero */
    ptrdiff_t (*workspace)(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, int flags);
} lg_entry;

enum { LG_F32, LG_F64, LG_C64, LG_C128, LG_DTYPES };

typedef enum lg_op {
#define LG_OP(name) LG_OP_##name,
#include "ops.def"
#undef LG_OP
    LG_OPS
} lg_op;

typedef struct lg_tier {
    const char *name;
    int width[LG_DTYPES];
    const lg_entry *op[LG_OPS]; /* [LG_DTYPES] each */
} lg_tier;

#ifdef __cplusplus
extern "C" {
#endif
/* The table of a tier by name ("baseline", "avx2", "avx512"); NULL if it was not built or this CPU cannot run it.
 * With NULL: the fastest tier that this CPU runs. */
const lg_tier *lg_compact_tier(const char *name);
#ifdef __cplusplus
}
#endif
#endif
