/* fuzz_delimited.c - any bytes as columns.  The first byte chooses the options. */
#include "import_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = {"delimited", "inter", "movielens", "auto"};
    static const char *const columns[] = {"", "user=2,item=1", "user=1,item=2,rating=3,time=4",
                                          "user=user,item=9,time=x"};
    if (size == 0) return 0;
    unsigned choice = data[0];
    import_bytes(data + 1, size - 1,
                 (cwi_settings){.format = formats[choice % 4],
                                .columns = columns[choice / 4 % 4],
                                .delimiter = (cwi_delimiter)(choice / 16 % 6),
                                .header = (cwi_header)(choice / 96 % 3),
                                .has_min_rating = choice % 2 == 1,
                                .min_rating = 3,
                                .skip_bad = choice % 3});
    return 0;
}
