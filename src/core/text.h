/* text.h - numbers from and to text, the same in every locale. */
#ifndef CWI_CORE_TEXT_H
#define CWI_CORE_TEXT_H

#include "core/context.h"

/* Parse the whole of text[0..length).  False when it is not such a number or does not fit. */
bool cwi_parse_int(const char *text, size_t length, int64_t *out);

/* Decimal, with an optional exponent; "inf" and "nan" are parsed too, for the caller to judge. */
bool cwi_parse_real(const char *text, size_t length, double *out);

/* A real or a fraction such as 1/60. */
bool cwi_parse_fraction(const char *text, size_t length, double *out);

enum { CWI_NUMBER_BYTES = 32 }; /* room for any number below, with its end */

/* Decimal digits of value; returns the length. */
size_t cwi_print_int(int64_t value, char out[CWI_NUMBER_BYTES]);

/* The shortest decimal that reads back as the same double. */
size_t cwi_print_real(double value, char out[CWI_NUMBER_BYTES]);

/* Is text one of the words of "a|b|c"?  Its index, or -1. */
int cwi_word_index(const char *words, const char *text);

enum { CWI_WORD_BYTES = 48 };

/* Take the next word of "a|b|c", cut where there is no room; false past the last. */
bool cwi_next_word(const char **words, char word[CWI_WORD_BYTES]);

/* Does text end so, with something before it? */
bool cwi_ends_with(const char *text, const char *ending);

/* Does it name a file of a folder, and never one outside of it? */
bool cwi_is_file_name(const char *text);

/* Copy text into room for `bytes` bytes, cut where it does not fit. */
void cwi_copy_text(char *out, size_t bytes, const char *text);

/* Append a word to "a, b", as far as there is room. */
void cwi_list_text(char *list, size_t bytes, const char *word);

/* Text for a message: at most 40 bytes of it, unprintable bytes replaced by '?'. */
const char *cwi_excerpt(const char *text, size_t length, char out[48]);

#endif
