/* fits.c - what --preset auto takes for options of a method, from the shape of the data.
 *
 * docs/training.md says where each rule was formed and checked. */
#include "registry/fits.h"

#include <math.h>
#include <stddef.h>

static double clamp(double value, double low, double high)
{
    return value < low ? low : (value > high ? high : value);
}

/* Where taste comes in clusters most crosses are easy: the hard ones have to be looked for.  Where
 * it does not, or rows are few, the hardest are chance. */
static double cpr_beta(const cwi_extent *extent)
{
    double rows = (double)extent->rows, many = rows < 40000 ? sqrt(sqrt(rows / 40000)) : 1;
    return clamp(1 + 2.5 * (extent->likeness - 1) * many, clamp(rows / 30000, 1, 2), 16);
}

/* A graph makes more crosses easy. */
static double cpr_graph_beta(const cwi_extent *extent)
{
    double beta = cpr_beta(extent);
    return beta < 2 ? 1.5 * beta : clamp(beta, 3, 16);
}

/* Few rows are easily learnt by heart. */
static double bpr_reg(const cwi_extent *extent)
{
    return clamp(250 / (double)extent->rows, 1e-3, 3e-2);
}

/* From 0, where users and items seldom meet, to 1. */
static double how_often(const cwi_extent *extent)
{
    double often = clamp(extent->meeting / 0.1, 0, 1);
    return often * often;
}

/* The more so where users and items often meet. */
static double cross_reg(const cwi_extent *extent, double least)
{
    return clamp(1500 / (double)extent->rows * how_often(extent), least, 0.2);
}

static double cpr_reg(const cwi_extent *extent)
{
    return cross_reg(extent, 0.05);
}

static double cpr_rand_reg(const cwi_extent *extent)
{
    return cross_reg(extent, 0.03);
}

static double usual_lr(const cwi_extent *extent)
{
    (void)extent;
    return 1e-3;
}

/* Popularity is counted in rows: a margin of 40 is one of 59 rows an item. */
static double dice_margin(const cwi_extent *extent)
{
    double rows_an_item = (double)extent->rows / (double)extent->items;
    return clamp(0.7 * rows_an_item, 1, 1e6);
}

/* Where users and items seldom meet, what a pair can be told from is the whole batch, by
 * directions; where they often do, it is the hardest of its crosses, by lengths too.  Sets at hand
 * lie below 0.04 or above 0.1. */
static bool is_sparse(const cwi_extent *extent)
{
    return extent->meeting < 0.06;
}

static double cross_form(const cwi_extent *extent)
{
    enum { BOTH = 0, LOGISTIC = 3 }; /* of --form */
    return is_sparse(extent) ? BOTH : LOGISTIC;
}

static double cross_scorer(const cwi_extent *extent)
{
    return is_sparse(extent); /* dot|cosine */
}

/* The fewer items there are, the less sharply one can be told from the others. */
static double cross_temperature(const cwi_extent *extent)
{
    double fewer = sqrt(16000.0 / (double)extent->items);
    return is_sparse(extent) ? clamp(0.1 * fewer, 0.1, 0.25) : 1;
}

/* CPR looks for hard samples among beta times as many, of two or three pairs; this is the share of
 * crosses that asks as much of a pair. */
static double cross_hardest(const cwi_extent *extent)
{
    double beta = clamp(cpr_beta(extent), 1, 4);
    return is_sparse(extent) ? 1 : 1 / (beta * beta);
}

/* More crosses of a margin add cost, but nothing that can be measured; softmax wants them all. */
static double cross_group(const cwi_extent *extent)
{
    return is_sparse(extent) ? 0 : 64;
}

/* A step on the whole batch costs and teaches more. */
static double cross_patience(const cwi_extent *extent)
{
    return is_sparse(extent) ? 10 : 20;
}

static double cross_least_epochs(const cwi_extent *extent)
{
    return 2 * cross_patience(extent);
}

static double cross_graph_hardest(const cwi_extent *extent)
{
    return is_sparse(extent) ? 1 : 0.5;
}

static double cross_l2(const cwi_extent *extent)
{
    return is_sparse(extent) ? 0 : cross_reg(extent, 0.05);
}

static double cross_graph_l2(const cwi_extent *extent)
{
    return is_sparse(extent) ? 0 : 1e-3;
}

/* Few rows are learnt by heart within some hundred steps. */
static double cross_lr(const cwi_extent *extent)
{
    return is_sparse(extent) ? clamp(1e-3 * (double)extent->rows / 150000, 3e-4, 1e-3) : 1e-3;
}

/* The weight of an inverse propensity is large for rare items. */
static double ubpr_reg(const cwi_extent *extent)
{
    return clamp(7500 / (double)extent->rows, 0.02, 0.3);
}

static double relmf_lr(const cwi_extent *extent)
{
    (void)extent;
    return 3e-3;
}

static double relmf_reg(const cwi_extent *extent)
{
    return clamp(600 / (double)extent->rows, 3e-3, 3e-2);
}

static double cause_reg(const cwi_extent *extent)
{
    return clamp(600 / (double)extent->rows, 1e-3, 3e-2);
}

static double bce_reg(const cwi_extent *extent)
{
    return clamp(75 / (double)extent->rows, 1e-4, 3e-3);
}

static double wmf_reg(const cwi_extent *extent)
{
    return clamp(100 / (double)extent->rows, 1e-3, 1e-2);
}

/* Of a squared error, and of DICE: as that of crosses, which are squares of scores as well. */
static double squared_reg(const cwi_extent *extent)
{
    return clamp(3000 / (double)extent->rows * how_often(extent), 0.03, 0.1);
}

static double bpr_graph_reg(const cwi_extent *extent)
{
    return extent->rows < 20000 ? 1e-3 : 0;
}

static double cpr_graph_reg(const cwi_extent *extent)
{
    return clamp(50 / (double)extent->rows * how_often(extent), 1e-4, 1e-2);
}

static double bpr_ngcf_reg(const cwi_extent *extent)
{
    return clamp(1000 / (double)extent->rows, 1e-3, 1e-2);
}

static double vae_reg(const cwi_extent *extent)
{
    return clamp(40 / (double)extent->rows, 0, 1e-2);
}

/* All unseen pairs of a user together weigh as much as six rows of each item; where popular items
 * count more, as fifty rows. */
static double ials_unseen(const cwi_extent *extent)
{
    double items = (double)extent->items, rows_an_item = (double)extent->rows / items;
    return clamp((extent->evenly ? 6 * rows_an_item : 50) / items, 0, 1);
}

/* It is multiplied by the weight of all pairs of a user. */
static double ials_reg(const cwi_extent *extent)
{
    double items = (double)extent->items, rows_an_item = (double)extent->rows / items;
    if (!extent->evenly) return 3e-2;
    return clamp(rows_an_item / 20, 1, 2) / (ials_unseen(extent) * items);
}

/* It is added to the number of users of an item. */
static double ease_reg(const cwi_extent *extent)
{
    if (!extent->evenly) return 400;
    return clamp(1.5 * (double)extent->rows / (double)extent->items, 10, 1000);
}

/* To trust items of few users less is to trust popular items more. */
static double itemknn_shrink(const cwi_extent *extent)
{
    return extent->evenly ? 0 : 10;
}

const cwi_fit cwi_fits_cross[] = {{NULL, "form", cross_form},
                                  {NULL, "scorer", cross_scorer},
                                  {NULL, "temperature", cross_temperature},
                                  {"lightgcn", "hardest", cross_graph_hardest},
                                  {NULL, "hardest", cross_hardest},
                                  {"mf", "group", cross_group},
                                  {NULL, "patience", cross_patience},
                                  {NULL, "min-epochs", cross_least_epochs},
                                  {"lightgcn", "reg", cross_graph_l2},
                                  {NULL, "reg", cross_l2},
                                  {NULL, "lr", cross_lr},
                                  {NULL, NULL, NULL}};
const cwi_fit cwi_fits_cross_all[] = {
    {"mf", "lr", usual_lr}, {"mf", "reg", cpr_reg}, {NULL, NULL, NULL}};
const cwi_fit cwi_fits_fs[] = {{"mf", "reg", cpr_rand_reg}, {NULL, NULL, NULL}};
const cwi_fit cwi_fits_cpr[] = {{"mf", "lr", usual_lr},
                                {"mf", "reg", cpr_reg},
                                {"mf", "beta", cpr_beta},
                                {"lightgcn", "beta", cpr_graph_beta},
                                {"lightgcn", "reg", cpr_graph_reg},
                                {NULL, NULL, NULL}};
const cwi_fit cwi_fits_cpr_rand[] = {
    {"mf", "lr", usual_lr}, {"mf", "reg", cpr_rand_reg}, {NULL, NULL, NULL}};
const cwi_fit cwi_fits_dice[] = {{"mf", "margin", dice_margin},
                                 {"lightgcn", "margin", dice_margin},
                                 {"mf", "reg", squared_reg},
                                 {NULL, NULL, NULL}};
const cwi_fit cwi_fits_bpr[] = {{"mf", "reg", bpr_reg},
                                {"lightgcn", "reg", bpr_graph_reg},
                                {"ngcf", "reg", bpr_ngcf_reg},
                                {NULL, NULL, NULL}};
const cwi_fit cwi_fits_cause[] = {{"mf", "reg", cause_reg}, {NULL, NULL, NULL}};
const cwi_fit cwi_fits_ubpr[] = {
    {"mf", "lr", usual_lr}, {"mf", "reg", ubpr_reg}, {NULL, NULL, NULL}};
const cwi_fit cwi_fits_relmf[] = {
    {"mf", "lr", relmf_lr}, {"mf", "reg", relmf_reg}, {NULL, NULL, NULL}};
const cwi_fit cwi_fits_bce[] = {{"mf", "reg", bce_reg}, {NULL, NULL, NULL}};
const cwi_fit cwi_fits_mse[] = {{"mf", "reg", squared_reg}, {NULL, NULL, NULL}};
const cwi_fit cwi_fits_wmf[] = {{"mf", "reg", wmf_reg}, {NULL, NULL, NULL}};
const cwi_fit cwi_fits_mult_vae[] = {{NULL, "reg", vae_reg}, {NULL, NULL, NULL}};
const cwi_fit cwi_fits_ials[] = {
    {NULL, "unseen-weight", ials_unseen}, {NULL, "reg", ials_reg}, {NULL, NULL, NULL}};
const cwi_fit cwi_fits_ease[] = {{NULL, "reg", ease_reg}, {NULL, NULL, NULL}};
const cwi_fit cwi_fits_itemknn[] = {{NULL, "shrink", itemknn_shrink}, {NULL, NULL, NULL}};
