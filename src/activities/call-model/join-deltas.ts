import type { NewDelta } from '../../store/deltas.js'

/** Text that follows on the delta before it is one with it. */
export function joinDeltas(deltas: readonly NewDelta[]): readonly NewDelta[] {
  const joined: NewDelta[] = []
  for (const delta of deltas) {
    const last = joined.at(-1)
    if (last?.kind === delta.kind && last.attempt === delta.attempt)
      joined[joined.length - 1] = { ...last, text: last.text + delta.text }
    else joined.push(delta)
  }
  return joined
}
