/** The wait in milliseconds that the headers of an answer ask for, or null; an HTTP date counts from `now`. */
export function retryAfterOf(
  headers: Readonly<Record<string, string | undefined>> | undefined,
  now: number = Date.now(),
): number | null {
  const milliseconds = Number.parseFloat(headers?.['retry-after-ms'] ?? '')
  if (milliseconds >= 0) return Math.ceil(milliseconds)
  const value = headers?.['retry-after']?.trim() ?? ''
  if (value === '') return null
  const seconds = Number(value)
  if (seconds >= 0) return Math.ceil(seconds * 1000)
  const date = Date.parse(value)
  return Number.isNaN(date) ? null : Math.max(0, date - now)
}
