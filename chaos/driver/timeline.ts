import { now } from '../desk/journal.js'
import type { Recovery } from './recoveries.js'

/** What happened while a run was disturbed: to say of a slow recovery what it waited for. */
export interface Timeline {
  /** To nobody in particular: a kill, a server that is back. */
  note(what: string): void
  /** To a thread. */
  noteOf(threadId: string, what: string): void
  /** From a second before the kill to the progress, in seconds after the kill. */
  around(recovery: Recovery): readonly string[]
}

interface Note {
  readonly at: number
  readonly threadId: string | null
  readonly what: string
}

const BEFORE = 1_000

export function createTimeline(): Timeline {
  const notes: Note[] = []
  const add = (threadId: string | null, what: string): void => void notes.push({ at: now(), threadId, what })
  return {
    note: (what) => add(null, what),
    noteOf: add,
    around({ threadId, at, sinceFirst }) {
      const killed = at - sinceFirst
      const isAround = (note: Note): boolean =>
        note.at >= killed - BEFORE && note.at <= at && (note.threadId ?? threadId) === threadId
      return notes.filter(isAround).map((note) => `${seconds(note.at - killed)} ${note.what}`)
    },
  }
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1000).toFixed(2).padStart(7)
}
