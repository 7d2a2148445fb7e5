/* fuzz_ifashion.c - any bytes as a file of the ifashion form. */
#include "import_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    import_bytes(data, size, (cwi_settings){.format = "ifashion", .columns = "", .skip_bad = 3});
    return 0;
}
