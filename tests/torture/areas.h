/* areas.h - the ways in which a command is disturbed; each goes through all its cases. */
#ifndef TORTURE_AREAS_H
#define TORTURE_AREAS_H

#include "lab.h"

void area_faults(lab *l);
void area_kills(lab *l);
void area_power(lab *l);
void area_memory(lab *l);
void area_random(lab *l);
void area_two(lab *l);
void area_links(lab *l);
void area_refused(lab *l);

#endif
