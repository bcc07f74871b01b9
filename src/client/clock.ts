/** The time as rows hold it: microseconds since 1970. */
export function microseconds(): number {
  return Date.now() * 1000
}
