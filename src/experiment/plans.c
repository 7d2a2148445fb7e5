/* plans.c - the plans that come with crosswise; each is a file of the folder plans. */
#include <string.h>

#include "crosswise/crosswise.h"

/* Made from plans/NAME.json by cmake/embed.cmake; they end with a zero byte. */
#define PLANS(X) X(quick) X(compare) X(paper) X(beyond)

#define X(name) extern const unsigned char cwi_plan_##name[];
PLANS(X)
#undef X

const char *cw_plan_name(size_t index)
{
#define X(name) #name,
    static const char *const names[] = {PLANS(X) NULL};
#undef X
    return index + 1 < sizeof names / sizeof names[0] ? names[index] : NULL;
}

const char *cw_plan_text(const char *name)
{
#define X(plan)                                                                                    \
    if (strcmp(name, #plan) == 0) return (const char *)cwi_plan_##plan;
    PLANS(X)
#undef X
    return NULL;
}
