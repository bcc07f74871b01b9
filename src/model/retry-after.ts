/** Google writes it into the body of its 429, and sends no header. */
const RETRY_DELAY = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/

/** The milliseconds that the body of a refusal asks to wait, or null. */
export function retryDelayOf(body: string | undefined): number | null {
  const seconds = RETRY_DELAY.exec(body ?? '')?.[1]
  return seconds === undefined ? null : Math.ceil(Number(seconds) * 1000)
}

/** The milliseconds that a provider's headers ask to wait, or null; an HTTP date counts from `now`. */
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
