/*
 * double_gemm.h - c += op(a) b of square tiles in double.
 *
 * For equations whose solution has to be right beyond what floats hold.  A strip of columns of b is
 * packed, and a block of rows by a few vectors stays in registers.  An entry is one chain of steps
 * in the order of k; a step is a product and a sum, each rounded, because not every CPU fuses
 * doubles.  So the bits depend neither on the blocks nor on the width of a vector.
 */
enum {
    DOUBLE_LANES = (int)(sizeof(native) / sizeof(double)),
    DOUBLE_VECS = 2,
    DOUBLE_ROWS = VEC_LANES > 8 ? 8 : 4, /* as many sums as the registers hold */
    DOUBLE_COLUMNS = DOUBLE_VECS * DOUBLE_LANES
};

typedef double native_double __attribute__((vector_size(sizeof(native))));
typedef double native_double_at __attribute__((vector_size(sizeof(native)), aligned(8), may_alias));

/* Some rows of c by a strip of columns; a has steps of `row` and `column` doubles. */
__attribute__((always_inline)) static inline void
double_block(const double *a, int64_t row, int64_t column, const native_double *b, double *c)
{
    native_double sum[DOUBLE_ROWS][DOUBLE_VECS];
#pragma GCC unroll 8
    for (int i = 0; i < DOUBLE_ROWS; i++)
#pragma GCC unroll 2
        for (int v = 0; v < DOUBLE_VECS; v++)
            sum[i][v] = ((const native_double_at *)(c + i * CWI_DOUBLE_TILE))[v];
    for (int j = 0; j < CWI_DOUBLE_TILE; j++, a += column, b += DOUBLE_VECS)
#pragma GCC unroll 8
        for (int i = 0; i < DOUBLE_ROWS; i++)
#pragma GCC unroll 2
            for (int v = 0; v < DOUBLE_VECS; v++) sum[i][v] += a[i * row] * b[v];
#pragma GCC unroll 8
    for (int i = 0; i < DOUBLE_ROWS; i++)
#pragma GCC unroll 2
        for (int v = 0; v < DOUBLE_VECS; v++)
            ((native_double_at *)(c + i * CWI_DOUBLE_TILE))[v] = sum[i][v];
}

static void double_gemm(bool transpose_a, const double *a, const double *b, double *c)
{
    enum { N = CWI_DOUBLE_TILE };
    native_double packed[N * DOUBLE_VECS];
    for (int s = 0; s < N; s += DOUBLE_COLUMNS) {
        for (int j = 0; j < N; j++)
            memcpy(packed + j * DOUBLE_VECS, b + j * N + s, DOUBLE_COLUMNS * sizeof *b);
        for (int r = 0; r < N; r += DOUBLE_ROWS)
            if (transpose_a)
                double_block(a + r, 1, N, packed, c + r * N + s);
            else
                double_block(a + r * N, N, 1, packed, c + r * N + s);
    }
}
