import type { AnswerDelta } from '../../model/model-answer.js'
import type { NewDelta } from '../../store/deltas.js'
import { joinDeltas } from './join-deltas.js'

type Kind = AnswerDelta['kind']

/** Text of an answer that is not in the store yet, each piece with its place in the answer. */
export interface WaitingText {
  /** Characters. */
  readonly length: number
  add(kind: Kind, text: string): void
  /** All of it; nothing waits then. */
  take(): readonly NewDelta[]
  /** It goes before what waits; text of earlier attempts is left out. */
  giveBack(deltas: readonly NewDelta[]): void
  /** The request of this number begins: its text starts at offset 0. */
  begin(attempt: number): void
}

export function createWaitingText(message: Pick<NewDelta, 'threadId' | 'messageId'>): WaitingText {
  let attempt = 1
  let offsets: Record<Kind, number> = { text: 0, reasoning: 0 }
  let halves: Record<Kind, string> = { text: '', reasoning: '' }
  let deltas: readonly NewDelta[] = []
  return {
    get length() {
      return deltas.reduce((length, { text }) => length + text.length, 0)
    },
    add(kind, piece) {
      const whole = halves[kind] + piece
      // Half a character: no row keeps it, and the other half comes with the next piece.
      halves[kind] = /[\uD800-\uDBFF]?$/.exec(whole)?.[0] ?? ''
      const text = whole.slice(0, whole.length - halves[kind].length)
      if (text === '') return
      deltas = joinDeltas([...deltas, { ...message, attempt, kind, offset: offsets[kind], text }])
      offsets[kind] += text.length
    },
    take() {
      const taken = deltas
      deltas = []
      return taken
    },
    giveBack(taken) {
      deltas = joinDeltas([...taken, ...deltas].filter((delta) => delta.attempt === attempt))
    },
    begin(next) {
      attempt = next
      offsets = { text: 0, reasoning: 0 }
      halves = { text: '', reasoning: '' }
    },
  }
}
