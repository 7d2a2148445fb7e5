/* test_loss.c - the value and the slopes of every loss of the registry. */
#include <math.h>

#include "registry/registry.h"
#include "train_check.h"

/* ---- losses as the specification writes them, for one row in double ----------------- */

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

/* -ln of the logistic of x; only its lines far out differ from how it is written. */
static double surprise(double x)
{
    if (x < -30) return -x;
    return -log(logistic(x));
}

static double cpr(const double *set, const double *s, int32_t width, double mark)
{
    double objective = 0;
    (void)set, (void)mark;
    for (int32_t j = 0; j < width / 2; j++) objective += (s[j] - s[width / 2 + j]) / (width / 2);
    return surprise(objective);
}

static double bpr(const double *set, const double *s, int32_t width, double mark)
{
    (void)set, (void)width, (void)mark;
    return surprise(s[0] - s[1]);
}

static double ubpr(const double *clip, const double *s, int32_t width, double weight)
{
    (void)width;
    return fmin(1e6, fmax(*clip, weight * surprise(s[0] - s[1])));
}

static double cause(const double *set, const double *s, int32_t width, double mark)
{
    double score = mark < 2 ? s[0] : s[1];
    bool liked = mark == 1 || mark == 3;
    (void)set, (void)width;
    return surprise(liked ? score : -score);
}

static double bce(const double *set, const double *s, int32_t width, double y)
{
    (void)set, (void)width;
    return y * surprise(s[0]) + (1 - y) * surprise(-s[0]);
}

static double mse(const double *set, const double *s, int32_t width, double y)
{
    (void)set, (void)width;
    return pow(y - s[0], 2);
}

static double rel_mf(const double *is_log, const double *s, int32_t width, double y_over_p)
{
    double q = logistic(s[0]);
    if (*is_log > 0) return bce(NULL, s, width, y_over_p);
    return y_over_p * pow(1 - q, 2) + (1 - y_over_p) * pow(q, 2);
}

static double wmf(const double *weight, const double *s, int32_t width, double y)
{
    double q = logistic(s[0]);
    (void)width;
    return y * pow(1 - q, 2) + *weight * (1 - y) * pow(q, 2);
}

static double dice(const double *weights, const double *s, int32_t width, double is_popular)
{
    double interest = s[0] - s[2], conformity = s[1] - s[3];
    (void)width;
    return surprise(interest + conformity) +
           (is_popular > 0 ? weights[0] * surprise(interest) + weights[1] * surprise(-conformity)
                           : weights[1] * surprise(conformity));
}

static double fs_pair(const double *set, const double *s, int32_t width, double mark)
{
    double sum = 0;
    (void)set, (void)mark;
    for (int32_t j = 0; j < width / 2; j++) sum += surprise(s[j] - s[width / 2 + j]);
    return sum / (width / 2);
}

static double fs_point(const double *set, const double *s, int32_t width, double mark)
{
    double sum = 0;
    (void)set, (void)mark;
    for (int32_t j = 0; j < width; j++) sum += surprise(j < width / 2 ? s[j] : -s[j]);
    return sum / width;
}

static double sl(const double *set, const double *s, int32_t width, double mark)
{
    double most = s[0], sum = 0;
    (void)set, (void)mark;
    for (int32_t j = 1; j < width; j++) most = fmax(most, s[j]);
    for (int32_t j = 0; j < width; j++) sum += exp(s[j] - most);
    return log(sum) + most - s[0];
}

static double psl(const double *temperature, const double *s, int32_t width, double mark)
{
    double sum = 1e-12;
    (void)mark;
    for (int32_t j = 1; j < width; j++)
        sum += pow(fmax(0, 1 + *temperature * (s[j] - s[0])), 1 / *temperature);
    return log(sum);
}

/* ---- what each is tried with ---------------------------------------------------------- */

typedef struct trial {
    const cwi_loss *loss;
    double (*value)(const double *set, const double *score, int32_t width, double mark);
    int32_t width;
    const char *option, *text; /* set before, or NULL */
    double set[2];             /* what `value` takes for it */
    float marks[4];
    int n_marks;
} trial;

static const trial trials[] = {
    {&cwi_loss_bpr, bpr, 2, NULL, NULL, {0}, {0}, 1},
    {&cwi_loss_cpr, cpr, 4, NULL, NULL, {0}, {0}, 1},
    {&cwi_loss_cpr, cpr, 6, NULL, NULL, {0}, {0}, 1},
    {&cwi_loss_cpr, cpr, 8, NULL, NULL, {0}, {0}, 1},
    {&cwi_loss_cause, cause, 2, NULL, NULL, {0}, {0, 1, 2, 3}, 4},
    {&cwi_loss_ubpr, ubpr, 2, "clip", "0", {0}, {2.5f, 0, -1.5f, 1e4f}, 4},
    {&cwi_loss_ubpr, ubpr, 2, "clip", "-1e6", {-1e6}, {-1.5f, -40}, 2},
    {&cwi_loss_relmf, rel_mf, 1, "relmf-loss", "square", {0}, {0, 1, 3.5f}, 3},
    {&cwi_loss_relmf, rel_mf, 1, "relmf-loss", "log", {1}, {0, 1, 3.5f}, 3},
    {&cwi_loss_bce, bce, 1, NULL, NULL, {0}, {0, 1}, 2},
    {&cwi_loss_mse, mse, 1, NULL, NULL, {0}, {0, 1}, 2},
    {&cwi_loss_wmf, wmf, 1, "wmf-weight", "0.25", {0.25}, {0, 1}, 2},
    {&cwi_loss_dice, dice, 4, "pop-weight", "4.5", {9, 4.5}, {0, 1}, 2},
    {&cwi_loss_fs_pair, fs_pair, 4, NULL, NULL, {0}, {0}, 1},
    {&cwi_loss_fs_pair, fs_pair, 6, NULL, NULL, {0}, {0}, 1},
    {&cwi_loss_fs_point, fs_point, 4, NULL, NULL, {0}, {0}, 1},
    {&cwi_loss_sl, sl, 2, NULL, NULL, {0}, {0}, 1},
    {&cwi_loss_sl, sl, 8, NULL, NULL, {0}, {0}, 1},
    {&cwi_loss_psl, psl, 4, "temperature", "0.03", {0.03}, {0}, 1},
};
enum { N_TRIALS = sizeof trials / sizeof trials[0], WIDEST = 8, N_POINTS = 40 };

static void every_loss_of_the_registry_is_tried(void **state)
{
    int met = 0;
    (void)state;
    for (size_t m = 0; cw_method_name(m); m++) {
        const cwi_method *method = cwi_find_method(cw_method_name(m));
        bool is_tried = !method->loss || !method->loss->row; /* grids: unit.grid */
        for (size_t t = 0; t < N_TRIALS; t++) is_tried |= trials[t].loss == method->loss;
        if (!is_tried) fail_msg("the loss of %s is not among the trials here", method->name);
        met += method->loss != NULL;
    }
    assert_true(met > 8);
}

/* Scores whose neighbours at the distances used here are floats, too.  First ties and scores far
 * out, then at random. */
static void place_scores(int point, int32_t width, float *score)
{
    static const float extremes[] = {0, 1, 40, -40, 200, -200, 4000, -4000};
    cwi_rng rng;
    cwi_rng_init(&rng, 7, CWI_RNG_TEST, (uint64_t)point);
    for (int32_t j = 0; j < width; j++) {
        if (point < 8)
            score[j] = extremes[point]; /* all alike */
        else if (point < 16)
            score[j] = j == point % width ? extremes[point - 8] : 0.5f;
        else
            score[j] = (float)floor(cwi_rng_normal(&rng) * 2 * 128) / 128;
    }
}

static double value_at(const trial *t, const double *set, const cwi_loss_rows *row, float *score,
                       int j, float by)
{
    float kept = score[j], unused[WIDEST];
    score[j] = kept + by;
    double value = t->loss->rows(set, row, 1, unused);
    score[j] = kept;
    return value;
}

/* Central differences of two widths, so that what is left is of fourth order. */
static double difference(const trial *t, const double *set, const cwi_loss_rows *row, float *score,
                         int j)
{
    const float h = 1.0f / 64;
    double slope[2];
    for (int k = 0; k < 2; k++) {
        float by = h / (float)(1 + k);
        slope[k] = (value_at(t, set, row, score, j, by) - value_at(t, set, row, score, j, -by)) /
                   (2 * (double)by);
    }
    return (4 * slope[1] - slope[0]) / 3;
}

static void check_row(const trial *t, const double *set, float mark, float *score)
{
    float slope[WIDEST], scaled[WIDEST];
    double exact[WIDEST];
    const cwi_loss_rows row = {.score = score, .mark = &mark, .count = 1, .width = t->width};
    for (int32_t j = 0; j < t->width; j++) exact[j] = (double)score[j];
    double expected = t->value(t->set, exact, t->width, (double)mark);
    near(t->loss->rows(set, &row, 1, slope), expected, 1e-12 * (1 + fabs(expected)));
    t->loss->rows(set, &row, 0.25f, scaled);
    for (int32_t j = 0; j < t->width; j++) {
        double by_value = difference(t, set, &row, score, j);
        near((double)slope[j], by_value, 2e-8 + 2e-7 * fabs(by_value));
        near((double)scaled[j], (double)slope[j] / 4, 1e-40);
    }
}

/* With the options of the trial, as a step would do it. */
static void set_up_trial(cw_context *ctx, const trial *t, double set[CWI_LOSS_SETTINGS])
{
    cw_options *options;
    memset(set, 0, CWI_LOSS_SETTINGS * sizeof *set);
    assert_int_equal(cwi_train_options(ctx, &options), CW_OK);
    if (t->option) assert_int_equal(cwi_options_assign(ctx, options, t->option, t->text), CW_OK);
    if (t->loss->set) t->loss->set(options, 0, set);
    cw_options_free(options);
}

static void values_and_slopes_are_those_of_the_specification(void **state)
{
    listener l;
    (void)state;
    listener_init(&l);
    for (size_t k = 0; k < N_TRIALS; k++) {
        const trial *t = &trials[k];
        double set[CWI_LOSS_SETTINGS];
        set_up_trial(l.ctx, t, set);
        for (int m = 0; m < t->n_marks; m++)
            for (int point = 0; point < N_POINTS; point++) {
                float score[WIDEST];
                place_scores(point, t->width, score);
                check_row(t, set, t->marks[m], score);
            }
    }
    listener_clear(&l);
}

/* The rows of a group are added up, each with its own mark and slopes, and margins are of rows: the
 * smaller, the larger the loss. */
static void rows_are_added_up(void **state)
{
    enum { ROWS = 5 };
    listener l;
    (void)state;
    listener_init(&l);
    for (size_t k = 0; k < N_TRIALS; k++) {
        const trial *t = &trials[k];
        double set[CWI_LOSS_SETTINGS], sum = 0, margin[ROWS], alone, of_row, before = 0;
        float score[ROWS * WIDEST], mark[ROWS], slope[ROWS * WIDEST], own[WIDEST];
        cwi_loss_rows all = {score, mark, ROWS, t->width};
        set_up_trial(l.ctx, t, set);
        for (int r = 0; r < ROWS; r++) {
            place_scores(20 + r, t->width, score + r * t->width);
            mark[r] = t->marks[r % t->n_marks];
        }
        double value = t->loss->rows(set, &all, 0.5f, slope);
        if (t->loss->margin) t->loss->margin(&all, margin);
        for (int r = 0; r < ROWS; r++) {
            const cwi_loss_rows row = {score + r * t->width, mark + r, 1, t->width};
            sum += of_row = t->loss->row(set, row.score, row.width, mark[r], 0.5f, own);
            assert_memory_equal(own, slope + r * t->width, (size_t)t->width * sizeof *own);
            if (!t->loss->margin) continue;
            t->loss->margin(&row, &alone);
            near(alone, margin[r], 0);
            if (r > 0 && of_row > before) assert_true(margin[r] < margin[r - 1]);
            if (r > 0 && of_row < before) assert_true(margin[r] > margin[r - 1]);
            before = of_row;
        }
        near(value, sum, 0);
    }
    listener_clear(&l);
}

/* What is left of the second half of a row may be taken from the first. */
static void losses_by_difference_see_nothing_else(void **state)
{
    int found = 0;
    (void)state;
    for (size_t k = 0; k < N_TRIALS; k++) {
        const trial *t = &trials[k];
        float score[WIDEST], apart[WIDEST] = {0}, slope[2][WIDEST];
        int32_t half = t->width / 2;
        if (!t->loss->by_difference) continue;
        place_scores(20, t->width, score);
        for (int32_t j = 0; j < half; j++) apart[j] = score[j] - score[half + j]; /* exact */
        near(t->loss->row(NULL, score, t->width, 0, 1, slope[0]),
             t->loss->row(NULL, apart, t->width, 0, 1, slope[1]), 0);
        assert_memory_equal(slope[0], slope[1], (size_t)t->width * sizeof **slope);
        found++;
    }
    assert_true(found >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_loss_of_the_registry_is_tried),
        cmocka_unit_test(values_and_slopes_are_those_of_the_specification),
        cmocka_unit_test(rows_are_added_up),
        cmocka_unit_test(losses_by_difference_see_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
