/** Numbers and times as people read them. */

/** `340 ms`, `2.4 s`, `3 min 20 s`, `2 h 5 min`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.max(0, Math.round(milliseconds))} ms`
  const seconds = milliseconds / 1_000
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** How long ago a time in microseconds since 1970 is: `now`, `5 min`, `3 h`, `2 d`, or the date. */
export function formatAge(micros: number, now: number = Date.now()): string {
  const seconds = Math.max(0, (now - micros / 1_000) / 1_000)
  if (seconds < 45) return 'now'
  if (seconds < 3_600) return `${Math.max(1, Math.round(seconds / 60))} min`
  if (seconds < 86_400) return `${Math.round(seconds / 3_600)} h`
  if (seconds < 7 * 86_400) return `${Math.round(seconds / 86_400)} d`
  return new Date(micros / 1_000).toLocaleDateString(undefined, { day: 'numeric', month: 'short' })
}

export function formatClock(milliseconds: number): string {
  return new Date(milliseconds).toLocaleTimeString(undefined, {
    ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
    hourCycle: 'h23',
  })
}

/** `940`, `12.4k`, `3.1M`. */
export function formatCount(count: number): string {
  if (count < 1_000) return String(Math.round(count))
  if (count < 999_950) return `${(count / 1_000).toFixed(count < 10_000 ? 1 : 0)}k`
  return `${(count / 1_000_000).toFixed(1)}M`
}

export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} KB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}

/** JSON with indentation; a text that is none as it is. */
export function formatJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/** The first line of a text, at most so long. */
export function shorten(text: string, most = 120): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`
}

/** A status as a word: `waiting_permission` is `waiting permission`. */
export function formatWord(word: string): string {
  return word.replaceAll('_', ' ')
}
