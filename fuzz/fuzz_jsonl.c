/* fuzz_jsonl.c - any bytes as a file of JSON lines. */
#include "import_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    import_bytes(data, size, (cwi_settings){.format = "jsonl", .columns = "", .skip_bad = 3});
    return 0;
}
