/* kinds.c - files of other kinds are named, together with the command that makes text of them. */
#include "import/kinds.h"

#include <ctype.h>
#include <string.h>

enum {
    ZIP_NAME = 30,        /* where the name of the first file begins */
    ZIP_NAME_LENGTH = 26, /* where its length is */
    TAR_MAGIC = 257,
    LOOKED_AT = 512,
    NAME_BYTES = 200
};

/* @ is the file. */
#define PANDAS(read)                                                                               \
    "python3 -c \"import pandas; pandas." read "('@').to_csv('log.csv', index=False)\""

typedef struct kind {
    const char *magic;
    size_t magic_bytes, offset;
    const char *name, *convert;
} kind;

#define MAGIC(text) text, sizeof text - 1

static const kind kinds[] = {
    {MAGIC("PAR1"), 0, "a Parquet file", PANDAS("read_parquet")},
    {MAGIC("ARROW1"), 0, "an Arrow file (Feather)", PANDAS("read_feather")},
    {MAGIC("FEA1"), 0, "a Feather file", PANDAS("read_feather")},
    {MAGIC("ORC"), 0, "an ORC file", PANDAS("read_orc")},
    {MAGIC("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), 0, "an Excel file of before 2007",
     PANDAS("read_excel")},
    {MAGIC("\x89HDF\r\n\x1a\n"), 0, "an HDF5 file", PANDAS("read_hdf")},
    {MAGIC("\x93NUMPY"), 0, "a NumPy array",
     "python3 -c \"import numpy; numpy.savetxt('log.csv', numpy.load('@'), fmt='%.15g', "
     "delimiter=',')\""},
    {MAGIC("7z\xbc\xaf\x27\x1c"), 0, "a 7z archive", "7z x -so '@' > log.csv"},
    {MAGIC("ustar"), TAR_MAGIC, "a tar archive", "tar -xOf '@' > log.csv"},
};

/* What a zip archive holds is told by the name of its first file. */
static const kind zip_sheet = {NULL, 0, 0, "an Excel file", PANDAS("read_excel")};
static const kind zip_open_sheet = {NULL, 0, 0, "an OpenDocument file", PANDAS("read_excel")};
static const kind zip_arrays = {
    NULL, 0, 0, "an .npz file of NumPy arrays",
    "python3 -c \"import numpy; a = numpy.load('@'); numpy.savetxt('log.csv', "
    "numpy.column_stack([a[k] for k in ('user', 'item')]), fmt='%s', delimiter=',')\""};
static const kind zip_any = {NULL, 0, 0, "a zip archive", "unzip -p '@' > log.csv"};
static const kind pickle = {NULL, 0, 0, "a Python pickle", PANDAS("read_pickle")};
static const kind database = {MAGIC("SQLite format 3"), 0, "an SQLite database",
                              "'sqlite:@?table=NAME'"};
static const kind wide_little = {NULL, 0, 0, "UTF-16 without a byte order mark",
                                 "iconv -f UTF-16LE -t UTF-8 '@' > log.csv"};
static const kind wide_big = {NULL, 0, 0, "UTF-16 without a byte order mark",
                              "iconv -f UTF-16BE -t UTF-8 '@' > log.csv"};
static const kind array_text = {NULL, 0, 0, "a JSON array, and not one object a line",
                                "jq -c '.[]' '@' > log.jsonl"};

static const kind *find_zip(const char *bytes, size_t length)
{
    const unsigned char *head = (const unsigned char *)bytes;
    const char *name = bytes + ZIP_NAME;

    if (length < 4 || memcmp(bytes, "PK\x03\x04", 4) != 0) return NULL;
    if (length < ZIP_NAME) return &zip_any;
    size_t n = (size_t)(head[ZIP_NAME_LENGTH] | head[ZIP_NAME_LENGTH + 1] << 8);
    if (n > length - ZIP_NAME) return &zip_any;
    if (n >= 4 && memcmp(name + n - 4, ".npy", 4) == 0) return &zip_arrays;
    if (n == 8 && memcmp(name, "mimetype", n) == 0) return &zip_open_sheet;
    if ((n == 19 && memcmp(name, "[Content_Types].xml", n) == 0) ||
        (n > 3 && memcmp(name, "xl/", 3) == 0) || (n > 9 && memcmp(name, "docProps/", 9) == 0) ||
        (n == 11 && memcmp(name, "_rels/.rels", n) == 0))
        return &zip_sheet;
    return &zip_any;
}

/* The protocols 2 to 5, which begin with their number; frames and opcodes follow. */
static bool is_pickle(const char *bytes, size_t length)
{
    return length > 4 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5 &&
           (bytes[1] < 4 ? strchr("c(]}lK", bytes[2]) != NULL : bytes[2] == '\x95');
}

/* Text that begins with [ and {, perhaps with blanks. */
static bool is_array(const char *text, size_t length)
{
    const char *wanted = "[{";
    for (size_t at = 0; at < length; at++) {
        if (isspace((unsigned char)text[at])) continue;
        if (text[at] != *wanted++) return false;
        if (*wanted == '\0') return true;
    }
    return false;
}

/* Every second byte of ASCII in UTF-16 is zero, and the others are text. */
static const kind *find_wide(const char *bytes, size_t length)
{
    size_t zeros[2] = {0, 0};
    bool is_text[2] = {true, true};
    for (size_t at = 0; at < length; at++) {
        zeros[at % 2] += bytes[at] == '\0';
        is_text[at % 2] = is_text[at % 2] && (unsigned char)bytes[at] >= '\t';
    }
    if (is_text[0] && zeros[1] * 4 > length) return &wide_little;
    return is_text[1] && zeros[0] * 4 > length ? &wide_big : NULL;
}

static const kind *find_binary(const char *bytes, size_t length)
{
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        if (length >= kinds[k].offset + kinds[k].magic_bytes &&
            memcmp(bytes + kinds[k].offset, kinds[k].magic, kinds[k].magic_bytes) == 0)
            return &kinds[k];
    if (length > database.magic_bytes && memcmp(bytes, database.magic, database.magic_bytes) == 0)
        return &database;
    const kind *zip = find_zip(bytes, length);
    if (zip) return zip;
    return is_pickle(bytes, length) ? &pickle : find_wide(bytes, length);
}

/* Does it begin as no text does? */
static bool has_control(const char *bytes, size_t length)
{
    for (size_t at = 0; at < length && at < LOOKED_AT; at++)
        if ((unsigned char)bytes[at] < '\t') return true;
    return false;
}

/* The command with the name of the file in it. */
static void fill_in(const char *command, const char *name, char *out, size_t bytes)
{
    size_t used = 0, length = strlen(name);
    for (; *command && used + length + 1 < bytes; command++) {
        bool is_place = *command == '@';
        memcpy(out + used, is_place ? name : command, is_place ? length : 1);
        used += is_place ? length : 1;
    }
    out[used] = '\0';
}

/* A name that can stand in a command between quotes of either sort, or a word in its place. */
static const char *safe_name(const char *name, char out[NAME_BYTES])
{
    size_t length = strlen(name);
    if (length >= NAME_BYTES) return "FILE";
    for (size_t at = 0; at < length; at++)
        if (!isalnum((unsigned char)name[at]) && !strchr("._-/+= ,", name[at])) return "FILE";
    memcpy(out, name, length + 1);
    return out;
}

cw_status cwi_kinds_refuse(cw_context *ctx, const cwi_source *source, const char *bytes,
                           size_t length)
{
    char safe[NAME_BYTES], line[NAME_BYTES + 400];
    const char *name = cwi_source_name(source);
    const kind *found = NULL;

    if (has_control(bytes, length))
        found = find_binary(bytes, length);
    else if (is_array(bytes, length))
        found = &array_text;
    if (!found) return CW_OK;
    fill_in(found->convert, safe_name(name, safe), line, sizeof line);
    return cwi_fail(ctx, CW_BAD_DATA, "%s: this is %s; %s: %s", name, found->name,
                    found == &database ? "name a table of it, as in"
                                       : "crosswise reads text, which this command makes of it",
                    line);
}
