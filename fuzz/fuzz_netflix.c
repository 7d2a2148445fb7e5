/* fuzz_netflix.c - any bytes as a file of the netflix form. */
#include "import_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    import_bytes(data, size, (cwi_settings){.format = "netflix", .columns = "", .skip_bad = 3});
    return 0;
}
