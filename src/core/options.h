/* options.h - values for one table of options. */
#ifndef CWI_CORE_OPTIONS_H
#define CWI_CORE_OPTIONS_H

#include "core/context.h"

/* A table is an array of cw_option_info that ends with a row whose name is NULL. */
cw_status cwi_options_create(cw_context *ctx, const char *stage, const cw_option_info *table,
                             cw_options **out);

/* The same from several tables, a list that ends with NULL.  A name that two of them have is one
 * option: the first row is taken. */
cw_status cwi_options_join(cw_context *ctx, const char *stage, const cw_option_info *const *tables,
                           cw_options **out);

/* Row `index` of such a list; NULL past the last. */
const cw_option_info *cwi_tables_row(const cw_option_info *const *tables, size_t index);

/* NULL when the table, or none, has no such name. */
const cw_option_info *cwi_table_find(const cw_option_info *table, const char *name);

/* cw_options_set within a public call that has begun. */
cw_status cwi_options_assign(cw_context *ctx, cw_options *options, const char *name,
                             const char *value);

/* Values by name.  The name must be in the table and of that kind: anything else is a bug. */
int64_t cwi_options_integer(const cw_options *options, const char *name);
double cwi_options_real(const cw_options *options, const char *name);
int cwi_options_choice(const cw_options *options, const char *name); /* index in `choices` */
bool cwi_options_flag(const cw_options *options, const char *name);
const char *cwi_options_text(const cw_options *options, const char *name);

/* False while the option holds "", its way of saying "not given". */
bool cwi_options_is_set(const cw_options *options, const char *name);

/* Is it there, with this text?  For options that not all trainings have. */
bool cwi_options_is(const cw_options *options, const char *name, const char *word);

/* Has it the value of the table, given or not? */
bool cwi_options_is_preset(const cw_options *options, const char *name);

/* Why an option that once had this name has another; NULL when there is none. */
const char *cwi_options_former(const cw_options *options, const char *name);

/* The row of option number `index`; NULL past the last. */
const cw_option_info *cwi_options_row(const cw_options *options, size_t index);

/* Fail unless options is NULL or of this stage. */
cw_status cwi_options_check(cw_context *ctx, const cw_options *options, const char *stage);

#endif
