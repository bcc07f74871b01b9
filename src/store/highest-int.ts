/** Of a column that is an integer of 32 bits on PostgreSQL, which refuses to compare it with more: no row has more. */
export const HIGHEST_INT = 2 ** 31 - 1

/** Whether it is a width or height that a row can hold. */
export function isPixels(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= HIGHEST_INT
}
