/* fits.h - the rules of fits.c, each a list that ends with a row of NULLs. */
#ifndef CWI_FITS_H
#define CWI_FITS_H

#include "registry/registry.h"

extern const cwi_fit cwi_fits_cpr[], cwi_fits_cpr_rand[], cwi_fits_bpr[], cwi_fits_dice[],
    cwi_fits_cross[], cwi_fits_cross_all[], cwi_fits_fs[], cwi_fits_cause[], cwi_fits_ubpr[],
    cwi_fits_relmf[], cwi_fits_bce[], cwi_fits_mse[], cwi_fits_wmf[], cwi_fits_mult_vae[],
    cwi_fits_ials[], cwi_fits_ease[], cwi_fits_itemknn[];

#endif
