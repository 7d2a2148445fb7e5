/* fields.h - cut a line into fields. */
#ifndef CWI_IMPORT_FIELDS_H
#define CWI_IMPORT_FIELDS_H

#include "import/import.h"

/* Cut line into at most n fields at single delimiters (blank: at runs of spaces and tabs, those
 * at both ends ignored); what follows is left alone.  Quotes are ordinary bytes.  Returns the
 * number of fields, all of them inside line. */
size_t cwi_split(cwi_delimiter delimiter, cwi_text line, cwi_text *field, size_t n);

/* cwi_split with regard to the layout's quotes, for a look at a line: quotes around a field are
 * taken off, doubled ones inside stay. */
size_t cwi_split_roughly(const cwi_layout *layout, cwi_text line, cwi_text *field, size_t n);

/*
 * One record of delimited text after the other, with quotes where the layout has them.
 * init, then next until *count is 0, then clear.
 */
typedef struct cwi_records {
    const cwi_layout *layout;
    cwi_text *field; /* [layout->n_columns] borrowed until the next record */
    char *scratch;   /* fields that had doubled quotes */
    size_t scratch_bytes;
} cwi_records;

cw_status cwi_records_init(cw_context *ctx, const cwi_layout *layout, cwi_records *out);
void cwi_records_clear(cwi_records *records);

/* The next record that is not empty.  *count is the number of fields found, at most n_columns,
 * and 0 at the end.  *wrong is NULL, or why the line is malformed. */
cw_status cwi_records_next(cw_context *ctx, cwi_records *records, cwi_source *source, size_t *count,
                           const char **wrong);

/* Takes one record of two fields. */
typedef cw_status (*cwi_pair_fn)(void *user, cw_context *ctx, const cwi_source *source,
                                 cwi_text first, cwi_text second);

/* Give `take` all records of a file of two columns with this header, such as "user,item".  A
 * message says what was expected of a record. */
cw_status cwi_records_pairs(cw_context *ctx, cwi_source *source, const char *header,
                            const char *expected, cwi_pair_fn take, void *user);

cwi_text cwi_trim(cwi_text text); /* without blanks at both ends */

#endif
