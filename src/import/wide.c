/* wide.c - text in UTF-16 becomes UTF-8. */
#include "import/wide.h"

enum {
    UNIT = 2, /* bytes */
    FIRST_HIGH = 0xd800,
    FIRST_LOW = 0xdc00,
    BEHIND_LOW = 0xe000,
    FIRST_PAIR = 0x10000 /* the first character of two units */
};

cwi_wide cwi_wide_find(const char *text, size_t length)
{
    if (length < UNIT) return CWI_WIDE_NONE;
    if (text[0] == '\xff' && text[1] == '\xfe') return CWI_WIDE_LITTLE;
    return text[0] == '\xfe' && text[1] == '\xff' ? CWI_WIDE_BIG : CWI_WIDE_NONE;
}

static uint32_t unit_at(cwi_wide order, const unsigned char *at)
{
    return order == CWI_WIDE_BIG ? (uint32_t)(at[0] << 8 | at[1]) : (uint32_t)(at[1] << 8 | at[0]);
}

static size_t put_character(uint32_t code, unsigned char *out)
{
    size_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < FIRST_PAIR ? 2 : 3;
    static const unsigned char marks[] = {0, 0xc0, 0xe0, 0xf0};
    out[0] = (unsigned char)(marks[more] | code >> 6 * more);
    for (size_t b = 1; b <= more; b++)
        out[b] = (unsigned char)(0x80 | (code >> 6 * (more - b) & 0x3f));
    return more + 1;
}

bool cwi_wide_decode(cwi_wide order, cwi_span *in, cwi_span *out)
{
    while (in->left >= UNIT && out->left >= CWI_WIDEST) {
        uint32_t code = unit_at(order, in->at);
        size_t used = UNIT;
        if (code >= FIRST_LOW && code < BEHIND_LOW) return false; /* of a pair without its first */
        if (code >= FIRST_HIGH && code < FIRST_LOW) {
            if (in->left < UNIT + UNIT) return true; /* the second comes */
            uint32_t low = unit_at(order, in->at + UNIT);
            if (low < FIRST_LOW || low >= BEHIND_LOW) return false;
            code = FIRST_PAIR + ((code - FIRST_HIGH) << 10) + (low - FIRST_LOW);
            used += UNIT;
        }
        in->at += used;
        in->left -= used;
        size_t put = put_character(code, out->at);
        out->at += put;
        out->left -= put;
    }
    return true;
}
