/* fuzz_source.c - any bytes as a plain or compressed stream of lines, also extended and shrunk. */
#include "import_bytes.h"

enum { MOST_LINES = 100000 }; /* a few bytes can be gigabytes once decompressed */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_context *ctx;
    cwi_source *source;
    const char *line = "";
    size_t length;

    must(cw_context_create(&ctx) == CW_OK);
    cw_status status = cwi_source_open_memory(ctx, "fuzz", data, size, &source);
    for (int n = 0; status == CW_OK && line && n < MOST_LINES; n++) {
        status = cwi_source_line(ctx, source, &line, &length);
        must(!line || !memchr(line, '\n', length));
        if (status == CW_OK && line && n % 3 == 0) {
            status = cwi_source_extend(ctx, source, &line, &length);
            if (n % 2 == 0) cwi_source_shrink(source);
            line = "";
        }
    }
    cwi_source_close(source);
    cw_context_free(ctx);
    return 0;
}
