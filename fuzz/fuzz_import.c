/* fuzz_import.c - any bytes as a file whose form is to be recognised. */
#include "import_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    import_bytes(data, size, (cwi_settings){.format = "auto", .columns = "", .skip_bad = 1});
    return 0;
}
