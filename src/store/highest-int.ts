/** Of a column that is an integer of 32 bits on PostgreSQL, which refuses to compare it with more: no row has more. */
export const HIGHEST_INT = 2 ** 31 - 1
