! Vectors of long integers.
#define MODULE_NAME longs
#define TYPE_OF_VALUE integer
#define KIND_OF_VALUE 8
#include "vectors.inc"
