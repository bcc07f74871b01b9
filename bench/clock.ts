/** Milliseconds of a clock that all processes of the machine share, so that one may write them and another read them. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
