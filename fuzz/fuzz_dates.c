/* fuzz_dates.c - any bytes as a time: what is read does not depend on what cannot matter. */
#include "import_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    double day = 0, month = 0, any = 0;
    char *text = malloc(size ? size : 1); /* no byte behind it may be read */
    must(text != NULL);
    if (size > 0) memcpy(text, data, size);
    bool is_day = cwi_parse_time(text, size, CWI_DATES_DAY_FIRST, &day);
    bool is_month = cwi_parse_time(text, size, CWI_DATES_MONTH_FIRST, &month);
    cwi_dates order = cwi_date_order(text, size);
    must(!is_day || isfinite(day));
    must(!is_month || isfinite(month));
    if (cwi_parse_time(text, size, CWI_DATES_AUTO, &any)) {
        must(is_day && is_month && any == day && any == month); /* auto takes no side */
    } else if (is_day && is_month) {
        must(cwi_date_is_ambiguous(text, size));
    }
    if (is_day != is_month) must(order == (is_day ? CWI_DATES_DAY_FIRST : CWI_DATES_MONTH_FIRST));
    free(text);
    return 0;
}
