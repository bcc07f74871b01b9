import { appendFileSync, readFileSync } from 'node:fs'

/** What happened outside of Everthread, one JSON object a line: a killed process loses no line that it wrote. */
export interface Journal<Line> {
  write(line: Line): void
}

/** Milliseconds of a clock that all processes of the machine share. */
export interface Stamp {
  readonly at: number
}

export function openJournal<Line>(path: string): Journal<Line> {
  return { write: (line) => appendFileSync(path, `\n${JSON.stringify({ at: now(), ...line })}\n`) }
}

export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** All lines so far; none of a journal that nobody has written to. */
export function readJournal<Line>(path: string): readonly (Line & Stamp)[] {
  const lines = textOf(path)
    .split('\n')
    .filter((line) => line !== '')
  return lines.flatMap((line) => parsed<Line>(line))
}

/** A kill may tear the line that is being written, at the border of two pages: what it tells of had not returned. */
function parsed<Line>(line: string): readonly (Line & Stamp)[] {
  try {
    return [JSON.parse(line) as Line & Stamp]
  } catch {
    return []
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
