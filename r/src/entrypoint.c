// R looks for this function; the one that it calls is written by extendr.
void R_init_noisewright_extendr(void *dll);

void R_init_noisewright(void *dll) { R_init_noisewright_extendr(dll); }
