/* fuzz_uri.c - any bytes as the address of a database. */
#include <stdlib.h>
#include <string.h>

#include "fuzzing.h"
#include "import/uri.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_context *ctx;
    cwi_uri uri;
    char *text = malloc(size + 1);

    must(text != NULL);
    must(cw_context_create(&ctx) == CW_OK);
    memcpy(text, data, size);
    text[size] = '\0';
    cw_status status = cwi_uri_parse(ctx, text, &uri);
    must((status == CW_OK) == (cw_context_error(ctx)[0] == '\0'));
    if (status == CW_OK) {
        must(uri.kind == cwi_uri_find(text) && uri.kind != CWI_URI_NONE);
        must(uri.address && uri.name && !uri.table != !uri.query);
        must(uri.kind == CWI_URI_SQLITE || !strpbrk(uri.name + strlen("postgresql:"), "@:/?="));
    } else {
        must(cwi_uri_find(text) != CWI_URI_POSTGRESQL ||
             !strstr(cw_context_error(ctx), ":s3cret@"));
    }
    cwi_uri_clear(&uri);
    cw_context_free(ctx);
    free(text);
    return 0;
}
